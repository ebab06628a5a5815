package deployment

import (
	"kubernetes-deployment-restart-controller/internal/apiclient"

	"kubernetes-deployment-restart-controller/deployment/handover"
)

// neededPermissions are the permissions that the engine needs in each namespace whose
// Deployments it drives. The manifests grant them and explain what each is for.
var neededPermissions = []apiclient.Permission{
	{Verb: "list", Group: "apps", Resource: "deployments", Impact: "the engine does not start"},
	{Verb: "watch", Group: "apps", Resource: "deployments", Impact: "the engine does not start, because it cannot detect other deployment controllers"},
	{Verb: "get", Group: "apps", Resource: "deployments", Impact: "no rollout starts, and no ReplicaSet is adopted"},
	{Verb: "patch", Group: "apps", Resource: "deployments", Impact: "rollbacks by annotation do not happen"},
	{Verb: "update", Group: "apps", Resource: "deployments/finalizers", Impact: "no rollout starts where the admission plugin OwnerReferencesPermissionEnforcement is on"},
	{Verb: "patch", Group: "apps", Resource: "deployments/status", Impact: "the status does not change, so rollouts seem stuck"},
	{Verb: "list", Group: "apps", Resource: "replicasets", Impact: "the engine does not start"},
	{Verb: "watch", Group: "apps", Resource: "replicasets", Impact: "the engine does not start"},
	{Verb: "get", Group: "apps", Resource: "replicasets", Impact: "no rollout starts, rollbacks by annotation do not happen, and a Deployment is stuck after a failed write to one of its ReplicaSets"},
	{Verb: "create", Group: "apps", Resource: "replicasets", Impact: "no rollout starts"},
	{Verb: "patch", Group: "apps", Resource: "replicasets", Impact: "nothing is scaled, and no rollout completes"},
	{Verb: "delete", Group: "apps", Resource: "replicasets", Impact: "old ReplicaSets accumulate"},
	{Verb: "list", Resource: "pods", Impact: "rollouts with the strategy Recreate do not continue, and releases that may fall back do not complete"},
	{Verb: "watch", Resource: "pods", Impact: "rollouts with the strategy Recreate continue late or not at all"},
	{Verb: "create", Resource: "events", Impact: "Events do not report rollouts"},
	{Verb: "patch", Resource: "events", Impact: "repeated Events are not counted"},
}

// permissionsOf returns all permissions that the engine needs.
func permissionsOf(options *Options) []apiclient.Permission {
	permissions := handover.Permissions(options.OwnNamespace)
	for _, namespace := range apiclient.NamespacesOrAll(options.Namespaces) {
		for _, permission := range neededPermissions {
			permission.Namespace = namespace
			permissions = append(permissions, permission)
		}
	}
	for i := range permissions {
		permissions[i].Manifest = "rbac-deployment-engine.yaml"
	}
	return permissions
}

// Permissions returns the permissions that the engine needs.
func (e *Engine) Permissions() []apiclient.Permission { return e.permissions }
