package row

import (
	"slices"
	"time"
)

// State is where the restart of a workload stands:
//
//	settled, failed, inconclusive, rolling --begin--> writing
//	writing   --accept-->  rolling
//	writing   --refuse-->  what it was before
//	writing   --lose-->    uncertain
//	uncertain --accept-->  rolling       the write is there, or something else was written, so that it never will be
//	rolling   --look-->    settled       all contents are proven
//	rolling   --look-->    failed        more pods crash than before; or hang, at the deadline
//	rolling   --look-->    inconclusive  at the deadline
//	failed, inconclusive --look--> settled  all pods run
type State uint8

// The states. Workloads that are writing, uncertain or rolling are exposed. Nothing but the transitions ends that: no lost
// answer, no other writer, no scaling, no deletion, no other leader.
const (
	Settled State = iota
	Writing
	Uncertain
	Rolling
	Failed
	Inconclusive
)

// Policy says how long things take.
type Policy struct {
	// Soak is how long a pod must run to prove what it read, and Judging how long pods must crash to have failed.
	Soak, Judging time.Duration
	// Deadline is how long an exposure lasts without progress, and Longest with it.
	Deadline, Longest time.Duration
}

// maxContents is how many contents a workload can be exposed to, if configs do not hold more of them.
const maxContents = 8

// exposure is a content that a workload is exposed to.
type exposure struct {
	Content
	// isOpened means that a restart of ours brought it and that it spreads slowly, so that it takes a slot.
	isOpened bool
	// isGradual means that a failure halts it.
	isGradual bool
	// isSuspect means that a pod had read it that crashed, or hung until the deadline.
	isSuspect bool
}

// Row is the state of the restart of one workload, which is exposed to a content from just before our write brings it until it
// is judged. If restarts were counted instead, a second restart of the first reader would end the first one without a verdict,
// and each that another writer undoes would let the next one begin.
type Row struct {
	state State
	// contents are what the workload is exposed to, or what it failed with; the oldest first.
	contents []exposure
	// since is when the exposure began, and progressed when it came further, or got another content. replaced is how many pods
	// of the present rollout ran then, and rollout which one that was.
	since, progressed time.Time
	replaced, rollout int
	// crashing is since when more pods crash than before, zero if no more do; hasBroken that more did once, or were not ready for a
	// deadline.
	crashing  time.Time
	hasBroken bool
	// If the measure was taken again at each restart, its base would fall with each failure, until nothing was needed.
	measure
	// failed is when the workload failed last, zero if it has run since what it was exposed to. Meanwhile the base stays.
	failed   time.Time
	isGone   bool      // the workload is
	restored time.Time // when the entry was written that the row is restored from

	// former is the row as it was before a write that is not answered; nil if there is none.
	former *Row

	// due are the contents that a restart would add that waits, nil if none does, and waitsFor is the reason.
	due      []Change
	waitsFor Reason
	// runs are the contents that all pods run, of those that configs hold.
	runs []Content
}

// measure is what a workload is measured by after a restart.
type measure struct {
	// base is how many pods ran before, and missing how many did not.
	base, missing int
	// The known templates: whole of the last pods that ran whole, restarted that of our restart.
	whole, restarted Template
}

// needed returns how many pods must run, and allowed how many may be broken through no fault of the contents.
func (m *measure) needed(pods *Pods) int  { return min(m.base, pods.Wanted) }
func (m *measure) allowed(pods *Pods) int { return min(m.missing, pods.Wanted-m.needed(pods)) }

func (m *measure) knows(t Template) bool { return t == m.restarted || t == m.whole }

// crash reports whether more pods crash than may be broken.
func (m *measure) crash(pods *Pods) bool {
	return pods.mostOfRollout((*Pod).isCrashing) > m.allowed(pods)
}

// isProven reports whether as many pods as needed have run a content since a time, of those that count.
func (m *measure) isProven(c Content, pods *Pods, since time.Time, counts func(Template) bool) bool {
	return pods.count(func(p *Pod) bool { return p.runsSince(since) && p.reads(c) && counts(p.Template) }) >= max(1, m.needed(pods))
}

// Change is a content that a restart would bring to pods that do not run it.
type Change struct {
	Content
	// IsGradual means that the content spreads slowly, and that a failure halts it. IsUrgent means that it does not spread slowly
	// after all.
	IsGradual, IsUrgent bool
}

func (c *Change) takesSlot() bool { return c.IsGradual && !c.IsUrgent }

func (r *Row) isExposed() bool {
	return r.state == Writing || r.state == Uncertain || r.state == Rolling
}

// exposureTo returns the exposure to a content, nil if there is none.
func (r *Row) exposureTo(c Content) *exposure {
	i := slices.IndexFunc(r.contents, func(e exposure) bool { return e.Content == c })
	if i < 0 || !r.isExposed() {
		return nil
	}
	return &r.contents[i]
}

// waitsForTurn reports whether a restart is due that waits for nothing but others.
func (r *Row) waitsForTurn() bool {
	return r.due != nil && (r.waitsFor == First || r.waitsFor == SlowStart)
}

// takesSlot reports whether a restart of ours brought a content that is not judged yet. A late write may bring what the config
// holds by then.
func (r *Row) takesSlot(c Content) bool {
	return r.isExposed() && slices.ContainsFunc(r.contents, func(e exposure) bool {
		return e.isOpened && (e.Content == c || e.Config == c.Config && r.state == Uncertain)
	})
}

// begin exposes the workload to what a restart adds, just before it is written.
func (r *Row) begin(pods *Pods, policy *Policy, now time.Time) {
	former := *r
	former.contents = slices.Clone(r.contents)
	if !r.isExposed() {
		r.contents, r.since, r.crashing, r.hasBroken = nil, now, time.Time{}, false
		if r.failed.IsZero() {
			r.base = pods.expected(now.Add(-policy.Deadline))
			r.missing = pods.Wanted - r.base
		}
	}
	if running := pods.running(now.Add(-policy.Soak)); running > r.base { // it was measured at a bad time
		r.base, r.missing = running, pods.Wanted-running
	}
	if !r.hasBroken { // afterwards, another template may hide the crash
		r.restarted = pods.Template
	}
	for _, change := range r.due {
		r.add(exposure{Content: change.Content, isOpened: change.takesSlot(), isGradual: change.IsGradual})
	}
	r.state, r.progressed = Writing, now
	r.former, r.due, r.waitsFor = &former, nil, ""
}

// add exposes the workload to another content, and reports whether it was not yet.
func (r *Row) add(e exposure) (isNew bool) {
	if known := r.exposureTo(e.Content); known != nil {
		known.isOpened = known.isOpened || e.isOpened
		known.isGradual = known.isGradual || e.isGradual
		known.isSuspect = known.isSuspect || e.isSuspect
		return false
	}
	r.contents = append(r.contents, e)
	return true
}

// accept takes in that the write was carried out; or if its answer was lost, that it is known whether it was. In either case,
// the exposure goes on.
func (r *Row) accept(now time.Time) { r.state, r.progressed, r.former = Rolling, now, nil }

// refuse takes in that the write was not carried out, and never will be: nothing was added.
func (r *Row) refuse() {
	f := r.former
	if f.isExposed() {
		isAdded := func(e exposure) bool { return e.isOpened && !f.takesSlot(e.Content) }
		r.state, r.contents, r.former = f.state, slices.DeleteFunc(r.contents, isAdded), nil
		return
	}
	f.whole, f.runs, f.due, f.waitsFor, f.isGone = r.whole, r.runs, nil, "", r.isGone
	*r = *f
}

// lose takes in that the answer to the write is lost.
func (r *Row) lose() { r.state, r.former = Uncertain, nil }

// accepts reports whether pods of a template may prove a content.
func (r *Row) accepts(t Template) bool { return !r.hasBroken || r.knows(t) }

// look takes in what the pods show.
func (r *Row) look(pods *Pods, policy *Policy, now time.Time) {
	soaked := now.Add(-policy.Soak)
	isWhole := pods.isWhole(soaked)
	if isWhole && !(r.isExposed() && r.hasBroken) {
		r.whole = pods.Template
	}
	if !r.isExposed() {
		if isWhole {
			r.settle()
		}
		return
	}
	r.note(pods, policy, now)
	if r.state == Rolling && r.crashing.IsZero() {
		r.prove(pods, soaked)
	}
	switch {
	case r.state == Rolling && len(r.contents) == 0:
		r.settle()
	case r.state == Rolling && !r.crashing.IsZero() && now.Sub(r.crashing) >= policy.Judging:
		r.fail(now)
	default:
		r.expire(pods, policy, now)
	}
}

// expire ends the exposure if its deadline has passed. Pods that have not been ready for so long, or not run for the soak time,
// may have as much time again, and an answer that is lost has all the time until the longest.
func (r *Row) expire(pods *Pods, policy *Policy, now time.Time) {
	since := now.Add(-policy.Deadline)
	isUndecided := func(p *Pod) bool { return p.isYoung(since) || p.State == Ready && !p.runsSince(now.Add(-policy.Soak)) }
	waits := pods.any(isUndecided) && now.Sub(r.progressed) < 2*policy.Deadline
	isOver := r.state == Rolling && !r.progressed.After(since) && !waits || now.Sub(r.since) >= policy.Longest
	switch {
	case !isOver || !r.isExposed():
	case r.hasBroken:
		r.fail(now)
	default:
		r.state, r.contents = Inconclusive, nil
	}
}

// note notes whether pods are broken, and with what, and whether the rollout has come further.
func (r *Row) note(pods *Pods, policy *Policy, now time.Time) {
	switch {
	case !r.crash(pods):
		r.crashing = time.Time{}
	case r.crashing.IsZero():
		r.crashing = now
	}
	since := now.Add(-policy.Deadline)
	isDown := func(p *Pod) bool { return p.isCrashing() || p.isStuck(since) }
	if pods.mostOfRollout(isDown) > r.allowed(pods) {
		r.hasBroken = true
		r.suspect(pods, isDown)
	}
	if pods.Rollout != r.rollout { // until the watch shows the new one, the pods of the old one are no progress
		r.rollout, r.replaced = pods.Rollout, 0
	}
	if replaced := pods.replaced(); replaced > r.replaced {
		r.replaced, r.progressed = replaced, now
	}
}

// suspect notes what the pods have read that are as the function says: anything, if that is not known.
func (r *Row) suspect(pods *Pods, is func(*Pod) bool) {
	for i := range r.contents {
		e := &r.contents[i]
		e.isSuspect = e.isSuspect || pods.any(func(p *Pod) bool { return is(p) && (p.reads(e.Content) || len(p.Reads) == 0) })
	}
}

// prove removes the contents that as many pods run as needed.
func (r *Row) prove(pods *Pods, soaked time.Time) {
	r.contents = slices.DeleteFunc(r.contents, func(e exposure) bool { return r.isProven(e.Content, pods, soaked, r.accepts) })
}

func (r *Row) fail(now time.Time) { r.state, r.failed = Failed, now }

// settle ends the exposure, and forgets what is known against the workload.
func (r *Row) settle() {
	*r = Row{measure: measure{whole: r.whole}, runs: r.runs, due: r.due, waitsFor: r.waitsFor}
}
