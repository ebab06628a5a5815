package deployment

import (
	"context"
	"errors"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"kubernetes-deployment-restart-controller/deployment/rollout"
	"kubernetes-deployment-restart-controller/internal/apiclient"
)

// Warning: the API server has accepted a write, but an admission webhook or policy has removed what it sets.
const reasonIneffective = "WriteIneffective"

// effectOf returns an error for a write if its object lacks something afterwards or has not
// changed at all.
func effectOf(of string, before, after *rollout.Meta, missing string) error {
	if missing == "" && before.ResourceVersion != after.ResourceVersion {
		return nil
	}
	return &apiclient.IneffectiveError{Object: of, Missing: missing}
}

// alteredError is the error for a new ReplicaSet that was created with another pod template
// than the Deployment's. It counts as not created, because it looks like a ReplicaSet of an
// earlier template.
func alteredError(name string) error {
	return &creationError{
		rollout.CreationFailure{Name: name, IsAltered: true, Message: "an admission webhook or policy has changed its pod template; it is created again once it is deleted"},
		&apiclient.IneffectiveError{Object: "replicaset " + name, Missing: "pod template"},
	}
}

// isAltered reports whether a ReplicaSet that was created for the Deployment's template still
// has another template.
func (e *Engine) isAltered(d *rollout.Deployment, name string) bool {
	rs := e.caches.replicaSets.get(types.NamespacedName{Namespace: d.Namespace, Name: name})
	return rs != nil && rs.Sum != d.Sum
}

// reportStatus writes the status that is among the actions, and returns the actions that it
// has carried out. A step may be accepted without effect again and again, which must not
// prevent the status from following the pods.
func (e *Engine) reportStatus(ctx context.Context, d *rollout.Deployment, actions []rollout.Action) []rollout.Action {
	for i, action := range actions {
		if _, isStatus := action.(rollout.UpdateStatus); isStatus && i > 0 {
			status := actions[i : i+1]
			if _, err := e.executor.apply(ctx, d, status); err == nil {
				return status
			}
		}
	}
	return nil
}

// reportIneffective reports a write without effect once.
func (e *Engine) reportIneffective(key types.NamespacedName, h writeHistory, err error) {
	var ineffective *apiclient.IneffectiveError
	if !errors.As(err, &ineffective) || h.ineffective == ineffective.Error() {
		return
	}
	h.ineffective = ineffective.Error()
	e.histories.keep(key, h)
	if d := e.caches.deployments.get(key); d != nil {
		e.executor.events.Event(d.Reference(), corev1.EventTypeWarning, reasonIneffective, h.ineffective)
	}
}
