package controller

import (
	"fmt"
	"strings"

	appsv1 "k8s.io/api/apps/v1"

	"kubernetes-deployment-restart-controller/internal/apiclient"
)

// The permissions that the controller needs in each watched namespace, and in its own. The
// manifests grant them and explain what each is for.

func (k *configKind) permissions() []apiclient.Permission {
	return []apiclient.Permission{
		{Verb: "list", Resource: k.resource, Impact: fmt.Sprintf("no workload restarts unless the API server streams lists, because the controller must know all %ss first", k.name)},
		{Verb: "watch", Resource: k.resource, Impact: fmt.Sprintf("the controller notices edits of %ss late", k.name)},
	}
}

func (k *workloadKind) permissions(dryRun bool) []apiclient.Permission {
	permission := func(verb, without string) apiclient.Permission {
		p := apiclient.Permission{Verb: verb, Group: k.group(), Resource: k.resource, Impact: fmt.Sprintf(without, k.singular())}
		if k.custom != nil {
			p.Manifest = "rbac-workloads.yaml"
		}
		return p
	}
	permissions := []apiclient.Permission{
		permission("list", "%ss do not restart unless the API server streams lists"),
		permission("watch", "the controller notices new and changed %ss late"),
		permission("get", "a %s that changes while the controller decides about it restarts late"),
	}
	if !dryRun {
		permissions = append(permissions, permission("patch", "%ss neither restart nor get a record"))
	}
	return permissions
}

// group returns the API group of the kind.
func (k *workloadKind) group() string {
	if k.custom != nil {
		return k.custom.Group
	}
	return appsv1.GroupName
}

// singular names one workload of the kind.
func (k *workloadKind) singular() string {
	if k.custom == nil {
		return string(k.workload)
	}
	if kind := k.custom.ObjectKind(); kind != "" {
		return kind
	}
	return strings.TrimSuffix(k.resource, "s")
}

// revisionPermissions returns the permissions to list the revisions of all kinds of workloads.
func revisionPermissions() []apiclient.Permission {
	var permissions []apiclient.Permission
	owners := make(map[*revisionKind][]string)
	for _, k := range workloadKinds {
		owners[k.revisions] = append(owners[k.revisions], string(k.workload)+"s")
	}
	for _, k := range workloadKinds {
		if names, found := owners[k.revisions]; found {
			resource := k.revisions.groupResource()
			permissions = append(permissions, apiclient.Permission{
				Verb: "list", Group: resource.Group, Resource: resource.Resource,
				Impact: strings.Join(names, " and ") + " without a trusted record do not restart",
			})
			delete(owners, k.revisions)
		}
	}
	return permissions
}

func (o *Options) permissions(workloads []*workloadKind) []apiclient.Permission {
	var permissions []apiclient.Permission
	for _, k := range o.configKinds() {
		permissions = append(permissions, k.permissions()...)
	}
	if o.CSI {
		permissions = append(permissions, mountPermissions()...)
	}
	for _, k := range workloads {
		permissions = append(permissions, k.permissions(o.DryRun)...)
	}
	permissions = append(permissions, apiclient.Permission{Verb: "list", Resource: "pods", Impact: "workloads without a trusted record do not restart"})
	permissions = append(permissions, revisionPermissions()...)
	if o.Evict && !o.DryRun {
		permissions = append(permissions, apiclient.Permission{Verb: "create", Resource: "pods/eviction", Impact: "workloads do not restart that restart by eviction", Manifest: "rbac-evict.yaml"})
	}
	return append(permissions,
		apiclient.Permission{Verb: "create", Resource: "events", Impact: "Events do not report restarts"},
		apiclient.Permission{Verb: "patch", Resource: "events", Impact: "repeated Events are not counted"})
}

// permissions returns those for one Namespace, or for all.
func (namespaceKind) permissions(name string) []apiclient.Permission {
	permission := func(verb, without string) apiclient.Permission {
		return apiclient.Permission{Verb: verb, Resource: "namespaces", Name: name, Impact: without, Manifest: "rbac-namespaces.yaml"}
	}
	return []apiclient.Permission{
		permission("list", "workloads do not restart that are enabled by their Namespace, by default, or only in selected Namespaces"),
		permission("watch", "the controller notices late which Namespaces enable their workloads"),
	}
}

// ownPermissions returns the permissions for the objects in which the controller keeps what
// must outlive a process.
func (o *Options) ownPermissions() []apiclient.Permission {
	if o.OwnNamespace == "" {
		return nil
	}
	var permissions []apiclient.Permission
	add := func(resource, name, withoutGet, withoutUpdate string) {
		permission := apiclient.Permission{Verb: "get", Resource: resource, Namespace: o.OwnNamespace, Name: name, Impact: withoutGet}
		permissions = append(permissions, permission)
		if !o.DryRun {
			permission.Verb, permission.Impact = "update", withoutUpdate
			permissions = append(permissions, permission)
		}
	}
	if o.watchesSecrets() {
		add("secrets", o.KeySecret,
			"workloads that read Secrets wait, or are judged by when their pods started", "a new key of Secrets' checksums is lost when the process ends")
	}
	add("configmaps", o.HaltsConfigMap,
		"restarts wait for a minute, and then begin without the halts of former leaders", "new halts of fan-outs are lost when the process ends")
	if !o.watchesNamespace(o.OwnNamespace) { // otherwise they are among those of what it watches
		event := apiclient.Permission{Verb: "create", Resource: "events", Namespace: o.OwnNamespace, Impact: "no Event says that an entry of the ConfigMap of halts cannot be read"}
		permissions = append(permissions, event)
		event.Verb, event.Impact = "patch", "such Events are not counted if they are repeated"
		permissions = append(permissions, event)
	}
	return permissions
}

// Permissions returns the permissions that the controller needs.
func (c *Controller) Permissions() []apiclient.Permission {
	permissions := c.options.ownPermissions()
	for _, namespace := range apiclient.NamespacesOrAll(c.options.Namespaces) {
		for _, permission := range c.options.permissions(c.board.kinds) {
			permission.Namespace = namespace
			permissions = append(permissions, permission)
		}
		if c.options.OptIns.NeedNamespaces() {
			permissions = append(permissions, namespaceKind{}.permissions(namespace)...)
		}
	}
	return permissions
}
