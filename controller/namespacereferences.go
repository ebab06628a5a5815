package controller

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/workload"
)

// maxReferencesOfNamespace is how often the workloads of a namespace may refer to configs together, those apart that do
// so [littleSize] times at most. Anyone may create many workloads, each with as many references as one may have. Above
// the limit, those with the most references are left alone.
const maxReferencesOfNamespace = 100_000

func compareNames(a, b names.WorkloadRef) int {
	return cmp.Or(strings.Compare(string(a.Kind), string(b.Kind)), strings.Compare(a.Name, b.Name))
}

// limit leaves out what is known of a workload that is left alone because its namespace has too many references.
func (o *optIns) limit(w *workloadObservation) {
	if w.workload != nil && w.workload.Excess == workload.NoExcess && o.leaves(w.ref) {
		w.workload = w.workload.LeftAlone()
	}
}

// leaves reports whether a workload is left alone because its namespace has too many references.
func (o *optIns) leaves(ref names.WorkloadRef) bool { return o.shares.leaves(ref.Namespace, ref) }

// resize notes how much a workload takes, and returns which ones are left alone because of that, or no longer.
func (o *optIns) resize(ref names.WorkloadRef, size int) (leave, readmit []names.WorkloadRef) {
	return o.shares.put(ref.Namespace, ref, size)
}

// listSizes notes how much the workloads of a list take, all of a kind in a namespace or in all of them.
func (o *optIns) listSizes(kind names.WorkloadKind, namespace string, all []*observation) (leave, readmit []names.WorkloadRef) {
	sizes := make(map[string]map[names.WorkloadRef]int)
	note := func(ref names.WorkloadRef, size int) {
		if sizes[ref.Namespace] == nil {
			sizes[ref.Namespace] = make(map[names.WorkloadRef]int)
		}
		sizes[ref.Namespace][ref] = size
	}
	for _, ref := range o.shares.those(namespace) {
		if ref.Kind == kind {
			note(ref, 0) // unless the list has it
		}
	}
	for _, listed := range all {
		note(listed.workload.ref, listed.workload.size)
	}
	for namespace, those := range sizes {
		left, readmitted := o.shares.putAll(namespace, those)
		leave, readmit = append(leave, left...), append(readmit, readmitted...)
	}
	return leave, readmit
}

// buffer notes that a workload is kept until its list is complete. Only then is it clear which workloads of a namespace
// are left alone, so of those that do not fit by then little is kept: they are read again if they do fit.
func (w *resourceWatch) buffer(reduced *workloadObservation) {
	if reduced.size <= littleSize {
		return
	}
	if w.buffered[reduced.ref.Namespace] += reduced.size; w.buffered[reduced.ref.Namespace] > maxReferencesOfNamespace {
		reduced.workload = reduced.workload.LeftAlone()
	}
}

// sharesChanged leaves workloads alone whose namespace has too many references now, and decides about those again that are
// left alone no longer. The caller holds the lock of [optIns].
func (in *intake) sharesChanged(leave, readmit []names.WorkloadRef) {
	for _, ref := range leave {
		if w := in.optIns.candidate(ref); w != nil {
			in.optIns.limit(w)
		}
		if in.optIns.leaves(ref) {
			if left := in.catalog.LeaveAlone(ref); left != nil {
				in.workloadChanged(left)
				in.unjudged.noteWorkload(ref)
			}
		}
	}
	for _, ref := range readmit {
		if w := in.catalog.Workload(ref); w != nil && w.Excess == workload.NamespaceFull {
			in.workloadChanged(w)
		}
	}
}

// readmit reads a workload again that was left alone because its namespace had too many references, once it fits. If it
// is gone, the watch is about to show that.
func (r *restarter) readmit(ctx context.Context, ref names.WorkloadRef) error {
	if w := r.catalog.Workload(ref); w == nil || w.Excess != workload.NamespaceFull || r.optIns.leaves(ref) {
		return nil
	}
	found, err := r.workloads.get(ctx, ref)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("get %s: %w", ref, err)
	}
	r.observeRead(found)
	return nil
}
