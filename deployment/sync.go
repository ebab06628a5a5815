package deployment

import (
	"context"
	"errors"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"kubernetes-deployment-restart-controller/deployment/rollout"
	"kubernetes-deployment-restart-controller/internal/apiclient"
	"kubernetes-deployment-restart-controller/internal/fairqueue"
)

// manyFailures is how many failures in a row may count as expected. After that, something else is
// wrong, such as a webhook that denies requests with the code of a conflict.
const manyFailures = 5

// sync takes one step for a Deployment. The queue never hands out the same key twice at the same
// time.
func (e *Engine) sync(ctx context.Context, key types.NamespacedName) {
	defer e.enter(key)()
	start := time.Now()
	defer func() {
		e.metrics.syncs.Inc()
		e.metrics.syncDuration.Observe(time.Since(start).Seconds())
	}()
	d := e.caches.deployments.get(key)
	if d == nil {
		e.histories.keep(key, writeHistory{})
		e.queue.Forget(key)
		return
	}
	if e.isLeftAlone(d) {
		e.queue.AddAfter(key, leftAlonePause)
		return
	}
	h := e.histories.of(key)
	if h.creation.IsAltered && !e.isAltered(d, h.creation.Name) {
		h.creation = rollout.CreationFailure{}
	}
	if h.unsure != "" {
		if _, err := e.executor.lookAtReplicaSet(ctx, types.NamespacedName{Namespace: key.Namespace, Name: h.unsure}); err != nil {
			e.retry(ctx, key, h, err)
			return
		}
		h.unsure = ""
		e.histories.keep(key, h)
	}
	actions, wake := rollout.Plan(e.caches.observe(d, h, start))
	if done, err := e.executor.apply(ctx, d, actions); err != nil {
		if step, _ := h.record(actions[:done], time.Now()); step {
			e.queue.Forget(key) // there was progress: this failure is the first in a row
		}
		if apiclient.IsIneffective(err) {
			h.record(e.reportStatus(ctx, d, actions[done:]), time.Now())
		}
		e.histories.keep(key, h)
		e.retry(ctx, key, h, err)
		return
	}
	e.scheduleNext(key, h, actions, wake)
}

// scheduleNext decides when to sync a Deployment next after its plan was applied.
func (e *Engine) scheduleNext(key types.NamespacedName, h writeHistory, actions []rollout.Action, wake time.Time) {
	failed, collided := h.creation.Name != "" && !h.creation.Collided && !h.creation.IsAltered, h.creation.Collided
	step, reported := h.record(actions, time.Now())
	h.ineffective = ""
	switch {
	case h.creation.IsAltered:
		h.creation.IsReported = true // and wait for its deletion
	case !collided || reported || step:
		h.creation = rollout.CreationFailure{}
	} // otherwise the count of collisions, which determines the next name, is not written yet
	e.histories.keep(key, h)
	if !wake.IsZero() {
		e.queue.AddAfter(key, time.Until(wake))
	}
	switch {
	case failed: // and the failure is reported now; try again
		e.queue.Retry(key, fairqueue.Refused)
		return
	case step, collided && reported:
		e.add(key)
	}
	e.queue.Forget(key)
}

// retry is the one place that turns errors into retries. No key is ever dropped.
func (e *Engine) retry(ctx context.Context, key types.NamespacedName, h writeHistory, err error) {
	if ctx.Err() != nil || errors.Is(err, errNotDriving) {
		return // the engine ends, or starts from scratch when it takes over
	}
	var uncertain *unsureError
	if errors.As(err, &uncertain) {
		h.unsure = uncertain.name
		e.histories.keep(key, h)
	}
	var creation *creationError
	switch {
	case errors.As(err, &creation):
		h.creation = creation.CreationFailure
		e.histories.keep(key, h)
		e.add(key) // to report it
	default:
		e.reportIneffective(key, h, err)
		e.queue.Retry(key, failureOf(err))
	}
	if isPassing(err) && e.queue.Failures(key) < manyFailures {
		e.log.Debug("planning again", "deployment", key.String(), "error", err)
		return
	}
	e.log.Warn("cannot carry out a plan, trying again", "deployment", key.String(), "attempts", e.queue.Failures(key), "error", err)
}

// failureOf returns whether a failed attempt was answered.
func failureOf(err error) fairqueue.Failure {
	if !errors.Is(err, errMovedOn) && apiclient.IsUnanswered(err) {
		return fairqueue.Unanswered
	}
	return fairqueue.Refused
}

// isPassing reports whether a failure is expected and transient: another client wrote at the same
// time, or is deleting the object or the namespace.
func isPassing(err error) bool {
	return apierrors.IsConflict(err) || apierrors.IsNotFound(err) || errors.Is(err, errMovedOn) || apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause)
}

// observe collects what a plan for a Deployment may look at.
func (c *caches) observe(d *rollout.Deployment, h writeHistory, now time.Time) *rollout.State {
	s := &rollout.State{
		Now:           now,
		Deployment:    d,
		ReplicaSets:   c.replicaSetsOf(d),
		Orphans:       c.orphansFor(d),
		Creation:      h.creation,
		Created:       h.created,
		StatusWritten: h.statusWritten,
		StepTaken:     h.stepTaken,
		Trial:         h.trial,
		Refused:       h.refused,
		IsBackup:      c.isBackup,
	}
	if d.NeedsPods() {
		s.Pods = c.pods.count(d, s.ReplicaSets)
	}
	return s
}
