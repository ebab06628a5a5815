package deployment

import "kubernetes-deployment-restart-controller/apiclient"

// neededRights are the permissions that the engine needs in each namespace whose
// Deployments it drives. The manifests grant them and explain what each is for.
var neededRights = []apiclient.Right{
	{Verb: "list", Group: "apps", Resource: "deployments", Impact: "no Deployment is driven"},
	{Verb: "watch", Group: "apps", Resource: "deployments", Impact: "no Deployment is driven: the engine cannot hear whether somebody else drives them"},
	{Verb: "get", Group: "apps", Resource: "deployments", Impact: "no rollout begins, and no ReplicaSet is adopted"},
	{Verb: "patch", Group: "apps", Resource: "deployments", Impact: "rollbacks by annotation are not carried out"},
	{Verb: "update", Group: "apps", Resource: "deployments/finalizers", Impact: "no rollout begins where the admission plugin OwnerReferencesPermissionEnforcement is on"},
	{Verb: "patch", Group: "apps", Resource: "deployments/status", Impact: "no status is written, so that rollouts seem to stand still"},
	{Verb: "list", Group: "apps", Resource: "replicasets", Impact: "no Deployment is driven"},
	{Verb: "watch", Group: "apps", Resource: "replicasets", Impact: "no Deployment is driven"},
	{Verb: "get", Group: "apps", Resource: "replicasets", Impact: "no rollout begins, no rollback by annotation is carried out, and a Deployment stands still after a write to one of its ReplicaSets that failed"},
	{Verb: "create", Group: "apps", Resource: "replicasets", Impact: "no rollout begins"},
	{Verb: "patch", Group: "apps", Resource: "replicasets", Impact: "nothing is scaled, and no rollout ends"},
	{Verb: "delete", Group: "apps", Resource: "replicasets", Impact: "old ReplicaSets pile up"},
	{Verb: "list", Resource: "pods", Impact: "rollouts with the strategy Recreate stand still"},
	{Verb: "watch", Resource: "pods", Impact: "rollouts with the strategy Recreate stand still or go on late"},
	{Verb: "create", Resource: "events", Impact: "no Event tells of rollouts"},
	{Verb: "patch", Resource: "events", Impact: "Events that repeat are not counted up"},
}

// probeRights returns the permissions that the engine needs in its own namespace.
func probeRights(namespace string) []apiclient.Right {
	const impact = "no Deployment is driven: the engine cannot make sure that nobody else drives them"
	probe := apiclient.Right{Group: "apps", Resource: "deployments", Namespace: namespace, Name: probeName, Impact: impact}
	rights := []apiclient.Right{
		{Verb: "create", Group: "apps", Resource: "deployments", Namespace: namespace, Impact: impact}, // RBAC cannot limit create to a name
		{Verb: "create", Resource: "events", Namespace: namespace, Impact: "no Event tells that the engine stands by"},
	}
	for _, verb := range []string{"list", "watch", "delete"} {
		probe.Verb = verb
		rights = append(rights, probe)
	}
	return rights
}

// rightsOf returns all permissions that the engine needs.
func rightsOf(options *Options) []apiclient.Right {
	rights := probeRights(options.OwnNamespace)
	for _, namespace := range apiclient.NamespacesOrAll(options.Namespaces) {
		for _, right := range neededRights {
			right.Namespace = namespace
			rights = append(rights, right)
		}
	}
	return rights
}

// Rights returns the permissions that the engine needs.
func (e *Engine) Rights() []apiclient.Right { return e.rights }
