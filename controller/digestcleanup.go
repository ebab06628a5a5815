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
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"

	"kubernetes-deployment-restart-controller/apiclient"
	"kubernetes-deployment-restart-controller/catalog"
)

// digestCleanup removes the copies of a workload's records that Kubernetes made on its
// revisions if they hold digests of Secrets against which guesses can be tested.
type digestCleanup struct {
	apps     rest.Interface
	metadata metadata.Interface
}

// mayBeCopiedMeanwhile reports whether a copy that was just removed may be back before
// the decision is carried out. With each sync, a Deployment's controller copies the
// annotations to the newest ReplicaSet, and after a restart that is another one.
func mayBeCopiedMeanwhile(w *catalog.Workload, decision catalog.Decision) bool {
	return w.Applied.Exposed && revisionsOf(w).followAnnotations && decision.Outcome == catalog.Restart
}

// cleanupDelay is how long a Deployment's controller has to notice a write before the
// restart controller looks for copies again.
const cleanupDelay = 2 * time.Second

// cleanupWait returns how long to wait with writing a record whose copies must be removed
// first: as long as a Deployment's controller may still copy what was there before the
// last write. It ignores a write time in the future.
func cleanupWait(w *catalog.Workload, now time.Time) time.Duration {
	wait := w.Applied.Written.Add(cleanupDelay).Sub(now)
	if !w.Applied.Exposed || !revisionsOf(w).followAnnotations || wait > cleanupDelay {
		return 0
	}
	return max(wait, 0)
}

// awaitCleanup puts off a record that comes too early, and reports whether it did so.
func (r *restarter) awaitCleanup(w *catalog.Workload) bool {
	wait := cleanupWait(w, time.Now())
	if wait > 0 {
		r.queue.AddAfter(w.Ref, wait)
	}
	return wait > 0
}

// remove removes both annotations from the revisions of a workload that expose digests of
// Secrets. It continues after a failure, and may be called again. If there are failures,
// it returns a transient one if possible.
func (r digestCleanup) remove(ctx context.Context, w *catalog.Workload) error {
	exposing, err := r.exposing(ctx, w)
	if err != nil {
		return err
	}
	revisions := r.metadata.Resource(revisionsOf(w).groupResource()).Namespace(w.Ref.Namespace)
	var failure error
	for _, revision := range exposing {
		body, err := removalBody(revision)
		if err != nil {
			return err
		}
		_, err = revisions.Patch(ctx, revision.Name, types.MergePatchType, body, metav1.PatchOptions{FieldManager: catalog.FieldManager})
		if err != nil && !apierrors.IsNotFound(err) && (failure == nil || !isPermanent(err)) {
			failure = fmt.Errorf("patch revision %s of %s: %w", revision.Name, w.Ref, err)
		}
	}
	return failure
}

// exposing returns, for each of the workload's revisions that expose digests of Secrets,
// the metadata that a patch of it needs.
func (r digestCleanup) exposing(ctx context.Context, w *catalog.Workload) ([]metav1.ObjectMeta, error) {
	var exposing []metav1.ObjectMeta
	if revisionsOf(w).resource == "" {
		return nil, nil
	}
	revisions := apiclient.List{Client: r.apps, Resource: revisionsOf(w).resource, Namespace: w.Ref.Namespace, LabelSelector: w.Selector}
	err := apiclient.EachMeta(ctx, revisions, func() { exposing = nil }, func(revision *metav1.ObjectMeta) {
		if isControlledBy(revision, w) && catalog.ExposesSecrets(revision.Annotations) {
			exposing = append(exposing, metav1.ObjectMeta{Name: revision.Name, UID: revision.UID, ResourceVersion: revision.ResourceVersion})
		}
	})
	return exposing, err
}

// removalBody returns the JSON merge patch that removes both annotations from exactly
// this state of a revision.
func removalBody(revision metav1.ObjectMeta) ([]byte, error) {
	body, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"uid":             revision.UID,
		"resourceVersion": revision.ResourceVersion,
		"annotations":     map[string]any{catalog.ChecksumsAnnotation: nil, catalog.BasisAnnotation: nil},
	}})
	if err != nil {
		return nil, fmt.Errorf("build patch: %w", err)
	}
	return body, nil
}

// cleanUpDigests removes the copies of a record that is about to be replaced. The record is
// written only afterwards: if the controller is killed in between, the workload still
// shows what to do. A missing permission must not delay restarts: then copies remain,
// and the record says that they do.
func (r *restarter) cleanUpDigests(ctx context.Context, w *catalog.Workload) (remain bool, err error) {
	err = r.cleanup.remove(ctx, w)
	if err == nil || !isPermanent(err) && !keepsConflicting(err, r.queue.Failures(w.Ref)+1) {
		return false, err
	}
	r.log.Warn("cannot remove digests of Secrets from the revisions of a workload", "workload", w.Ref, "error", err)
	r.events.Eventf(objectReference(w), corev1.EventTypeWarning, reasonDigestsRemain,
		"revisions of this workload keep digests of Secrets, which allow guesses to be tested offline: %v", err)
	return true, nil
}
