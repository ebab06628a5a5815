package decide

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"kubernetes-deployment-restart-controller/catalog"
	"kubernetes-deployment-restart-controller/catalog/annotation"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/template"
	"kubernetes-deployment-restart-controller/catalog/workload"
)

// Exposure finds out whether pods of a workload have read content already that its restart has yet to
// bring: while a restart waits, pods that start for other reasons read the present content. It takes one
// pod after the other and keeps none. It must not be used by several goroutines at once.
type Exposure struct {
	workload   *workload.Workload
	containers []string
	candidates []candidate
	first      reads // by each container
	last       reads
}

// NewExposure returns the exposure of a workload to the content of its configs that differs from its
// record or, without a trusted record, to all content.
func NewExposure(view catalog.View) *Exposure {
	w, seenConfigs, differs := view.Workload, seenConfigs(&view), anyConfig
	if w.Record.Trusted {
		differs = recordedOtherwise(w, seenConfigs)
	}
	return &Exposure{
		workload: w, containers: w.Readers(), candidates: candidates(&view, seenConfigs, differs),
		first: firstReads(nil), last: firstReads(nil),
	}
}

// Add takes in a pod, of whatever template. It does not keep the pod.
func (e *Exposure) Add(pod *corev1.Pod) {
	p, isLive := NewPod(pod, e.containers)
	if !isLive {
		return
	}
	e.first.mounted, e.last.mounted = firstOf(e.first.mounted, p.Mounted), names.Latest(e.last.mounted, p.Mounted)
	for i, start := range p.Started {
		e.first.note(start, firstOf)
		if start.Container != anyContainer || i == 0 { // only the first start is certainly not too late
			e.last.note(start, names.Latest)
		}
	}
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
		e.last.note(Start{name, last.StartedAt.Time}, names.Latest)
	}
}

// Found reports whether one of the pods has read an edit that the others, or those that the record was
// made for, have missed. The clocks decide as they do about a workload without a record; if in doubt, no
// pod has read the edit.
func (e *Exposure) Found() bool {
	for i := range e.candidates {
		c := &e.candidates[i]
		first, hasRead := e.first.of(c.readers)
		last := e.last.last(c.readers)
		if last.IsZero() {
			continue
		}
		if slices.ContainsFunc(c.edits, func(edit annotation.Edit) bool {
			isNew := e.workload.Record.Trusted && lacks(e.workload, edit) || hasRead && c.isMissed(edit, first)
			return isNew && !c.isMissed(edit, last)
		}) {
			return true
		}
	}
	return false
}

// last returns when a reader last read its config, zero if none has.
func (r reads) last(readers []template.Reference) (read time.Time) {
	for i := range readers {
		read = names.Latest(read, r.by(&readers[i], names.Latest))
	}
	return read
}
