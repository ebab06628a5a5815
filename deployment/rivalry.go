package deployment

import (
	"maps"
	"slices"
	"time"
)

// How rivals are told from silence.
const (
	// probeLimit is how long a probe may go without an answer if somebody else drives
	// Deployments. Whoever does notices a new Deployment within milliseconds. If many
	// others keep it waiting, it writes their status meanwhile, and their namespaces rest.
	probeLimit = 3 * time.Second
	// probePeriod is the least time from one probe to the next, and from when one was
	// answered last.
	probePeriod = 10 * time.Second
	// retryPeriod is the time until it is tried again to make a probe.
	retryPeriod = 2 * time.Second
	// silenceLimit is how long a rival that was heard must be silent before it counts as
	// gone: twice the time that a kube-controller-manager takes by default to hand its
	// lease over to its own spare.
	silenceLimit = 30 * time.Second
)

// phase is what the engine is about.
type phase int

// The engine makes sure that it is alone, then drives. Once a rival has answered a probe
// it stands by, until that has been silent.
const (
	makingSure phase = iota
	standingBy
	driving
)

// step is what a rivalry calls for.
type step int

// Hold on until something is heard, make a new probe, drive Deployments from now on, or go
// on with those of the namespaces about which the probe was made.
const (
	holdOn step = iota
	makeProbe
	takeOver
	resume
)

// rivalry decides whether the engine may drive Deployments: only while nobody else
// does. To find that out a probe is made, a Deployment that does nothing, whose status any
// Deployment controller writes. It stays in place while the engine drives, so that one that
// is started later answers it at once.
//
// If somebody writes the status of another Deployment, that may be a controller that has not
// come to the probe yet, or anybody who may write there. Only the namespace of that
// Deployment rests, until a probe that was made later has gone without an answer. So nobody
// stops the engine where he has no rights.
//
// Processes of one installation have one probe. A new one puts its own in the place of the
// other's; one that drives does the same, and says so, which is heard.
//
// It is a value that is told of events and of the time.
type rivalry struct {
	phase phase
	// heard is when a rival was heard last, or when listening began, and patience for
	// how long nobody must have been heard since.
	heard    time.Time
	patience time.Duration
	// due is when the next probe may be made.
	due time.Time
	// shown is since when the present probe is known to be in place, zero if there is
	// none. answered tells that somebody has written its status.
	shown    time.Time
	answered bool
	// displaced tells that the present probe is that of another process, which took the
	// place of this one's.
	displaced bool
	// suspects are the namespaces that rest because somebody else has written the status
	// of a Deployment there, with whether the present probe asks about that: it was shown
	// later. asked is how many of these there are.
	suspects map[string]bool
	asked    int
}

// newRivalry is that of an engine that begins to listen. A spare one waits as if a
// rival had just been heard.
func newRivalry(isSpare bool, now time.Time, patience time.Duration) *rivalry {
	if isSpare {
		return &rivalry{phase: standingBy, heard: now, patience: patience, suspects: map[string]bool{}}
	}
	return &rivalry{phase: makingSure, heard: now, suspects: map[string]bool{}}
}

// next tells what is to be done now, and how long to hold on at most if it is that;
// zero stands for ever.
func (r *rivalry) next(now time.Time) (step, time.Time) {
	next, due := takeOver, later(r.heard.Add(r.patience), r.shown.Add(probeLimit))
	switch {
	case r.shown.IsZero():
		next, due = makeProbe, r.due
	case r.answered:
		next, due = makeProbe, later(r.due, r.heard.Add(probePeriod))
	case r.phase == driving && r.displaced:
		return makeProbe, time.Time{} // by which the other one hears that somebody drives
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

// begin tells that it is tried to make a new probe in place of the present one.
func (r *rivalry) begin(now time.Time) {
	r.due, r.shown, r.answered, r.displaced = now.Add(probePeriod), time.Time{}, false, false
}

// fail tells that it could not be made.
func (r *rivalry) fail(now time.Time) { r.due = now.Add(retryPeriod) }

// show tells that the probe is in place, and nobody has answered it.
func (r *rivalry) show(now time.Time) {
	r.shown, r.answered, r.displaced = now, false, false
	for namespace := range r.suspects {
		r.suspects[namespace] = true
	}
	r.asked = len(r.suspects)
}

// displace tells that a probe of another process is in place. It asks as well.
func (r *rivalry) displace(now time.Time) {
	r.show(now)
	r.displaced = true
}

// lose tells that there is no probe any more. If another process is about to replace it,
// that comes first.
func (r *rivalry) lose(now time.Time) {
	r.due, r.shown, r.answered, r.displaced = later(r.due, now.Add(retryPeriod)), time.Time{}, false, false
}

// suspect tells that somebody else has written the status of a Deployment in a namespace. It
// returns whether that makes it rest.
func (r *rivalry) suspect(namespace string) bool {
	isAsked, rests := r.suspects[namespace]
	if isAsked {
		r.asked--
	}
	r.suspects[namespace] = false
	return !rests
}

// trust tells that the present probe has gone without an answer for long enough. It returns
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

// hear tells that a rival has answered. It returns whether that makes a difference to what
// the engine is about. It was that rival who was suspected, as far as that matters: it is made
// sure of all namespaces before the engine drives again.
func (r *rivalry) hear(now time.Time, patience time.Duration) bool {
	was := r.phase
	clear(r.suspects)
	r.asked = 0
	r.phase, r.heard, r.patience = standingBy, now, patience
	return was != standingBy
}

// miss tells that nobody could have been heard before a time: silence begins then.
func (r *rivalry) miss(before time.Time) {
	r.heard = later(r.heard, before)
	if !r.shown.IsZero() {
		r.shown = later(r.shown, before)
	}
}

// drive tells that the engine drives Deployments from now on.
func (r *rivalry) drive() { r.phase = driving }
