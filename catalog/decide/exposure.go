package decide

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"kubernetes-deployment-restart-controller/catalog"
	"kubernetes-deployment-restart-controller/catalog/annotation"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/workload"
)

// Exposure finds out whether pods of a workload have read content already that its restart has yet to
// bring: while a restart waits, pods that start for other reasons read the present content. It takes one
// pod after the other and keeps none. It must not be used by several goroutines at once.
type Exposure struct {
	workload   *workload.Workload
	containers []string
	candidates []candidate
	reads      *reads
	crashed    *reads // by containers that do not run
}

// NewExposure returns the exposure of a workload to the content of its configs that differs from its
// record or, without a trusted record, to all content.
func NewExposure(view catalog.View) *Exposure {
	w, seenConfigs := view.Workload, seenConfigs(&view)
	differs := func(as standing) bool { return as != asRecorded }
	return &Exposure{
		workload: w, containers: w.Readers(), candidates: candidates(&view, seenConfigs, differs), reads: newReads(nil, false), crashed: newReads(nil, false),
	}
}

// Add takes in a pod, of whatever template. It does not keep the pod.
func (e *Exposure) Add(pod *corev1.Pod) {
	p, isLive := NewPod(pod, e.containers)
	if !isLive {
		return
	}
	e.reads.add(&p)
	for _, statuses := range [][]corev1.ContainerStatus{pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses} {
		for i := range statuses {
			e.addCrash(&statuses[i])
		}
	}
}

// addCrash takes in the last start of a container that does not run, because it fails again and again.
func (e *Exposure) addCrash(status *corev1.ContainerStatus) {
	last := status.LastTerminationState.Terminated
	if status.State.Terminated != nil {
		last = status.State.Terminated
	}
	if status.State.Running != nil || last == nil {
		return
	}
	if name, found := findContainer(e.containers, status.Name); found {
		e.crashed.start(name, last.StartedAt.Time)
	}
}

// Found reports whether one of the pods has read an edit that the others, or those that the record was
// made for, have missed. The clocks decide as they do about a workload without a record; if in doubt, no
// pod has read the edit.
func (e *Exposure) Found() bool {
	for i := range e.candidates {
		c := &e.candidates[i]
		reads := e.reads.of(c.readers)
		last := names.Latest(reads.last, e.crashed.of(c.readers).last)
		if slices.ContainsFunc(c.edits, func(edit annotation.Edit) bool {
			before := c.before(&edit)
			isNew := e.workload.Record.Trusted && lacks(e.workload, edit) || !reads.first.IsZero() && before.Has(reads.first)
			return isNew && !before.Has(last) // nor if nobody has read anything
		}) {
			return true
		}
	}
	return false
}
