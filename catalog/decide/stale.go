package decide

import (
	"iter"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"kubernetes-deployment-restart-controller/catalog"
	"kubernetes-deployment-restart-controller/catalog/annotation"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/template"
	"kubernetes-deployment-restart-controller/catalog/workload"
)

// candidate is a way of reading a config whose readers may have missed an edit.
type candidate struct {
	// readers are references that see the same part of one config.
	readers []template.Reference
	// edits are the edits that the readers may have missed.
	edits []annotation.Edit
	// otherUntil is until when pods read content that a record shows to be other; zero if none does.
	otherUntil time.Time
	// templateSeen is the moment at which the watch showed the template of the pods.
	templateSeen names.Sequence
}

// before returns the time in which pods have missed an edit if they read the config then. When the clocks cannot decide, the
// edit counts as missed unless the watch showed it before the template that the pod is made from. A config that was created
// along with its pods, while no controller watched, was there first.
func (c *candidate) before(edit *annotation.Edit) names.Interval {
	return names.Before(edit.At, edit.Seen >= c.templateSeen && !(edit.IsCreation() && edit.Seen == 0))
}

// missed reports whether a pod that first read the config at the given time is stale, and returns the edits that explain why:
// those that it missed and, if a record shows that it is stale, all that a watch showed.
func (c *candidate) missed(first time.Time) (edits []annotation.Edit, isStale bool) {
	if first.IsZero() {
		return nil, false
	}
	isOther := names.Interval{Until: c.otherUntil}.Has(first)
	for i := range c.edits {
		edit := &c.edits[i]
		if !(isOther && edit.Seen > 0) && !c.before(edit).Has(first) {
			continue
		}
		if edits == nil {
			edits = make([]annotation.Edit, 0, len(c.edits)-i)
		}
		edits = append(edits, *edit)
	}
	return edits, isOther || len(edits) > 0
}

// unknownToRecord selects the configs of which the workload's record does not say what its pods have read.
func unknownToRecord(w *workload.Workload) func(standing) bool {
	mayHaveOther := w.Record.Reverted != nil || hasRested(w)
	return func(as standing) bool { return as == unrecorded || mayHaveOther && as != asRecorded }
}

// candidates returns the references to the configs whose content changed since the workload
// opted in, or since a record of the original, sorted by config. Keys that did not count when the record was
// made always matter.
func candidates(view *catalog.View, seenConfigs []seenConfig, matters func(standing) bool) []candidate {
	var found []candidate
	for i := range seenConfigs {
		if s := &seenConfigs[i]; s.config != nil && (matters(s.standing) || s.narrowing != nil) {
			found = append(found, candidatesOf(view, s)...)
		}
	}
	return found
}

// candidatesOf finds the edits that concern the references to one config.
func candidatesOf(view *catalog.View, s *seenConfig) (found []candidate) {
	comparison, config, counts := compareOriginal(view, s), s.config, s.counting(view.Workload)
	if comparison == sameData {
		config = config.Binary()
	}
	otherUntil := otherUntil(view, s, comparison)
	for readers := range names.Runs(s.references, seeTheSame) {
		keys := readers[0].Keys
		if comparison == sameData && keys.DataOnly {
			continue
		}
		c := candidate{readers: readers, otherUntil: otherUntil, templateSeen: view.Workload.PodTemplateSeen}
		// The creation counts only if containers start without the config and see a part of it now, or if other content was
		// recorded, since the config was then created again.
		isCreated := !otherUntil.IsZero() || readers[0].Optional && config.Shows(keys)
		if creation := config.Creation(); isCreated && counts(creation) {
			c.edits = append(c.edits, creation)
		}
		for edit := range config.LastEdits(keys) {
			if config.IsVisible(edit, keys) && counts(edit) {
				c.edits = append(c.edits, edit)
			}
		}
		if len(c.edits) > 0 || !otherUntil.IsZero() {
			found = append(found, c)
		}
	}
	return found
}

// otherUntil returns [candidate.otherUntil].
func otherUntil(view *catalog.View, s *seenConfig, with comparison) (until time.Time) {
	switch {
	case with == different:
		return names.Always.Until
	case s.standing == otherThanRecorded:
		return names.Before(view.Workload.Record.Written, false).Until
	}
	return until
}

// seeTheSame reports whether two references to a config see the same part of it in the same
// way. It returns false for references to single keys, even to the same ones.
func seeTheSame(a, b *template.Reference) bool {
	if a.Channel != b.Channel || a.Optional != b.Optional {
		return false
	}
	_, isListA := a.Keys.Listed()
	_, isListB := b.Keys.Listed()
	return !isListA && !isListB && slices.Equal(a.Keys.Names, b.Keys.Names)
}

// The content of a config can change and return to the recorded content before the restart for the
// change happens: within the grace period, or while the restart is put off or its patch fails. The
// record is then correct again, but pods that started in between have read the other content. The
// controller may know two things about such an interval: what the watch showed (see [content.Version]), and
// since when a process that could not restart the pods knew about it (see
// [record.Contradiction.Contradicted]).

// span is an interval in which readers of a config could read content other than the recorded one.
type span struct {
	readers []template.Reference
	// key is the key that had other content; see [annotation.Edit.Key].
	key   string
	from  names.Sighting
	until names.Sighting // zero if it is not known when it ended
}

// spans returns the intervals since the record in which a config had other content than the recorded one, although it has the
// recorded content now. There may be very many.
func (s *seenConfig) spans(w *workload.Workload) iter.Seq[span] {
	return func(yield func(span) bool) {
		if s.standing != asRecorded || len(s.config.Edits) == 0 {
			return
		}
		for readers := range names.Runs(s.references, seeTheSame) {
			for v := range s.config.Versions(&readers[0]) {
				from, isLater := since(&v, w)
				isRecorded := s.narrowing == nil || s.narrowing.isCovered(*v.End)
				if isLater && isRecorded && v.IsOther(s.config, &readers[0]) && !yield(span{readers, v.End.Key, from, v.Until}) {
					return
				}
			}
		}
	}
}

// markedSpan returns the interval that began when the record was known to be contradicted, whichever config differed. It ended
// when the watch showed the last edit; if the watch has shown no edit since, the end is unknown. There is no such interval if
// the watch showed a known one that covers its beginning.
func markedSpan(v *catalog.View, seenConfigs []seenConfig) (marked span, isMarked bool) {
	w := v.Workload
	since := w.ContradictedSince()
	if since.IsZero() || w.Record.MarkSeen || !hasAny(seenConfigs, asRecorded) {
		return marked, false
	}
	for i := range seenConfigs {
		for known := range seenConfigs[i].spans(w) {
			if !known.from.At.After(since.Add(names.ClockTolerance)) && known.until.At.After(since) {
				return marked, false
			}
		}
	}
	return span{from: names.Sighting{At: since}, until: lastSeen(v, seenConfigs, since)}, true
}

// lastSeen returns when the watch showed the last edit or creation that concerns the workload and is
// not older than the given time. It is zero if there is none. What the watch showed before the
// catalog knew all configs does not count: another config may have changed after that.
func lastSeen(v *catalog.View, seenConfigs []seenConfig, since time.Time) names.Sighting {
	last := names.Sighting{At: since}
	for i := range seenConfigs {
		for edit := range seenConfigs[i].edits() {
			if edit.Seen > v.Complete && !edit.At.Before(last.At) {
				last = names.Sighting{At: edit.At, Seen: edit.Seen}
			}
		}
	}
	if last.Seen == 0 {
		return names.Sighting{}
	}
	return last
}

// reads returns when pods read their configs that are stale, or so close to it that the clocks cannot decide. A close read does
// not count if the watch showed the pods' template after the end of the interval.
func (s *span) reads(templateSeen names.Sequence) names.Interval {
	in := names.Interval{From: s.from.At, Until: s.until.At}
	if s.until.Seen == 0 || s.until.Seen >= templateSeen {
		in = names.Before(in.Until, true).After(in.From, true)
	}
	if s.until.At.IsZero() {
		in.Until = names.Always.Until
	}
	return in
}

// addStale adds the configs of which pods read other content than the present one, sorted. It reports whether such a config differs
// from a record of the original, and whether one has returned to what is recorded.
func (d *Decision) addStale(view *catalog.View, seenConfigs []seenConfig, reads *reads) (differs, returned bool) {
	returned = isReadMarked(view, seenConfigs, reads)
	for i := range seenConfigs {
		for _, candidate := range candidates(view, seenConfigs[i:i+1], unknownToRecord(view.Workload)) {
			if edits, isStale := candidate.missed(reads.of(candidate.readers).first); isStale {
				d.addCause(seenConfigs[i].ref, edits)
				differs = differs || candidate.otherUntil.Equal(names.Always.Until)
			}
		}
		returned = d.addReturned(view.Workload, &seenConfigs[i], reads) || returned
	}
	return differs, returned
}

// addReturned adds a config whose content has returned to the recorded one if pods read it in between. It reports whether there are
// such pods.
func (d *Decision) addReturned(w *workload.Workload, s *seenConfig, reads *reads) (found bool) {
	var of *times
	var last *template.Reference
	for span := range s.spans(w) {
		if by := &span.readers[0]; by != last {
			of, last = reads.allOf(span.readers), by
		}
		if of.hasAny(span.reads(w.PodTemplateSeen)) {
			found = true
			d.addCause(s.ref, []annotation.Edit{s.config.LastOf(span.key)})
		}
	}
	return found
}

// isReadMarked reports whether pods read a config in the time of a mark.
func isReadMarked(v *catalog.View, seenConfigs []seenConfig, reads *reads) bool {
	marked, isMarked := markedSpan(v, seenConfigs)
	return isMarked && slices.ContainsFunc(seenConfigs, func(s seenConfig) bool {
		return s.standing == asRecorded && reads.allOf(s.references).hasAny(marked.reads(v.Workload.PodTemplateSeen))
	})
}

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
