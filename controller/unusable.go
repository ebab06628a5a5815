package controller

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/workload"
	"kubernetes-deployment-restart-controller/internal/status"
)

// noteUnusable reports once that a workload is enabled but cannot be restarted, and that this is over. The caller holds the lock of [optIns].
func (c *Controller) noteUnusable(w *workloadObservation) {
	known, _ := c.unusable.find(w.ref.Namespace, w.ref)
	if w.problem == nil || !c.optIns.enables(w) {
		if known.text != "" && w.problem == nil && c.leading.Load() && c.optIns.enables(w) {
			c.log.Info("can restart a workload again", "workload", w.ref)
			c.recorder.Event(referenceTo(w.ref, known.uid), corev1.EventTypeNormal, reasonNotSupported, "config changes restart this workload again: "+
				"what was not supported is gone")
		}
		c.unusable.drop(w.ref.Namespace, w.ref)
		return
	}
	if known.uid == w.problem.uid && known.text == w.problem.text {
		return
	}
	noted := *w.problem
	if noted.began = c.beginning(time.Now()); !c.unusable.put(w.ref.Namespace, w.ref, noted) {
		return
	}
	c.log.Warn("cannot restart a workload that is enabled", "workload", w.ref, "problem", w.problem.text)
	if c.leading.Load() {
		c.eventUnusable(w.ref, *w.problem)
	}
}

// keepUnusable forgets the workloads of a kind in a namespace, or in all namespaces, that are not among those that were listed.
func (c *Controller) keepUnusable(kind names.WorkloadKind, namespace string, all []*observation) {
	if c.unusable.size() == 0 {
		return
	}
	listed := make(map[names.WorkloadRef]bool, len(all))
	for _, o := range all {
		listed[o.workload.ref] = true
	}
	c.unusable.dropAll(namespace, func(ref names.WorkloadRef) bool { return ref.Kind == kind && !listed[ref] })
}

func (c *Controller) eventUnusable(ref names.WorkloadRef, p problem) {
	c.recorder.Event(referenceTo(ref, p.uid), corev1.EventTypeWarning, reasonNotSupported, status.NotRestarted+p.text)
}

func referenceTo(ref names.WorkloadRef, uid types.UID) runtime.Object {
	return objectReference(&workload.Workload{Ref: ref, UID: uid})
}

// reportUnusable reports, as at the start of a leader, the workloads that cannot be restarted and were noticed before.
func (c *Controller) reportUnusable() {
	for ref, p := range c.unusable.all() {
		c.eventUnusable(ref, p)
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
	unusable := make(map[names.WorkloadKind]int)
	c.unusable.each("", func(ref names.WorkloadRef, _ problem) { unusable[ref.Kind]++ })
	kinds := make([]status.Kind, 0, len(c.custom))
	for _, row := range c.custom {
		kind := status.Kind{Workload: row.custom.String()}
		kind.Missing = slices.ContainsFunc(c.watches, func(w *resourceWatch) bool { return w.workload == row && w.Status().Missing })
		kind.Unusable = unusable[row.workload]
		kinds = append(kinds, kind)
	}
	return kinds
}
