package deployment

import "kubernetes-deployment-restart-controller/apiclient"

// neededRights are those that the engine needs in each namespace whose Deployments
// it drives. The manifests grant them, with what each is for.
var neededRights = []apiclient.Right{
	{Verb: "list", Group: "apps", Resource: "deployments", Without: "no Deployment is driven"},
	{Verb: "watch", Group: "apps", Resource: "deployments", Without: "changes of Deployments are noticed late"},
	{Verb: "get", Group: "apps", Resource: "deployments", Without: "no ReplicaSet is adopted"},
	{Verb: "patch", Group: "apps", Resource: "deployments", Without: "rollbacks by annotation are not carried out"},
	{Verb: "patch", Group: "apps", Resource: "deployments/status", Without: "no status is written, so that rollouts seem to stand still"},
	{Verb: "list", Group: "apps", Resource: "replicasets", Without: "no Deployment is driven"},
	{Verb: "watch", Group: "apps", Resource: "replicasets", Without: "rollouts stand still or go on late"},
	{Verb: "get", Group: "apps", Resource: "replicasets", Without: "a new ReplicaSet whose name is taken is not created"},
	{Verb: "create", Group: "apps", Resource: "replicasets", Without: "no rollout begins"},
	{Verb: "patch", Group: "apps", Resource: "replicasets", Without: "nothing is scaled, and no rollout ends"},
	{Verb: "delete", Group: "apps", Resource: "replicasets", Without: "old ReplicaSets pile up"},
	{Verb: "list", Resource: "pods", Without: "no Deployment is driven"},
	{Verb: "watch", Resource: "pods", Without: "rollouts with the strategy Recreate stand still or go on late"},
	{Verb: "create", Resource: "events", Without: "no Event tells of rollouts"},
	{Verb: "patch", Resource: "events", Without: "Events that repeat are not counted up"},
}

// rightsIn returns those that are needed in the namespaces; none means all.
func rightsIn(namespaces []string) []apiclient.Right {
	if len(namespaces) == 0 {
		namespaces = []string{""}
	}
	var rights []apiclient.Right
	for _, namespace := range namespaces {
		for _, right := range neededRights {
			right.Namespace = namespace
			rights = append(rights, right)
		}
	}
	return rights
}

// Rights returns what the engine needs to be allowed to do.
func (e *Engine) Rights() []apiclient.Right { return e.rights }
