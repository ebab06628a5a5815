package catalog

import "time"

// ObserveWritten takes in a workload as the API server answered it to a write
// that was decided on a view of the given moment. The workload stays as it is if the watch has
// already shown that it is gone or was written again. It reports whether the answer calls
// for another decision: an admission policy has reverted the restart.
func (c *Catalog) ObserveWritten(workload Workload, decided Sequence) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	previous := c.workload(workload.Ref)
	isPresent := c.refresh(workload)
	if isPresent || !workload.Applied.Written.IsZero() {
		c.claim(workload.Ref, workload.Applied.Written, decided)
	}
	return isPresent && showsRevert(previous, c.workload(workload.Ref))
}

// ObserveCarriedOut takes in that a write was carried out after all whose answer was lost: one
// of a record of that time, which was decided on a view of the given moment.
func (c *Catalog) ObserveCarriedOut(ref WorkloadRef, written time.Time, decided Sequence) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.claim(ref, written, decided)
}

// claim takes the present record of a workload, if it was written at that time, for our own.
func (c *Catalog) claim(ref WorkloadRef, written time.Time, decided Sequence) {
	known := c.workload(ref)
	if known == nil || !known.Applied.Written.Equal(written) {
		return
	}
	own := *known
	own.RecordSeen, own.OwnRecord = decided, true
	if !own.Applied.Marked {
		own.Applied.Contradicted = time.Time{}
	}
	c.keepWorkload(&own)
}

// ObserveKept takes in that the pods of the workload were found to have what is recorded, as
// on a view of the catalog.
func (c *Catalog) ObserveKept(view View) {
	c.amend(view, func(w *Workload) { w.PodsSeen = view.Sequence })
}

// ObserveContradicted takes in that the content differs from the record of a workload, as it was
// found on a view of the catalog at the given time, although no watch showed how that began.
func (c *Catalog) ObserveContradicted(view View, since time.Time) {
	c.amend(view, func(w *Workload) {
		if w.contradictedSince().IsZero() {
			w.Applied.Contradicted = since
		}
		w.PodsSeen = 0
	})
}

// ObserveMarked takes in a workload as the API server answered it to a write that marked its
// record as contradicted, and whether the watch showed how that began.
func (c *Catalog) ObserveMarked(workload Workload, seen bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.refresh(workload) {
		c.workload(workload.Ref).MarkSeen = seen
	}
}

// amend changes what is known of a workload that is as it was on a view.
func (c *Catalog) amend(view View, change func(*Workload)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	known := c.workload(view.Workload.Ref)
	if known == nil || known.UID != view.Workload.UID || known.ResourceVersion != view.Workload.ResourceVersion {
		return
	}
	amended := *known
	change(&amended)
	c.keepWorkload(&amended)
}

// succeed takes over from the previous state what the catalog knew of it, at the given moment.
func (w *Workload) succeed(previous *Workload, moment Sequence) {
	w.EnabledAfter, w.EnabledSeen, w.Woke = previous.EnabledAfter, previous.EnabledSeen, previous.Woke
	if previous.Idle && !w.Idle {
		w.Woke = moment
	}
	if !w.Applied.Trusted {
		w.Applied.Reverted = revertSince(previous, w)
		w.RecordUndone = previous.Template == w.Template && (previous.Applied.Trusted || previous.RecordUndone)
		w.keepBudget(previous)
	}
	if previous.PodTemplate == w.PodTemplate {
		w.PodTemplateSeen = previous.PodTemplateSeen
	}
	if previous.Applied.equal(w.Applied) || previous.Applied.isSame(&w.Applied) {
		w.RecordSeen = previous.RecordSeen
		w.keepKnown(previous)
	}
}

// keepBudget keeps what was used of the restarts if somebody undid the record, with a restart or
// without: whoever replaces the whole workload would else be fought at full speed.
func (w *Workload) keepBudget(previous *Workload) {
	if (w.Applied.Reverted != nil || w.RecordUndone) && w.Applied.Budget == (Budget{}) {
		w.Applied.Budget = previous.Applied.Budget
	}
}

// keepKnown keeps what was known of the previous state, whose record was the same.
func (w *Workload) keepKnown(previous *Workload) {
	if !previous.Applied.Written.Equal(w.Applied.Written) {
		return
	}
	w.OwnRecord, w.MarkSeen = previous.OwnRecord, previous.MarkSeen
	if w.PodTemplate == previous.PodTemplate {
		w.PodsSeen = previous.PodsSeen
	}
	if !w.Applied.Marked {
		w.Applied.Contradicted = previous.Applied.Contradicted
	}
}

// ObserveRead takes in a workload as the API server answered it to a read. Like
// [Catalog.ObserveWritten] it does nothing if the watch is further.
func (c *Catalog) ObserveRead(workload Workload) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.refresh(workload)
}

// refresh takes in a workload that did not come from the watch, and reports whether the watch
// was not further.
func (c *Catalog) refresh(workload Workload) bool {
	known := c.workload(workload.Ref)
	if known == nil || known.UID != workload.UID || newer(known, &workload) {
		return false
	}
	c.moment++
	c.putWorkload(&workload, c.moment, c.moment)
	return true
}
