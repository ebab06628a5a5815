package deployment

import (
	"context"
	"errors"
	"log/slog"

	"k8s.io/client-go/tools/record"

	"kubernetes-deployment-restart-controller/deployment/rollout"
	"kubernetes-deployment-restart-controller/internal/apiclient"
)

// Writer applies plans as an [Engine] does, for a caller without watches and workers
// that creates the states itself, such as a simulation. It must not be used
// concurrently.
type Writer struct{ executor *executor }

// NewWriter returns a Writer that writes to an API server. It reports its steps to a
// recorder.
func NewWriter(apps apiclient.Apps, events record.EventRecorder) *Writer {
	return &Writer{&executor{
		apps: apps,
		// The API server's answers go into the caches. No watch feeds them.
		caches: &caches{
			deployments: newCache(packDeployment, groupsOfDeployment, nil),
			replicaSets: newCache(packReplicaSet, groupsOfReplicaSet, nil),
		},
		events:   events,
		mayWrite: func(string) bool { return true },
		metrics:  newMetrics(),
		log:      slog.New(slog.DiscardHandler),
	}}
}

// Apply applies the actions of a plan for a Deployment in order, up to the first that
// fails, and returns how many were applied. If the creation of the new ReplicaSet
// failed, failure is the Creation of the next state.
func (w *Writer) Apply(ctx context.Context, d *rollout.Deployment, actions []rollout.Action) (done int, failure rollout.CreationFailure, err error) {
	done, err = w.executor.apply(ctx, d, actions)
	var creation *creationError
	if errors.As(err, &creation) {
		failure = creation.CreationFailure
	}
	return done, failure, err
}
