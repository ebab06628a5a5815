package controller

import (
	"fmt"
	"strings"

	"kubernetes-deployment-restart-controller/apiclient"
)

// The permissions that the controller needs in each watched namespace. The manifests
// grant them and explain what each is for.

func (k *configKind) rights() []apiclient.Right {
	return []apiclient.Right{
		{Verb: "list", Resource: k.resource, Impact: fmt.Sprintf("no workload is restarted: nothing is decided before all %ss are known", k.name)},
		{Verb: "watch", Resource: k.resource, Impact: fmt.Sprintf("edits of %ss are noticed late", k.name)},
	}
}

func (k *workloadKind) rights(dryRun bool) []apiclient.Right {
	right := func(verb, without string) apiclient.Right {
		return apiclient.Right{Verb: verb, Group: k.kind().Group, Resource: k.resource, Impact: fmt.Sprintf(without, k.workload)}
	}
	rights := []apiclient.Right{
		right("list", "%ss are not restarted"),
		right("watch", "new and changed %ss are noticed late"),
		right("get", "a %s that changes while it is decided about is restarted late"),
	}
	if !dryRun {
		rights = append(rights, right("patch", "%ss are neither recorded nor restarted"))
	}
	return rights
}

// revisionRights returns the permissions to list the revisions of all kinds of workloads.
func revisionRights() []apiclient.Right {
	var rights []apiclient.Right
	owners := make(map[*revisionKind][]string)
	for _, k := range workloadKinds {
		owners[k.revisions] = append(owners[k.revisions], string(k.workload)+"s")
	}
	for _, k := range workloadKinds {
		if names, found := owners[k.revisions]; found {
			resource := k.revisions.groupResource()
			rights = append(rights, apiclient.Right{
				Verb: "list", Group: resource.Group, Resource: resource.Resource,
				Impact: strings.Join(names, " and ") + " without a record that vouches are not restarted",
			})
			delete(owners, k.revisions)
		}
	}
	return rights
}

func (o *Options) rights() []apiclient.Right {
	var rights []apiclient.Right
	for _, k := range o.configKinds() {
		rights = append(rights, k.rights()...)
	}
	for _, k := range workloadKinds {
		rights = append(rights, k.rights(o.DryRun)...)
	}
	rights = append(rights, apiclient.Right{Verb: "list", Resource: "pods", Impact: "workloads without a record that vouches are not restarted"})
	rights = append(rights, revisionRights()...)
	return append(rights,
		apiclient.Right{Verb: "create", Resource: "events", Impact: "no Event tells of restarts"},
		apiclient.Right{Verb: "patch", Resource: "events", Impact: "Events that repeat are not counted up"})
}

// Rights returns the permissions that the controller needs.
func (c *Controller) Rights() []apiclient.Right {
	var rights []apiclient.Right
	if c.options.OwnNamespace != "" && c.options.watchesSecrets() {
		key := apiclient.Right{
			Verb: "get", Resource: "secrets", Namespace: c.options.OwnNamespace, Name: c.options.KeySecret, Impact: "the key of Secrets' checksums lasts as long as the process",
		}
		rights = append(rights, key)
		if !c.options.DryRun {
			key.Verb, key.Impact = "update", "the key of Secrets' checksums is not kept if there is none yet"
			rights = append(rights, key)
		}
	}
	for _, namespace := range apiclient.NamespacesOrAll(c.options.Namespaces) {
		for _, right := range c.options.rights() {
			right.Namespace = namespace
			rights = append(rights, right)
		}
	}
	return rights
}
