package judge

import (
	"context"
	"log/slog"
	"time"

	corev1 "k8s.io/api/core/v1"

	"kubernetes-deployment-restart-controller/catalog"
	"kubernetes-deployment-restart-controller/catalog/decide"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/controller/kinds"
	"kubernetes-deployment-restart-controller/controller/pending"
	"kubernetes-deployment-restart-controller/controller/tracker"
	"kubernetes-deployment-restart-controller/internal/quarantine"
)

const (
	// exposurePause is the time between two looks at the pods of workloads. A look that takes long, because
	// there are very many pods, is followed by a pause that is so many times as long.
	exposurePause  = time.Second
	exposurePauses = 9
	// exposureRefresh is how often new workloads are taken in, in turn behind those that have
	// waited for a look.
	exposureRefresh = 5 * time.Second
)

// Exposures finds out which of the workloads whose restarts are held have pods that read the new content
// already. It looks at the pods of one workload after the other, in turns by namespace, because listing
// them is expensive. It serves only a metric.
type Exposures struct {
	Catalog    *catalog.Catalog
	Pods       kinds.PodReader
	Backlogs   *tracker.Backlogs
	Quarantine *quarantine.Set
	Log        *slog.Logger

	waiting   pending.Turns
	refreshed time.Time
}

// Run looks at the pods of held workloads until the context ends.
func (e *Exposures) Run(ctx context.Context) {
	timer := time.NewTimer(exposurePause)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
			begun := time.Now()
			e.lookAtNext(ctx, begun)
			timer.Reset(max(exposurePause, exposurePauses*time.Since(begun)))
		}
	}
}

// lookAtNext looks at the pods of the workload whose turn it is, if there is one.
func (e *Exposures) lookAtNext(ctx context.Context, now time.Time) {
	if now.Sub(e.refreshed) >= exposureRefresh {
		e.refreshed = now
		for _, ref := range e.Backlogs.Those((*tracker.Backlog).IsHeldForLong) {
			e.waiting.Add(ref)
		}
	}
	for !e.waiting.IsEmpty() {
		ref := e.waiting.Next()
		if !e.Backlogs.Of(ref).IsHeldForLong() {
			continue
		}
		e.Quarantine.Try(quarantine.Metrics, kinds.NameOfWorkload(ref), func() { e.look(ctx, ref) })
		return
	}
}

// look finds out whether pods of a workload have read the new content. If they cannot be read, the former
// finding stays.
func (e *Exposures) look(ctx context.Context, ref names.WorkloadRef) {
	view, found := e.Catalog.View(ref)
	if !found || view.LacksKey() {
		return
	}
	var exposure *decide.Exposure
	err := e.Pods.Each(ctx, view.Workload, func() { exposure = decide.NewExposure(view) }, func(pod *corev1.Pod, _ kinds.Origin) { exposure.Add(pod) })
	if err != nil {
		e.Log.Debug("cannot read the pods of a workload whose restart is held", "workload", ref, "error", err)
		return
	}
	e.Backlogs.NoteExposed(ref, exposure.Found())
}
