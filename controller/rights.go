package controller

import (
	"kubernetes-deployment-restart-controller/apiclient"
	"kubernetes-deployment-restart-controller/catalog"
)

// neededRights are those that the controller needs in each namespace that it
// watches. The manifests grant them, with what each is for.
var neededRights = []apiclient.Right{
	{Verb: "list", Resource: "configmaps", Without: "no workload is restarted: nothing is decided before all ConfigMaps are known"},
	{Verb: "watch", Resource: "configmaps", Without: "edits of ConfigMaps are noticed late"},
	{Verb: "list", Resource: "secrets", Without: "no workload is restarted: nothing is decided before all Secrets are known"},
	{Verb: "watch", Resource: "secrets", Without: "edits of Secrets are noticed late"},
	{Verb: "list", Group: "apps", Resource: "deployments", Without: "Deployments are not restarted"},
	{Verb: "watch", Group: "apps", Resource: "deployments", Without: "new and changed Deployments are noticed late"},
	{Verb: "get", Group: "apps", Resource: "deployments", Without: "a Deployment that changes while it is decided about is restarted late"},
	{Verb: "patch", Group: "apps", Resource: "deployments", Without: "Deployments are neither recorded nor restarted"},
	{Verb: "list", Group: "apps", Resource: "statefulsets", Without: "StatefulSets are not restarted"},
	{Verb: "watch", Group: "apps", Resource: "statefulsets", Without: "new and changed StatefulSets are noticed late"},
	{Verb: "get", Group: "apps", Resource: "statefulsets", Without: "a StatefulSet that changes while it is decided about is restarted late"},
	{Verb: "patch", Group: "apps", Resource: "statefulsets", Without: "StatefulSets are neither recorded nor restarted"},
	{Verb: "list", Group: "apps", Resource: "daemonsets", Without: "DaemonSets are not restarted"},
	{Verb: "watch", Group: "apps", Resource: "daemonsets", Without: "new and changed DaemonSets are noticed late"},
	{Verb: "get", Group: "apps", Resource: "daemonsets", Without: "a DaemonSet that changes while it is decided about is restarted late"},
	{Verb: "patch", Group: "apps", Resource: "daemonsets", Without: "DaemonSets are neither recorded nor restarted"},
	{Verb: "list", Resource: "pods", Without: "workloads without a record that vouches are not restarted"},
	{Verb: "list", Group: "apps", Resource: "replicasets", Without: "Deployments without a record that vouches are not restarted"},
	{Verb: "list", Group: "apps", Resource: "controllerrevisions", Without: "StatefulSets and DaemonSets without a record that vouches are not restarted"},
	{Verb: "create", Resource: "events", Without: "no Event tells of restarts"},
	{Verb: "patch", Resource: "events", Without: "Events that repeat are not counted up"},
}

// Rights returns what the controller needs to be allowed to do.
func (c *Controller) Rights() []apiclient.Right {
	var rights []apiclient.Right
	if c.options.OwnNamespace != "" && c.options.watches(catalog.Secret) {
		key := apiclient.Right{
			Verb: "get", Resource: "secrets", Namespace: c.options.OwnNamespace, Name: c.options.KeySecret, Without: "the key of Secrets' checksums lasts as long as the process",
		}
		rights = append(rights, key)
		if !c.options.DryRun {
			key.Verb, key.Without = "update", "the key of Secrets' checksums is not kept if there is none yet"
			rights = append(rights, key)
		}
	}
	for _, namespace := range namespacesOrAll(c.options.Namespaces) {
		for _, right := range neededRights {
			right.Namespace = namespace
			if c.options.needs(right) {
				rights = append(rights, right)
			}
		}
	}
	return rights
}

// needs reports whether one of the neededRights is really needed.
func (o *Options) needs(right apiclient.Right) bool {
	switch {
	case right.Verb == "patch" && right.Group == "apps":
		return !o.DryRun
	case right.Resource == "configmaps":
		return o.watches(catalog.ConfigMap)
	case right.Resource == "secrets":
		return o.watches(catalog.Secret)
	}
	return true
}
