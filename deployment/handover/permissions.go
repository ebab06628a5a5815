package handover

import "kubernetes-deployment-restart-controller/internal/apiclient"

// Permissions returns the permissions that a [Monitor] needs in the namespace of its probe.
func Permissions(namespace string) []apiclient.Permission {
	const impact = "the engine does not start, because it cannot detect other deployment controllers"
	probe := apiclient.Permission{Group: "apps", Resource: "deployments", Namespace: namespace, Name: probeName, Impact: impact}
	permissions := []apiclient.Permission{
		{Verb: "create", Group: "apps", Resource: "deployments", Namespace: namespace, Impact: impact}, // RBAC cannot limit create to a name
		{Verb: "create", Resource: "events", Namespace: namespace, Impact: "Events do not report when the engine stands by"},
	}
	for _, verb := range []string{"list", "watch", "delete"} {
		probe.Verb = verb
		permissions = append(permissions, probe)
	}
	return permissions
}
