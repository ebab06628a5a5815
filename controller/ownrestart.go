package controller

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"kubernetes-deployment-restart-controller/catalog/annotation"
	"kubernetes-deployment-restart-controller/catalog/workload"
	"kubernetes-deployment-restart-controller/controller/delivery"
	"kubernetes-deployment-restart-controller/internal/apiclient"
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
func (e *evictor) waitOf(w *workload.Workload, step delivery.Step, now time.Time) evictionWait {
	var stood time.Time
	e.update(w.Ref, w.Evict, func(row *eviction) {
		switch {
		case !step.ByOwner:
			row.stood = time.Time{}
		case row.stood.IsZero():
			row.stood = now
		}
		stood = row.stood
	})
	if !stood.IsZero() && now.Sub(stood) >= ownPatience {
		why := "Argo Rollouts replaces no pods, although all are ready: see whether it runs, and whether a PodDisruptionBudget refuses"
		return evictionWait{reason: waitsForPerson, text: why, since: now}
	}
	return evictionWait{reason: waitsForPods, text: step.Wait, since: now}
}

// noteReplaced notes that the workload's own controller has replaced pods since they were last counted.
func (e *evictor) noteReplaced(w *workload.Workload, left *delivery.Left, now time.Time) {
	isProgress := false
	e.update(w.Ref, w.Evict, func(row *eviction) {
		if isProgress = w.RestartsItself() && left.Earlier < row.earlier; isProgress {
			row.looks, row.refusals, row.reported, row.stood = 0, 0, time.Time{}, time.Time{}
		}
	})
	if isProgress {
		e.deliveries.followEviction(w, now)
	}
}

// askForRestart makes the spec of a workload ask its own controller to replace the pods that are left, if that is still
// what is due.
func (e *evictor) askForRestart(ctx context.Context, w *workload.Workload, at time.Time) error {
	present := e.catalog.Workload(w.Ref) // it may have changed while the pods were listed
	if present == nil || present.UID != w.UID || present.Evict != w.Evict {
		return nil // whoever changed that brings the workload back
	}
	if due, isAsked := present.DueRestartAt(); !isAsked && due.Equal(at) {
		err := e.workloads.setRestartAt(ctx, present, at)
		switch {
		case apierrors.IsNotFound(err), apierrors.IsConflict(err): // it has changed, as the watch is about to show
			e.update(w.Ref, w.Evict, func(row *eviction) { row.notBefore = time.Now().Add(doubled(stepPause, row.looks)) })
		case err != nil:
			return fmt.Errorf("set .spec.restartAt: %w", err)
		default:
			e.log.Info("asked Argo Rollouts to replace the pods", "workload", w.Ref, "restart_at", at.Format(time.RFC3339))
			e.noteAsked(present, at)
		}
	}
	e.wait(w, evictionWait{reason: waitsForPods, text: "Argo Rollouts has yet to replace pods", since: time.Now()})
	e.lookLater(w)
	return nil
}

// noteAsked notes that the spec of a workload asks for a restart. If it has to ask again and again although no pod is
// replaced, it does so with growing pauses: a GitOps tool may remove what is not in its manifests.
func (e *evictor) noteAsked(w *workload.Workload, at time.Time) {
	isNews := false
	e.update(w.Ref, w.Evict, func(row *eviction) {
		if !row.asked.IsZero() {
			row.refusals++
			row.notBefore = time.Now().Add(doubled(refusalPause, row.refusals))
			isNews = !row.restored && w.LacksRestartAt(row.asked)
		}
		row.asked, row.restored = at, row.restored || isNews
	})
	if isNews {
		e.log.Warn("somebody has removed .spec.restartAt, setting it again", "workload", w.Ref)
		e.events.Event(objectReference(w), corev1.EventTypeWarning, reasonReverted,
			"another client removed .spec.restartAt before all pods had restarted, so it is set again: make that client leave the field alone")
	}
}

// setRestartAt sets .spec.restartAt of a workload, unless the workload has changed: it may be another one by now, or
// somebody may have set a later time.
func (w workloadWriter) setRestartAt(ctx context.Context, of *workload.Workload, at time.Time) error {
	body, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"resourceVersion": of.ResourceVersion},
		"spec":     map[string]any{"restartAt": at.UTC().Format(time.RFC3339)},
	})
	if err != nil {
		return fmt.Errorf("encode: %w", err)
	}
	kind := w.kinds.row(of.Ref.Kind)
	after, err := w.clientOf(kind).Patch(types.MergePatchType).
		Namespace(of.Ref.Namespace).
		Resource(kind.resource).
		Name(of.Ref.Name).
		SpecificallyVersionedParams(&metav1.PatchOptions{FieldManager: annotation.RestartAtManager}, metav1.ParameterCodec, metav1.SchemeGroupVersion).
		Body(body).
		Do(ctx).
		Get()
	if err != nil {
		return err
	}
	if parts, _ := kind.parts(after); parts.Problem == "" && parts.RestartAt.Before(at) {
		return &apiclient.IneffectiveError{Object: "the workload", Missing: ".spec.restartAt"}
	}
	return nil
}
