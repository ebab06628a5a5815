package controller

import (
	"context"
	"log/slog"
	"time"

	corev1 "k8s.io/api/core/v1"

	"kubernetes-deployment-restart-controller/catalog"
	"kubernetes-deployment-restart-controller/catalog/decide"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/internal/quarantine"
	"kubernetes-deployment-restart-controller/internal/series"
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

// exposures finds out which of the workloads whose restarts are held have pods that read the new content
// already. It looks at the pods of one workload after the other, in turns by namespace, because listing
// them is expensive. It serves only a metric.
type exposures struct {
	catalog    *catalog.Catalog
	pods       podReader
	backlogs   *backlogs
	quarantine *quarantine.Set
	log        *slog.Logger

	waiting   turns
	refreshed time.Time
}

// run looks at the pods of held workloads until the context ends.
func (e *exposures) run(ctx context.Context) {
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
func (e *exposures) lookAtNext(ctx context.Context, now time.Time) {
	if now.Sub(e.refreshed) >= exposureRefresh {
		e.refreshed = now
		for _, ref := range e.backlogs.those((*backlog).isHeldForLong) {
			e.waiting.add(ref)
		}
	}
	for !e.waiting.isEmpty() {
		ref := e.waiting.next()
		if !e.backlogs.isHeldForLong(ref) {
			continue
		}
		e.quarantine.Try(quarantine.Metrics, nameOfWorkload(ref), func() { e.look(ctx, ref) })
		return
	}
}

// look finds out whether pods of a workload have read the new content. If they cannot be read, the former
// finding stays.
func (e *exposures) look(ctx context.Context, ref names.WorkloadRef) {
	view, found := e.catalog.View(ref)
	if !found || view.LacksKey() {
		return
	}
	var exposure *decide.Exposure
	err := e.pods.each(ctx, view.Workload, func() { exposure = decide.NewExposure(view) }, func(pod *corev1.Pod, _ origin) { exposure.Add(pod) })
	if err != nil {
		e.log.Debug("cannot read the pods of a workload whose restart is held", "workload", ref, "error", err)
		return
	}
	e.backlogs.noteExposed(ref, exposure.Found())
}

// noteExposed notes whether pods of a workload whose restart waits have read the new content.
func (b *backlogs) noteExposed(ref names.WorkloadRef, isExposed bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if w, found := b.waiting[ref]; found {
		w.isExposed = isExposed
		b.waiting[ref] = w
	}
}

func (b *backlogs) isHeldForLong(ref names.WorkloadRef) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	w := b.waiting[ref]
	return w.isHeldForLong()
}

// exposed returns how many workloads wait for something that may last, although pods of theirs have read the new
// content. The label is "namespace/reason".
func (b *backlogs) exposed() []series.Sample {
	b.mu.Lock()
	defer b.mu.Unlock()
	count := make(map[string]int)
	for ref, w := range b.waiting {
		if w.isExposed && w.isHeldForLong() {
			count[ref.Namespace+"/"+string(w.putOff)]++
		}
	}
	samples := make([]series.Sample, 0, len(count))
	for label, workloads := range count {
		samples = append(samples, series.Sample{Label: label, Value: float64(workloads)})
	}
	return samples
}
