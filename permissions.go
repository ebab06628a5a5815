package main

import (
	"context"
	"log/slog"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"

	"kubernetes-deployment-restart-controller/apiclient"
)

// neededPermissions returns the permissions that the engines and the leader election
// need.
func neededPermissions(o *options, all engines) []apiclient.Permission {
	var permissions []apiclient.Permission
	for _, e := range all {
		permissions = append(permissions, e.Permissions()...)
	}
	if o.elects() {
		const without = "no leader is elected, so the controller does nothing"
		lease := apiclient.Permission{
			Group: "coordination.k8s.io", Resource: "leases", Namespace: o.LeaderElectNamespace, Name: o.LeaderElectLeaseName, Impact: without,
		}
		for _, verb := range []string{"get", "update"} {
			lease.Verb = verb
			permissions = append(permissions, lease)
		}
		// RBAC cannot limit create to a name, so the permission is to create any
		// lease.
		lease.Verb, lease.Name, lease.Impact = "create", "", "no leader is elected if the lease does not exist"
		permissions = append(permissions, lease)
	}
	return permissions
}

// logMissingPermissions logs each missing permission, once the API server answers.
func logMissingPermissions(ctx context.Context, config *rest.Config, permissions []apiclient.Permission, log *slog.Logger) {
	backoff := wait.Backoff{Duration: time.Second, Factor: 2, Steps: 6, Cap: time.Minute}
	for {
		missing, err := apiclient.Missing(ctx, config, permissions)
		if err == nil {
			for _, permission := range missing {
				log.Warn("missing permission", "right", permission.String(), "without_it", permission.Impact)
			}
			log.Debug("permissions checked", "needed", len(permissions), "missing", len(missing))
			return
		}
		log.Debug("cannot check permissions, trying again", "error", err)
		select {
		case <-time.After(backoff.Step()):
		case <-ctx.Done():
			return
		}
	}
}
