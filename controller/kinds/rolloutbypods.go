package kinds

import (
	"context"

	corev1 "k8s.io/api/core/v1"

	"kubernetes-deployment-restart-controller/catalog/workload"
	"kubernetes-deployment-restart-controller/internal/podsight"
)

// Measured returns a workload with what its pods say about its rollout, if its status does not say it. With an
// error, it returns the workload as it is. It does not modify the workload.
func (r PodReader) Measured(ctx context.Context, w *workload.Workload) (*workload.Workload, error) {
	if !w.Rollout.ByPods {
		return w, nil
	}
	isPresent, err := r.Kinds.Row(w.Ref.Kind).Revisions.Present(r, ctx, w)
	if err != nil {
		return w, err
	}
	measured := *w
	rollout := &measured.Rollout
	err = r.Each(ctx, w, func() { *rollout = w.Rollout }, func(pod *corev1.Pod, from Origin) { count(rollout, pod, isPresent(from)) })
	if err != nil {
		return w, err
	}
	rollout.Observed = rollout.Updated > 0
	rollout.Wanted = max(rollout.Wanted, rollout.Updated+rollout.Outdated) // pods that are too many must run as well
	return &measured, nil
}

// count counts a pod, unless it has finished or is being deleted.
func count(rollout *workload.Rollout, pod *corev1.Pod, isPresent bool) {
	if pod.DeletionTimestamp != nil || podsight.HasFinished(pod) {
		return
	}
	if isPresent {
		rollout.Updated++
	} else {
		rollout.Outdated++
	}
	if podsight.IsReady(pod) {
		rollout.Available++
	}
}
