package row

import (
	"slices"
	"time"

	"kubernetes-deployment-restart-controller/catalog/names"
)

// Workload names a workload.
type Workload = names.WorkloadRef

// Table has the rows of all workloads. A workload that runs a content with all its pods, for the soak time, is a proof of it.
// Pods that start or crash read in passing what appears meanwhile: nobody let them, so that takes no slot.
//
// Invariant: whenever a restart begins, for each gradual content that it adds, the other exposures to it that our restarts
// opened are fewer than its proofs at that moment allow, which is one at least. Each exposure is closed by a proof, a judgement
// or its deadline. Every reader has its turn in the end, or an answer says what it waits for.
//
// The methods must not be called by several goroutines at once.
type Table struct {
	policy Policy
	rows   map[Workload]*Row
	// current is what each config holds, and since when.
	current map[names.ConfigRef]edit
	halts   []*Halt
}

type edit struct {
	content Content
	since   time.Time
}

// New returns a table without rows.
func New(policy Policy) *Table {
	return &Table{policy: policy, rows: make(map[Workload]*Row), current: make(map[names.ConfigRef]edit)}
}

func (t *Table) row(ref Workload) *Row {
	r := t.rows[ref]
	if r == nil {
		r = &Row{}
		t.rows[ref] = r
	}
	return r
}

// Edit takes in what a config holds.
func (t *Table) Edit(c Content, now time.Time) {
	if !t.isCurrent(c) {
		t.current[c.Config] = edit{c, now}
	}
}

func (t *Table) isCurrent(c Content) bool { return t.current[c.Config].content == c }

// Reason is what a restart waits for; empty if it may begin.
type Reason string

// The reasons, in the order in which [Table.Ask] gives them.
const (
	// Unanswered means that it is not known what became of the last write.
	Unanswered Reason = "unanswered"
	// Halted means that workloads failed with a content that the restart would bring.
	Halted Reason = "halt"
	// First means that a workload goes first, because an earlier content may have broken it.
	First Reason = "first"
	// SlowStart means that as many others are exposed to a content as its proofs allow, or are due earlier.
	SlowStart Reason = "slow-start"
)

// Ask decides whether a restart may begin that would bring changes to a workload. If it may, the workload is exposed to them,
// and the caller must write the restart and then call [Table.Accepted], [Table.Refused] or [Table.Lost]. A workload of which
// no pod runs has nothing to lose, and is not exposed.
func (t *Table) Ask(ref Workload, changes []Change, pods *Pods, now time.Time) Reason {
	r := t.row(ref)
	reason := t.reason(ref, r, changes, pods, now)
	r.due, r.waitsFor = slices.Clone(changes), reason
	switch {
	case reason != "":
		return reason
	case t.hasNothingToLose(r, pods, now):
		r.due = nil
		return ""
	}
	r.begin(pods, &t.policy, now)
	t.keepFew(r)
	return ""
}

func (t *Table) hasNothingToLose(r *Row, pods *Pods, now time.Time) bool {
	return !r.isExposed() && r.failed.IsZero() && pods.expected(now.Add(-t.policy.Deadline)) == 0
}

// keepFew forgets the oldest contents that are not current, if a workload is exposed to too many.
func (t *Table) keepFew(r *Row) {
	for len(r.contents) > maxContents {
		i := slices.IndexFunc(r.contents, func(e exposure) bool { return !t.isCurrent(e.Content) })
		if i < 0 {
			return
		}
		r.contents = slices.Delete(r.contents, i, i+1)
	}
}

// reason returns what a restart waits for.
func (t *Table) reason(ref Workload, r *Row, changes []Change, pods *Pods, now time.Time) Reason {
	if r.state == Writing || r.state == Uncertain {
		return Unanswered
	}
	if t.isHeld(ref, changes, pods) {
		return Halted
	}
	if t.hasNothingToLose(r, pods, now) {
		return ""
	}
	own := t.rank(r, changes...)
	for _, change := range changes {
		c := change.Content
		if !change.takesSlot() || r.takesSlot(c) {
			continue
		}
		if reason := t.turn(ref, own, change, now); reason != "" {
			return reason
		}
		if exposed, proofs := t.tally(ref, c); exposed >= max(1, proofs) {
			return SlowStart
		}
	}
	return ""
}

// tally returns how many other workloads are exposed to a content, and how many prove it.
func (t *Table) tally(but Workload, c Content) (exposed, proofs int) {
	for ref, r := range t.rows {
		switch {
		case ref == but:
		case r.takesSlot(c):
			exposed++
		case r.exposureTo(c) == nil && slices.Contains(r.runs, c):
			proofs++
		}
	}
	return exposed, proofs
}

// turn returns what a restart waits for if it is the turn of others. Those that go first run the content already, or are about
// to: until one of them is judged or has its own slot, it shows what the content does. Nobody waits longer for them than a
// deadline: they may not be enabled any more.
func (t *Table) turn(ref Workload, own int, change Change, now time.Time) Reason {
	c := change.Content
	isLate := now.Sub(t.current[c.Config].since) >= t.policy.Deadline
	for other, o := range t.rows {
		rank := t.rank(o, change)
		switch {
		case other == ref || rank >= own:
		case rank == goesFirst && !isLate && (o.isExposed() || o.due != nil) && !o.takesSlot(c) && !slices.Contains(o.runs, c):
			return First
		case o.waitsForTurn() && slices.ContainsFunc(o.due, func(change Change) bool { return change.Content == c }):
			return SlowStart
		}
	}
	return ""
}

// The ranks in which workloads restart for a content.
const (
	goesFirst = iota // an earlier content of the config may have broken it, or its pods have read this one in passing
	inTurn
	goesLast // its last restart said nothing
)

// rank returns the rank of a workload for changes: the earliest, so that no two wait for each other.
func (t *Table) rank(r *Row, changes ...Change) int {
	isAhead := func(e exposure) bool {
		return slices.ContainsFunc(changes, func(c Change) bool {
			return e.Config == c.Config && (e.Content == c.Content || !t.isCurrent(e.Content))
		})
	}
	switch {
	case slices.ContainsFunc(r.contents, isAhead):
		return goesFirst
	case r.state == Inconclusive:
		return goesLast
	}
	return inTurn
}

// Accepted takes in that the write of a restart was carried out.
func (t *Table) Accepted(ref Workload, now time.Time) {
	if r := t.rows[ref]; r != nil && r.state == Writing {
		r.accept(now)
	}
}

// Refused takes in that it was not, and never will be.
func (t *Table) Refused(ref Workload) {
	if r := t.rows[ref]; r != nil && r.state == Writing {
		r.refuse()
	}
}

// Lost takes in that it is not known. The caller must look whether the workload shows the write. If not, it must write
// something else, which restarts nothing, and makes the lost write impossible.
func (t *Table) Lost(ref Workload) {
	if r := t.rows[ref]; r != nil && r.state == Writing {
		r.lose()
	}
}

// Resolved takes in that this is done, and whether the write is there. If it is, it brings what the configs hold by now.
func (t *Table) Resolved(ref Workload, isThere bool, now time.Time) {
	r := t.rows[ref]
	if r == nil || r.state != Uncertain {
		return
	}
	r.accept(now)
	for _, e := range slices.Clone(r.contents) {
		if c := t.current[e.Config].content; isThere && e.isOpened && c.Config == e.Config {
			r.add(exposure{Content: c, isOpened: true, isGradual: e.isGradual})
		}
	}
}

// MayEvict reports whether a pod of a workload may be evicted, whose restart by eviction was written: as long as the workload
// is exposed, and nothing is due or held that the next pod would read.
func (t *Table) MayEvict(ref Workload, pods *Pods) bool {
	r := t.rows[ref]
	if r == nil {
		return false
	}
	var brings []Change
	for _, e := range r.contents {
		if t.isCurrent(e.Content) {
			brings = append(brings, Change{Content: e.Content, IsGradual: e.isGradual})
		}
	}
	return r.state == Rolling && r.due == nil && r.crashing.IsZero() && !t.isHeld(ref, brings, pods)
}

// NotDue takes in that no restart of a workload is due, or that it waits for something that the table does not know: others do
// not wait for it.
func (t *Table) NotDue(ref Workload) {
	if r := t.rows[ref]; r != nil {
		r.due, r.waitsFor = nil, ""
	}
}

// Forget takes in that a workload is gone, or not enabled any more. It proves nothing then, but stays exposed.
func (t *Table) Forget(ref Workload) {
	r := t.rows[ref]
	if r == nil {
		return
	}
	r.due, r.waitsFor, r.runs, r.isGone = nil, "", nil, true
	t.drop(ref, r)
}

// Tick ends the exposures whose deadline has passed, also of workloads that nobody sees.
func (t *Table) Tick(now time.Time) {
	for ref, r := range t.rows {
		t.judge(ref, r, func() { r.expire(&Pods{}, &t.policy, now) })
		t.drop(ref, r)
	}
}

// judge does what may end an exposure, and halts what the workload has failed with.
func (t *Table) judge(ref Workload, r *Row, do func()) {
	failed := r.failed
	if do(); !r.failed.IsZero() && !r.failed.Equal(failed) {
		t.halt(ref, r)
	}
}

// drop removes the row of a workload that is gone and not exposed.
func (t *Table) drop(ref Workload, r *Row) {
	if r.isGone && !r.isExposed() {
		delete(t.rows, ref)
	}
}

// See takes in what the pods of a workload show.
func (t *Table) See(ref Workload, pods *Pods, now time.Time) {
	r := t.row(ref)
	soaked := now.Add(-t.policy.Soak)
	r.runs, r.isGone = t.running(pods, soaked), false
	t.endHalts(ref, pods, soaked)
	if r.isExposed() {
		t.readInPassing(r, pods, now)
	}
	t.judge(ref, r, func() { r.look(pods, &t.policy, now) })
}

// running returns the contents that all pods run, of those that configs hold.
func (t *Table) running(pods *Pods, soaked time.Time) (all []Content) {
	if !pods.isWhole(soaked) {
		return nil
	}
	for _, e := range t.current {
		if pods.allRead(e.content) {
			all = append(all, e.content)
		}
	}
	return all
}

// readInPassing exposes a workload to contents that its pods read in passing, while they start or crash. The API server cuts
// the times of edits to seconds.
func (t *Table) readInPassing(r *Row, pods *Pods, now time.Time) {
	isOurs := r.state == Uncertain // a late write of ours may have brought it
	for _, e := range t.current {
		reads := func(p *Pod) bool { return (p.isBroken() || isOurs) && p.reads(e.content) }
		if e.since.Before(r.since.Truncate(time.Second)) || !pods.any(reads) || r.isProven(e.content, pods, now.Add(-t.policy.Soak), r.accepts) {
			continue
		}
		if r.add(exposure{Content: e.content, isOpened: isOurs, isGradual: true}) {
			r.progressed = now
			t.keepFew(r)
		}
	}
}
