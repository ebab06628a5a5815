package controller

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"kubernetes-deployment-restart-controller/catalog"
	"kubernetes-deployment-restart-controller/status"
)

// unusable are the workloads that are enabled but cannot be restarted, with their problems, which have been logged.
// Nearly all are of custom kinds, since the API server checks the others. The lock of [optIns] protects it.
type unusable map[catalog.WorkloadRef]problem

// take takes in a workload as it was shown, and reports whether it has a problem that is new.
func (u unusable) take(w *workloadObservation, isEnabled func(*workloadObservation) bool) bool {
	if w.problem == nil || !isEnabled(w) {
		delete(u, w.ref)
		return false
	}
	known := u[w.ref]
	u[w.ref] = *w.problem
	return known.text != w.problem.text
}

// keep forgets the workloads of a kind in a namespace, or in all namespaces, that are not among those that were listed.
func (u unusable) keep(kind catalog.WorkloadKind, namespace string, all []*observation) {
	if len(u) == 0 {
		return
	}
	listed := make(map[catalog.WorkloadRef]bool, len(all))
	for _, o := range all {
		listed[o.workload.ref] = true
	}
	maps.DeleteFunc(u, func(ref catalog.WorkloadRef, _ problem) bool {
		return ref.Kind == kind && (namespace == "" || ref.Namespace == namespace) && !listed[ref]
	})
}

// noteUnusable reports once that a workload is enabled but cannot be restarted. The caller holds the lock of [optIns].
func (c *Controller) noteUnusable(w *workloadObservation) {
	if !c.unusable.take(w, c.optIns.enables) {
		return
	}
	c.log.Warn("cannot restart a workload that is enabled", "workload", w.ref, "problem", w.problem.text)
	if c.leading.Load() {
		c.eventUnusable(w.ref, *w.problem)
	}
}

func (c *Controller) eventUnusable(ref catalog.WorkloadRef, p problem) {
	object := objectReference(&catalog.Workload{Ref: ref, UID: p.uid})
	c.recorder.Event(object, corev1.EventTypeWarning, reasonNotSupported, "config changes do not restart this workload: "+p.text)
}

// reportUnusable reports, as at the start of a leader, the workloads that cannot be restarted and were noticed before.
// There may be very many, so only some of each namespace get an Event; the log has named all.
func (c *Controller) reportUnusable() {
	c.optIns.mu.Lock()
	defer c.optIns.mu.Unlock()
	reported := make(map[string]int)
	for ref, p := range c.unusable {
		if reported[ref.Namespace]++; reported[ref.Namespace] <= maxReportsOf {
			c.eventUnusable(ref, p)
		}
	}
}

// enables reports whether a workload is enabled, whether or not it can be restarted. The caller holds the lock.
func (o *optIns) enables(w *workloadObservation) bool {
	return o.rules.Counts(w.choice, w.ref.Namespace, o.namespaces[w.ref.Namespace])
}

// kindsAsked describes the kinds that the controller was asked for.
func (c *Controller) kindsAsked() []status.Kind {
	if len(c.custom) == 0 {
		return nil
	}
	c.optIns.mu.Lock()
	defer c.optIns.mu.Unlock()
	kinds := make([]status.Kind, 0, len(c.custom))
	for _, row := range c.custom {
		kind := status.Kind{Workload: row.custom.String()}
		kind.Missing = slices.ContainsFunc(c.watches, func(w *resourceWatch) bool { return w.workload == row && w.Status().Missing })
		for ref := range c.unusable {
			if ref.Kind == row.workload {
				kind.Unusable++
			}
		}
		kinds = append(kinds, kind)
	}
	return kinds
}
