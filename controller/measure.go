package controller

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"

	"kubernetes-deployment-restart-controller/catalog/decide"
	"kubernetes-deployment-restart-controller/catalog/workload"
	"kubernetes-deployment-restart-controller/controller/delivery"
)

// measureAgain is after how long the pods of a workload are counted again while it restarts, if its status does not show how
// that goes. Most controllers write some status, which is a reason to look earlier.
const measureAgain = 15 * time.Second

// measured returns a workload with what its pods say about its rollout, if its status does not say it. With an
// error, it returns the workload as it is. It does not modify the workload.
func (r podReader) measured(ctx context.Context, w *workload.Workload) (*workload.Workload, error) {
	if !w.Rollout.ByPods {
		return w, nil
	}
	isPresent, err := r.kinds.row(w.Ref.Kind).revisions.present(r, ctx, w)
	if err != nil {
		return w, err
	}
	measured := *w
	rollout := &measured.Rollout
	err = r.each(ctx, w, func() { *rollout = w.Rollout }, func(pod *corev1.Pod, from origin) { count(rollout, pod, isPresent(from)) })
	if err != nil {
		return w, err
	}
	rollout.Observed = rollout.Updated > 0
	rollout.Wanted = max(rollout.Wanted, rollout.Updated+rollout.Outdated) // pods that are too many must run as well
	return &measured, nil
}

// count counts a pod, unless it has finished or is being deleted.
func count(rollout *workload.Rollout, pod *corev1.Pod, isPresent bool) {
	if pod.DeletionTimestamp != nil || decide.HasFinished(pod) {
		return
	}
	if isPresent {
		rollout.Updated++
	} else {
		rollout.Outdated++
	}
	if delivery.IsReady(pod) {
		rollout.Available++
	}
}

// judgeByPods is for workloads whose status does not show how a rollout goes, so it counts their pods each time. The
// status may change at any moment, so counting takes a part of the time only; see [listingShare].
func (d *deliveries) judgeByPods(ctx context.Context, restart *rollingRestart, w *workload.Workload) (delivery.Judgement, error) {
	began := time.Now()
	defer func() { restart.notBefore = time.Now().Add(listingShare * time.Since(began)) }()
	measured, err := d.pods.measured(ctx, w)
	switch {
	case err != nil && (ctx.Err() != nil || d.queue.Failures(w.Ref) < passingFailures):
		return delivery.Judgement{}, err
	case err != nil:
		d.log.Warn("cannot read the pods of a workload that restarts, which nothing else shows", "workload", w.Ref, "error", err)
		return delivery.Judgement{Verdict: delivery.Neutral, Reason: "its pods cannot be read"}, nil
	}
	judgement, err := d.judgeByStatus(ctx, restart, measured)
	if judgement.Again > 0 {
		judgement.Again = min(judgement.Again, measureAgain)
	}
	return judgement, err
}
