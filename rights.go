package main

import (
	"context"
	"log/slog"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"

	"kubernetes-deployment-restart-controller/apiclient"
)

// neededRights returns the permissions that the engines and the leader election
// need.
func neededRights(o *options, all engines) []apiclient.Right {
	var rights []apiclient.Right
	for _, e := range all {
		rights = append(rights, e.Rights()...)
	}
	if o.elects() {
		const without = "no leader is elected, so nothing is done at all"
		lease := apiclient.Right{
			Group: "coordination.k8s.io", Resource: "leases", Namespace: o.LeaderElectNamespace, Name: o.LeaderElectLeaseName, Impact: without,
		}
		for _, verb := range []string{"get", "update"} {
			lease.Verb = verb
			rights = append(rights, lease)
		}
		// RBAC cannot limit create to a name, so the permission is to create any
		// lease.
		lease.Verb, lease.Name, lease.Impact = "create", "", "no leader is elected if the lease is not there"
		rights = append(rights, lease)
	}
	return rights
}

// tellMissingRights logs each missing permission, once the API server answers.
func tellMissingRights(ctx context.Context, config *rest.Config, rights []apiclient.Right, log *slog.Logger) {
	backoff := wait.Backoff{Duration: time.Second, Factor: 2, Steps: 6, Cap: time.Minute}
	for {
		missing, err := apiclient.Missing(ctx, config, rights)
		if err == nil {
			for _, right := range missing {
				log.Warn("a right is missing", "right", right.String(), "without_it", right.Impact)
			}
			log.Debug("rights are checked", "needed", len(rights), "missing", len(missing))
			return
		}
		log.Debug("cannot find out which rights are missing, trying again", "error", err)
		select {
		case <-time.After(backoff.Step()):
		case <-ctx.Done():
			return
		}
	}
}
