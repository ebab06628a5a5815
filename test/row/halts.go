package row

import (
	"slices"
	"time"
)

// Halt keeps a content with which workloads failed from the others. A failure halts all contents that broken pods had read,
// because any of them may be at fault. The workload that failed shows which: a halt ends as soon as all run what is halted, with
// a template that is known, since one that sleeps runs with anything. The halt of a content that is replaced is remembered.
type Halt struct {
	Content Content
	// IsResumed means that a person has let it spread.
	IsResumed bool
	failures  []failure
}

// failure is a workload that failed with a content, and what would prove it wrong.
type failure struct {
	workload Workload
	// at is when, the same for all contents of one failure.
	at time.Time
	measure
}

// failureOf returns how a workload failed with the content; nil if it did not.
func (h *Halt) failureOf(ref Workload) *failure {
	for i := range h.failures {
		if h.failures[i].workload == ref {
			return &h.failures[i]
		}
	}
	return nil
}

func (t *Table) haltOf(c Content) *Halt {
	for _, h := range t.halts {
		if h.Content == c {
			return h
		}
	}
	return nil
}

// halt halts what a workload failed with.
func (t *Table) halt(ref Workload, r *Row) {
	for _, e := range r.contents {
		if !e.isSuspect || !e.isGradual {
			continue
		}
		h := t.haltOf(e.Content)
		if h == nil {
			h = &Halt{Content: e.Content}
			t.halts = append(t.halts, h)
		}
		h.failures = slices.DeleteFunc(h.failures, func(f failure) bool { return f.workload == ref })
		h.failures = append(h.failures, failure{ref, r.failed, r.measure})
	}
}

// isHeld reports whether a halt holds a restart.
func (t *Table) isHeld(ref Workload, changes []Change, pods *Pods) bool {
	return slices.ContainsFunc(changes, func(c Change) bool {
		h := t.haltOf(c.Content)
		return h != nil && c.IsGradual && t.isHeldBy(h, ref, changes, pods)
	})
}

// isHeldBy reports whether a halt holds a restart. It does not hold a workload that failed with the content from leaving what
// else may be at fault, or it would wait for itself: if its broken pods have not read all that the restart would bring, or if
// none is broken any more, but another content of the same failure is replaced. It does if another workload failed with this
// content alone.
func (t *Table) isHeldBy(h *Halt, ref Workload, changes []Change, pods *Pods) bool {
	f := h.failureOf(ref)
	if h.IsResumed || f == nil {
		return !h.IsResumed
	}
	if slices.ContainsFunc(h.failures, func(o failure) bool { return o.workload != ref && t.isSure(o) }) {
		return true
	}
	hasAll := func(p *Pod) bool {
		return !slices.ContainsFunc(changes, func(c Change) bool { return !p.reads(c.Content) })
	}
	if pods.any((*Pod).isBroken) {
		return pods.any(func(p *Pod) bool { return p.isBroken() && hasAll(p) })
	}
	return !slices.ContainsFunc(t.halts, func(o *Halt) bool {
		other := o.failureOf(ref)
		return other != nil && other.at.Equal(f.at) && !t.isCurrent(o.Content)
	})
}

// isSure reports whether only one content is halted for a failure, so that it is at fault.
func (t *Table) isSure(f failure) bool {
	count := 0
	for _, h := range t.halts {
		if o := h.failureOf(f.workload); o != nil && o.at.Equal(f.at) {
			count++
		}
	}
	return count == 1
}

// endHalts ends the halts of contents that a workload runs which failed with them, if no other one has.
func (t *Table) endHalts(ref Workload, pods *Pods, soaked time.Time) {
	t.halts = slices.DeleteFunc(t.halts, func(h *Halt) bool {
		f := h.failureOf(ref)
		if f == nil || h.IsResumed || f.crash(pods) || !f.isProven(h.Content, pods, soaked, f.knows) {
			return false
		}
		h.failures = slices.DeleteFunc(h.failures, func(f failure) bool { return f.workload == ref })
		return len(h.failures) == 0
	})
}
