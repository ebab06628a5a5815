package restart

import (
	"context"
	"time"

	"kubernetes-deployment-restart-controller/catalog"
	"kubernetes-deployment-restart-controller/catalog/decide"
)

// noteContradiction notes, in case the restart is put off or fails or the record is kept, since when
// the record has been contradicted: pods read something else from then on, even if the content comes
// back later. It returns the zero value if the record is not contradicted.
func (r *Restarter) noteContradiction(view catalog.View, decision decide.Decision, now time.Time) time.Time {
	since := decision.PutOff(now)
	if decision.Unseen {
		r.Catalog.ObserveContradicted(view, since)
	}
	return since
}

// mark marks the contradiction on a workload whose restart is put off, or whose record is kept while
// a config is gone, for the process that leads when the content comes back. The mark may exist
// already; it reports whether it has written it.
func (r *Restarter) mark(ctx context.Context, view catalog.View, since time.Time, isUnseen bool) (isWritten bool, err error) {
	w := view.Workload
	if since.IsZero() {
		return false, nil
	}
	annotations, canMark, err := decide.Mark(&view, since, isUnseen)
	if err != nil || !canMark {
		return false, err
	}
	patch := &WorkloadPatch{Metadata: PatchedMeta{ResourceVersion: w.ResourceVersion, Annotations: annotations}}
	written, err := r.Workloads.patch(ctx, w.Ref, patch)
	if err != nil {
		return false, r.patchFailed(ctx, w, written, err)
	}
	if enabled := r.OptIns.Read(written); enabled != nil {
		r.Catalog.ObserveMarked(*enabled)
	}
	r.Metrics.AnnotationUpdates.Inc()
	r.Log.Info("marked the record as contradicted", "workload", w.Ref, "contradicted", since.UTC().Format(time.RFC3339))
	return true, nil
}
