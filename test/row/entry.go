package row

import (
	"slices"
	"time"
)

// Entry is what the next leader must know of an exposure. It is written before the restart if a content is not proven yet, and
// again when a crash is seen. The record of a workload has the same of each restart, as it was when it was written.
type Entry struct {
	Contents []EntryContent
	// Since is when the exposure began, and Written when the entry was.
	Since, Written   time.Time
	HasBroken        bool
	Base, Missing    int
	Whole, Restarted Template
}

// EntryContent is a content of an [Entry].
type EntryContent struct {
	Content
	// IsOpened means that the content takes a slot, IsGradual that a failure halts it, and IsSuspect that it may be at fault.
	IsOpened, IsGradual, IsSuspect bool
}

// NeedsEntry reports whether a workload is exposed to a content that nobody proves.
func (t *Table) NeedsEntry(ref Workload) bool {
	r := t.rows[ref]
	return r != nil && r.isExposed() && slices.ContainsFunc(r.contents, func(e exposure) bool {
		_, proofs := t.tally(ref, e.Content)
		return e.isOpened && proofs == 0
	})
}

// EntryOf returns the entry of a workload, which must be exposed.
func (t *Table) EntryOf(ref Workload, now time.Time) *Entry {
	r := t.rows[ref]
	entry := &Entry{Since: r.since, Written: now, HasBroken: r.hasBroken, Base: r.base, Missing: r.missing, Whole: r.whole, Restarted: r.restarted}
	for _, e := range r.contents {
		entry.Contents = append(entry.Contents, EntryContent{e.Content, e.isOpened, e.isGradual, e.isSuspect})
	}
	return entry
}

// Restore exposes a workload again that a former leader has exposed, with a new deadline. There may be two entries: its own
// and that of its record. The write is uncertain if the workload does not show it. An entry that is older than the longest
// exposure is over, unless it shows a crash. Restore must be called for all workloads before the first [Table.Ask].
func (t *Table) Restore(ref Workload, entry *Entry, isShown bool, now time.Time) {
	if now.Sub(entry.Since) >= t.policy.Longest && !entry.HasBroken {
		return
	}
	r := t.row(ref)
	if !r.isExposed() {
		r.contents, r.hasBroken, r.restored = nil, false, time.Time{}
	}
	if r.state = Rolling; !isShown {
		r.state = Uncertain
	}
	for _, c := range entry.Contents {
		r.add(exposure{c.Content, c.IsOpened, c.IsGradual, c.IsSuspect})
	}
	r.progressed, r.hasBroken = now, r.hasBroken || entry.HasBroken
	if !entry.Written.Before(r.restored) {
		r.restored, r.since = entry.Written, entry.Since
		r.measure = measure{entry.Base, entry.Missing, entry.Whole, entry.Restarted}
	}
}

// RestoreHalt takes in a halt of a former leader, and the workloads that failed with it. It must come before their entries.
func (t *Table) RestoreHalt(h *Halt) {
	t.halts = append(t.halts, h)
	for i := range h.failures {
		f := &h.failures[i]
		r := t.row(f.workload)
		switch {
		case f.at.After(r.failed):
			r.state, r.contents, r.failed = Failed, []exposure{{Content: h.Content}}, f.at
			r.measure = f.measure
		case f.at.Equal(r.failed):
			r.contents = append(r.contents, exposure{Content: h.Content})
		}
	}
}
