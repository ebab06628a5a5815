package kinds

import (
	"fmt"
	"strings"

	appsv1 "k8s.io/api/apps/v1"

	"kubernetes-deployment-restart-controller/internal/apiclient"
	"kubernetes-deployment-restart-controller/internal/custom"
)

// MountPermissions returns the permissions to watch mounts.
func MountPermissions() []apiclient.Permission {
	permission := func(verb, without string) apiclient.Permission {
		return apiclient.Permission{Verb: verb, Group: custom.MountKind.Group, Resource: custom.MountResource, Impact: without, Manifest: "rbac-csi.yaml"}
	}
	return []apiclient.Permission{
		permission("list", "files that the Secrets Store CSI driver rotates restart nothing"),
		permission("watch", "the controller notices late that the Secrets Store CSI driver has rotated files"),
	}
}

// The permissions that the controller needs in each watched namespace, and in its own. The
// manifests grant them and explain what each is for.

// Permissions returns the permissions to watch the configs of the kind.
func (k *ConfigKind) Permissions() []apiclient.Permission {
	return []apiclient.Permission{
		{Verb: "list", Resource: k.Resource, Impact: fmt.Sprintf("no workload restarts unless the API server streams lists, because the controller must know all %ss first", k.Name)},
		{Verb: "watch", Resource: k.Resource, Impact: fmt.Sprintf("the controller notices edits of %ss late", k.Name)},
	}
}

// Permissions returns the permissions to watch, read and patch the workloads of the kind.
func (k *WorkloadKind) Permissions(dryRun bool) []apiclient.Permission {
	permission := func(verb, without string) apiclient.Permission {
		p := apiclient.Permission{Verb: verb, Group: k.group(), Resource: k.Resource, Impact: fmt.Sprintf(without, k.singular())}
		if k.Custom != nil {
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
func (k *WorkloadKind) group() string {
	if k.Custom != nil {
		return k.Custom.Group
	}
	return appsv1.GroupName
}

// singular names one workload of the kind.
func (k *WorkloadKind) singular() string {
	if k.Custom == nil {
		return string(k.Workload)
	}
	if kind := k.Custom.ObjectKind(); kind != "" {
		return kind
	}
	return strings.TrimSuffix(k.Resource, "s")
}

// RevisionPermissions returns the permissions to list the revisions of all kinds of workloads.
func RevisionPermissions() []apiclient.Permission {
	var permissions []apiclient.Permission
	owners := make(map[*RevisionKind][]string)
	for _, k := range WorkloadKinds {
		owners[k.Revisions] = append(owners[k.Revisions], string(k.Workload)+"s")
	}
	for _, k := range WorkloadKinds {
		if names, found := owners[k.Revisions]; found {
			resource := k.Revisions.groupResource()
			permissions = append(permissions, apiclient.Permission{
				Verb: "list", Group: resource.Group, Resource: resource.Resource,
				Impact: strings.Join(names, " and ") + " without a trusted record do not restart",
			})
			delete(owners, k.Revisions)
		}
	}
	return permissions
}

// Permissions returns those for one Namespace, or for all.
func (NamespaceKind) Permissions(name string) []apiclient.Permission {
	permission := func(verb, without string) apiclient.Permission {
		return apiclient.Permission{Verb: verb, Resource: "namespaces", Name: name, Impact: without, Manifest: "rbac-namespaces.yaml"}
	}
	return []apiclient.Permission{
		permission("list", "workloads do not restart that are enabled by their Namespace, by default, or only in selected Namespaces"),
		permission("watch", "the controller notices late which Namespaces enable their workloads"),
	}
}
