package deployment

import (
	"maps"
	"slices"
	"time"
)

// The time limits for detecting rivals.
const (
	// probeLimit is how long a probe may stay without an answer if another controller drives
	// Deployments. Such a controller notices a new Deployment within milliseconds. If it is
	// busy with many others first, it writes their status in the meantime, and their
	// namespaces rest.
	probeLimit = 3 * time.Second
	// probePeriod is the shortest time from one probe to the next, and from the last answer to
	// the next probe.
	probePeriod = 10 * time.Second
	// retryPeriod is the time until the next attempt to make a probe after a failure.
	retryPeriod = 2 * time.Second
	// silenceLimit is how long a rival must be silent before it counts as gone: twice the time
	// that a kube-controller-manager takes by default to hand over its lease to its own
	// standby.
	silenceLimit = 30 * time.Second
)

// phase is what the engine is doing.
type phase int

// The engine makes sure that it is alone, and then drives. Once a rival has answered a probe,
// the engine stands by until the rival has been silent for long enough.
const (
	makingSure phase = iota
	standingBy
	driving
)

// step is what a rivalry requires next.
type step int

// Wait until something is heard, make a new probe, drive Deployments from now on, or resume
// driving those of the namespaces that the probe was made for.
const (
	holdOn step = iota
	makeProbe
	takeOver
	resume
)

// rivalry decides whether the engine may drive Deployments, which it may only while no other
// controller does. To detect others, the engine makes a probe: a Deployment that does nothing
// and whose status any Deployment controller writes. The probe stays in place while the engine
// drives, so that a controller that is started later answers it immediately.
//
// A write of the status of another Deployment may come from a controller that has not reached
// the probe yet, or from anyone with permission to write there. Only the namespace of that
// Deployment rests, until a probe that was made later has stayed without an answer. So nobody
// can stop the engine where they have no permissions.
//
// The processes of one installation share one probe. A new process replaces it with its own. A
// process that drives does the same and marks its probe as such, which the others hear.
//
// A rivalry has neither clients nor a clock: its methods receive events and the time.
type rivalry struct {
	phase phase
	// heard is when a rival was last heard, or when listening began, and patience is how long
	// there must be silence since then.
	heard    time.Time
	patience time.Duration
	// due is when the next probe may be made.
	due time.Time
	// shown is since when the present probe is known to be in place, zero if there is no
	// probe. answered means that another controller has written its status.
	shown    time.Time
	answered bool
	// displaced means that the present probe is from another process and has replaced this
	// process' own.
	displaced bool
	// suspects are the namespaces that rest because another field manager has written the
	// status of a Deployment there. The value is whether the present probe tests that, because
	// it was shown later than the write. asked is the number of namespaces for which it is
	// true.
	suspects map[string]bool
	asked    int
}

// newRivalry returns the rivalry of an engine that begins to listen. A spare engine waits as
// if a rival had just been heard.
func newRivalry(isSpare bool, now time.Time, patience time.Duration) *rivalry {
	if isSpare {
		return &rivalry{phase: standingBy, heard: now, patience: patience, suspects: map[string]bool{}}
	}
	return &rivalry{phase: makingSure, heard: now, suspects: map[string]bool{}}
}

// next returns what to do now and, for holdOn, until when to wait at most; zero means forever.
func (r *rivalry) next(now time.Time) (step, time.Time) {
	next, due := takeOver, later(r.heard.Add(r.patience), r.shown.Add(probeLimit))
	switch {
	case r.shown.IsZero():
		next, due = makeProbe, r.due
	case r.answered:
		next, due = makeProbe, later(r.due, r.heard.Add(probePeriod))
	case r.phase == driving && r.displaced:
		return makeProbe, time.Time{} // so that the other process hears that this one drives
	case r.phase == driving && len(r.suspects) == 0:
		return holdOn, time.Time{}
	case r.phase == driving && r.asked > 0:
		next, due = resume, r.shown.Add(probeLimit)
	case r.phase == driving:
		next, due = makeProbe, r.due
	}
	if now.Before(due) {
		return holdOn, due
	}
	return next, time.Time{}
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// begin notes an attempt to make a new probe in place of the present one.
func (r *rivalry) begin(now time.Time) {
	r.due, r.shown, r.answered, r.displaced = now.Add(probePeriod), time.Time{}, false, false
}

// fail notes that the probe could not be made.
func (r *rivalry) fail(now time.Time) { r.due = now.Add(retryPeriod) }

// show notes that the probe is in place, and that nobody has answered it.
func (r *rivalry) show(now time.Time) {
	r.shown, r.answered, r.displaced = now, false, false
	for namespace := range r.suspects {
		r.suspects[namespace] = true
	}
	r.asked = len(r.suspects)
}

// displace notes that a probe of another process is in place. That probe serves the same
// purpose.
func (r *rivalry) displace(now time.Time) {
	r.show(now)
	r.displaced = true
}

// lose notes that there is no probe any more. It delays the next one, in case another process
// is about to replace the probe.
func (r *rivalry) lose(now time.Time) {
	r.due, r.shown, r.answered, r.displaced = later(r.due, now.Add(retryPeriod)), time.Time{}, false, false
}

// suspect notes that another field manager has written the status of a Deployment in a
// namespace. It reports whether the namespace begins to rest.
func (r *rivalry) suspect(namespace string) bool {
	isAsked, rests := r.suspects[namespace]
	if isAsked {
		r.asked--
	}
	r.suspects[namespace] = false
	return !rests
}

// trust notes that the present probe has stayed without an answer for long enough. It returns
// the namespaces that need not rest any more, sorted.
func (r *rivalry) trust() []string {
	trusted := slices.Sorted(maps.Keys(r.suspects))
	trusted = slices.DeleteFunc(trusted, func(namespace string) bool { return !r.suspects[namespace] })
	for _, namespace := range trusted {
		delete(r.suspects, namespace)
	}
	r.asked = 0
	return trusted
}

// hear notes that a rival has answered. It reports whether that changes the phase. It clears
// the suspects, because the engine makes sure of all namespaces before it drives again.
func (r *rivalry) hear(now time.Time, patience time.Duration) bool {
	was := r.phase
	clear(r.suspects)
	r.asked = 0
	r.phase, r.heard, r.patience = standingBy, now, patience
	return was != standingBy
}

// miss notes that no rival could have been heard before the given time: silence begins then.
func (r *rivalry) miss(before time.Time) {
	r.heard = later(r.heard, before)
	if !r.shown.IsZero() {
		r.shown = later(r.shown, before)
	}
}

// drive notes that the engine drives Deployments from now on.
func (r *rivalry) drive() { r.phase = driving }
