package evict

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"kubernetes-deployment-restart-controller/catalog/workload"
	"kubernetes-deployment-restart-controller/controller/delivery"
	"kubernetes-deployment-restart-controller/controller/events"
	"kubernetes-deployment-restart-controller/controller/kinds"
	"kubernetes-deployment-restart-controller/controller/tracker"
)

// Restarts by eviction of workloads whose own controller replaces the pods if .spec.restartAt asks for it; see
// [workload.OwnRestart]. The evictor counts the pods that are left, as always, but evicts none.

// ownPatience is for how long the workload's own controller may leave all pods alone before that is for a person. Argo
// Rollouts looks every 30 seconds.
const ownPatience = 2 * time.Minute

// attemptOf says what the evictor does for a workload.
func attemptOf(w *workload.Workload) string {
	if w.RestartsItself() {
		return "let Argo Rollouts replace the pods"
	}
	return "evict a pod"
}

// waitOf returns what a restart by eviction waits for. Other restarts must not wait for it, nor the content be halted,
// because a PodDisruptionBudget refuses Argo Rollouts an eviction, or because it does not run.
func (e *Evictor) waitOf(w *workload.Workload, step delivery.Step, now time.Time) tracker.EvictionWait {
	var stood time.Time
	e.Update(w.Ref, w.Record.Evict, func(row *tracker.Eviction) {
		switch {
		case !step.ByOwner:
			row.Stood = time.Time{}
		case row.Stood.IsZero():
			row.Stood = now
		}
		stood = row.Stood
	})
	if !stood.IsZero() && now.Sub(stood) >= ownPatience {
		why := "Argo Rollouts replaces no pods, although all are ready: see whether it runs, and whether a PodDisruptionBudget refuses"
		return tracker.EvictionWait{Reason: tracker.WaitsForPerson, Text: why, Since: now}
	}
	return tracker.EvictionWait{Reason: tracker.WaitsForPods, Text: step.Wait, Since: now}
}

// noteReplaced notes that the workload's own controller has replaced pods since they were last counted.
func (e *Evictor) noteReplaced(w *workload.Workload, left *delivery.Left, now time.Time) {
	isProgress := false
	e.Update(w.Ref, w.Record.Evict, func(row *tracker.Eviction) {
		if isProgress = w.RestartsItself() && left.Earlier < row.Earlier; isProgress {
			row.Looks, row.Refusals, row.Reported, row.Stood = 0, 0, time.Time{}, time.Time{}
		}
	})
	if isProgress {
		e.Deliveries.FollowEviction(w, now, now)
	}
}

// askForRestart makes the spec of a workload ask its own controller to replace the pods that are left, if that is still
// what is due.
func (e *Evictor) askForRestart(ctx context.Context, w *workload.Workload, at time.Time) error {
	present := e.Catalog.Workload(w.Ref) // it may have changed while the pods were listed
	if present == nil || present.UID != w.UID || present.Record.Evict != w.Record.Evict {
		return nil // whoever changed that brings the workload back
	}
	if due, isAsked := present.DueRestartAt(); !isAsked && due.Equal(at) {
		err := e.Workloads.SetRestartAt(ctx, present, at)
		switch {
		case apierrors.IsNotFound(err), apierrors.IsConflict(err): // it has changed, as the watch is about to show
			e.Update(w.Ref, w.Record.Evict, func(row *tracker.Eviction) { row.NotBefore = time.Now().Add(doubled(stepPause, row.Looks)) })
		case err != nil:
			return fmt.Errorf("set .spec.restartAt: %w", err)
		default:
			e.Log.Info("asked Argo Rollouts to replace the pods", "workload", w.Ref, "restart_at", at.Format(time.RFC3339))
			e.noteAsked(present, at)
		}
	}
	e.wait(w, tracker.EvictionWait{Reason: tracker.WaitsForPods, Text: "Argo Rollouts has yet to replace pods", Since: time.Now()})
	e.lookLater(w)
	return nil
}

// noteAsked notes that the spec of a workload asks for a restart. If it has to ask again and again although no pod is
// replaced, it does so with growing pauses: a GitOps tool may remove what is not in its manifests.
func (e *Evictor) noteAsked(w *workload.Workload, at time.Time) {
	isNews := false
	e.Update(w.Ref, w.Record.Evict, func(row *tracker.Eviction) {
		if !row.Asked.IsZero() {
			row.Refusals++
			row.NotBefore = time.Now().Add(doubled(refusalPause, row.Refusals))
			isNews = !row.Restored && w.LacksRestartAt(row.Asked)
		}
		row.Asked, row.Restored = at, row.Restored || isNews
	})
	if isNews {
		e.Log.Warn("somebody has removed .spec.restartAt, setting it again", "workload", w.Ref)
		e.Events.Event(kinds.ObjectReference(w), corev1.EventTypeWarning, events.Reverted,
			"another client removed .spec.restartAt before all pods had restarted, so it is set again: make that client leave the field alone")
	}
}
