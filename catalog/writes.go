package catalog

import "time"

// ObserveWritten takes in a workload from the API server's answer to a write that was decided on
// a view of the given moment. The catalog does not change if the watch has already shown that
// the workload is gone or was written again. It reports whether the answer requires another
// decision, because an admission policy has reverted the restart.
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

// ObserveCarriedOut takes in that a write whose answer was lost succeeded after all. The write
// was of a record with the given time, and was decided on a view of the given moment.
func (c *Catalog) ObserveCarriedOut(ref WorkloadRef, written time.Time, decided Sequence) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.claim(ref, written, decided)
}

// claim marks the present record of a workload as our own if it was written at that time.
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

// ObserveKept takes in that, on the given view of the catalog, the workload's pods were found to
// have the recorded content.
func (c *Catalog) ObserveKept(view View) {
	c.amend(view, func(w *Workload) { w.PodsSeen = view.Sequence })
}

// ObserveContradicted takes in that, on the given view of the catalog and at the given time, the
// content was found to differ from the workload's record, although no watch showed how that
// began.
func (c *Catalog) ObserveContradicted(view View, since time.Time) {
	c.amend(view, func(w *Workload) {
		if w.contradictedSince().IsZero() {
			w.Applied.Contradicted = since
		}
		w.PodsSeen = 0
	})
}

// ObserveMarked takes in a workload from the API server's answer to a write that marked its
// record as contradicted, and whether the watch showed how the contradiction began.
func (c *Catalog) ObserveMarked(workload Workload, seen bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.refresh(workload) {
		c.workload(workload.Ref).Applied.MarkSeen = seen
	}
}

// amend changes what the catalog knows about a workload if the workload is still as it was on a
// view.
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

// succeed takes over what the catalog knew about the previous state of the workload, at the
// given moment.
func (w *Workload) succeed(previous *Workload, moment Sequence) {
	w.EnabledAfter, w.EnabledSeen, w.Woke = previous.EnabledAfter, previous.EnabledSeen, previous.Woke
	if previous.Idle && !w.Idle {
		w.Woke = moment
	}
	if !w.Applied.Trusted {
		w.Applied.Reverted = revertSince(previous, w)
		w.RecordUndone = previous.Template == w.Template && (previous.Applied.Trusted || previous.RecordUndone)
		w.keepBudget(previous)
		w.keepSince(previous)
		w.keepEvict(previous)
	}
	if previous.PodTemplate == w.PodTemplate {
		w.PodTemplateSeen = previous.PodTemplateSeen
		// A write of annotations makes a new generation of a Deployment, and the status is still about its pods.
		w.Rollout.Observed = w.Rollout.Observed || previous.Rollout.Observed
	}
	if previous.Applied.equal(w.Applied) || previous.Applied.isSame(&w.Applied) {
		w.RecordSeen = previous.RecordSeen
		w.keepReplaced(previous)
		w.keepKnown(previous)
	}
}

// keepBudget keeps the used restarts if another client undid the record, with or without a restart.
// Otherwise the controller would fight at full speed against anyone who keeps replacing the
// whole workload.
func (w *Workload) keepBudget(previous *Workload) {
	if (w.Applied.Reverted != nil || w.RecordUndone) && w.Applied.Budget == (Budget{}) {
		w.Applied.Budget = previous.Applied.Budget
	}
}

// keepKnown keeps what was known about the previous state, which had the same record.
func (w *Workload) keepKnown(previous *Workload) {
	if !previous.Applied.Written.Equal(w.Applied.Written) {
		return
	}
	w.OwnRecord, w.Applied.MarkSeen = previous.OwnRecord, previous.Applied.MarkSeen
	if w.PodTemplate == previous.PodTemplate {
		w.PodsSeen = previous.PodsSeen
	}
	if !w.Applied.Marked {
		w.Applied.Contradicted = previous.Applied.Contradicted
	}
}

// ObserveRead takes in a workload from the API server's answer to a read. Like
// [Catalog.ObserveWritten], it does nothing if the watch is ahead.
func (c *Catalog) ObserveRead(workload Workload) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.refresh(workload)
}

// refresh takes in a workload that did not come from the watch, unless the watch is ahead, and
// reports whether it did so.
func (c *Catalog) refresh(workload Workload) bool {
	known := c.workload(workload.Ref)
	if known == nil || known.UID != workload.UID || IsLaterVersion(known.ResourceVersion, workload.ResourceVersion) {
		return false
	}
	c.moment++
	c.putWorkload(&workload, c.moment, c.moment)
	return true
}
