package catalog

import (
	"time"

	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/workload"
)

// ObserveWritten takes in a workload from the API server's answer to a write that was decided on
// a view of the given moment. The catalog does not change if the watch has already shown that
// the workload is gone or was written again. It reports whether the answer requires another
// decision, because an admission policy has reverted the restart.
func (c *Catalog) ObserveWritten(workload workload.Workload, decided names.Sequence) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	previous := c.workload(workload.Ref)
	isPresent := c.refresh(workload)
	if isPresent || !workload.Record.Written.IsZero() {
		c.claim(workload.Ref, workload.Record.Written, decided)
	}
	return isPresent && showsRevert(previous, c.workload(workload.Ref))
}

// ObserveCarriedOut takes in that a write whose answer was lost succeeded after all. The write
// was of a record with the given time, and was decided on a view of the given moment.
func (c *Catalog) ObserveCarriedOut(ref names.WorkloadRef, written time.Time, decided names.Sequence) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.claim(ref, written, decided)
}

// claim marks the present record of a workload as our own if it was written at that time.
func (s *store) claim(ref names.WorkloadRef, written time.Time, decided names.Sequence) {
	known := s.workload(ref)
	if known == nil || !known.Record.Written.Equal(written) {
		return
	}
	own := *known
	own.RecordSeen, own.OwnRecord = decided, true
	if !own.Record.Marked {
		own.Record.Contradicted, own.Record.Unseen = time.Time{}, false
	}
	s.keepWorkload(&own)
}

// ObserveKept takes in that, on the given view of the catalog, the workload's pods were found to
// have the recorded content.
func (c *Catalog) ObserveKept(view View) {
	c.amend(view, func(w *workload.Workload) { w.PodsSeen = view.Sequence })
}

// ObserveContradicted takes in that, on the given view of the catalog, the content was found to differ from the workload's record
// since the given time, although no watch showed how all of that began. It changes nothing if that is known.
func (c *Catalog) ObserveContradicted(view View, since time.Time) {
	c.amend(view, func(w *workload.Workload) {
		if w.ContradictedSince().IsZero() {
			w.Record.Contradicted, w.Record.Unseen, w.PodsSeen = since, true, 0
		}
	})
}

// ObserveMarked takes in a workload from the API server's answer to a write that marked its
// record as contradicted.
func (c *Catalog) ObserveMarked(workload workload.Workload) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.refresh(workload) {
		c.workload(workload.Ref).Record.MarkOwn = true
	}
}

// amend changes what the catalog knows about a workload if the workload is still as it was on a
// view.
func (c *Catalog) amend(view View, change func(*workload.Workload)) {
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

// ObserveRead takes in a workload from the API server's answer to a read. Like
// [Catalog.ObserveWritten], it does nothing if the watch is ahead.
func (c *Catalog) ObserveRead(workload workload.Workload) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.refresh(workload)
}

// refresh takes in a workload that did not come from the watch, unless the watch is ahead, and
// reports whether it did so.
func (s *store) refresh(w workload.Workload) bool {
	known := s.workload(w.Ref)
	if known == nil || known.UID != w.UID || workload.IsLaterVersion(known.ResourceVersion, w.ResourceVersion) {
		return false
	}
	s.moment++
	s.putWorkload(&w, s.moment, s.moment)
	return true
}

// ObserveReplaced takes in that no pod is left from before the restart by eviction of the given workload, as a
// read of its pods has shown.
func (c *Catalog) ObserveReplaced(w *workload.Workload) {
	c.mu.Lock()
	defer c.mu.Unlock()
	known := c.workload(w.Ref)
	if known == nil || known.UID != w.UID || known.Record.Evict != w.Record.Evict {
		return
	}
	replaced := *known
	replaced.Record.Evict = 0
	c.keepWorkload(&replaced)
}

// Redate takes in that a workload had opted in by another time than it seemed; see [workload.Workload.OptedIn].
func (c *Catalog) Redate(ref names.WorkloadRef, optedIn time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	known := c.workload(ref)
	if known == nil {
		return
	}
	redated := *known
	redated.OptedIn = optedIn
	c.keepWorkload(&redated)
}
