package controller

import (
	"kubernetes-deployment-restart-controller/controller/kinds"
	"kubernetes-deployment-restart-controller/internal/apiclient"
)

func (o *Options) permissions(workloads []*kinds.WorkloadKind) []apiclient.Permission {
	var permissions []apiclient.Permission
	for _, k := range o.configKinds() {
		permissions = append(permissions, k.Permissions()...)
	}
	if o.CSI {
		permissions = append(permissions, kinds.MountPermissions()...)
	}
	for _, k := range workloads {
		permissions = append(permissions, k.Permissions(o.DryRun)...)
	}
	permissions = append(permissions, apiclient.Permission{Verb: "list", Resource: "pods", Impact: "workloads without a trusted record do not restart"})
	permissions = append(permissions, kinds.RevisionPermissions()...)
	if o.Evict && !o.DryRun {
		permissions = append(permissions, apiclient.Permission{Verb: "create", Resource: "pods/eviction", Impact: "workloads do not restart that restart by eviction", Manifest: "rbac-evict.yaml"})
	}
	return append(permissions,
		apiclient.Permission{Verb: "create", Resource: "events", Impact: "Events do not report restarts"},
		apiclient.Permission{Verb: "patch", Resource: "events", Impact: "repeated Events are not counted"})
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
		for _, permission := range c.options.permissions(c.Board.Kinds) {
			permission.Namespace = namespace
			permissions = append(permissions, permission)
		}
		if c.options.OptIns.NeedNamespaces() {
			permissions = append(permissions, kinds.NamespaceKind{}.Permissions(namespace)...)
		}
	}
	return permissions
}
