package deployment

import "time"

// How rivals are told from silence.
const (
	// probeLimit is how long a probe may go without an answer if somebody else drives
	// Deployments. Whoever does notices a new Deployment within milliseconds; if many
	// others keep it waiting, it writes their status meanwhile, which is heard as well.
	probeLimit = 3 * time.Second
	// probePeriod is the least time from one probe to the next, and from when a rival
	// was heard last: as long as it is heard anyway, there is no need to ask.
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

// The engine makes sure that it is alone, then drives. Once a rival is heard it
// stands by, until that has been silent.
const (
	makingSure phase = iota
	standingBy
	driving
)

// step is what a rivalry calls for.
type step int

// Hold on until something is heard, make a new probe, or drive Deployments from now on.
const (
	holdOn step = iota
	makeProbe
	takeOver
)

// rivalry decides whether the engine may drive Deployments: only while nobody else
// does. Somebody else is heard by what they write. Where there is nothing to write,
// they leave no trace; therefore a probe is made, a Deployment that does nothing, whose
// status any Deployment controller writes. It stays in place while the engine drives, so
// that one that is started later answers it at once.
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
}

// newRivalry is that of an engine that begins to listen. A spare one waits as if a
// rival had just been heard.
func newRivalry(isSpare bool, now time.Time, patience time.Duration) *rivalry {
	if isSpare {
		return &rivalry{phase: standingBy, heard: now, patience: patience}
	}
	return &rivalry{phase: makingSure, heard: now}
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
	case r.phase == driving:
		return holdOn, time.Time{}
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
func (r *rivalry) show(now time.Time) { r.shown, r.answered, r.displaced = now, false, false }

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

// hear tells that a rival has written something. It returns whether that makes a
// difference to what the engine is about.
func (r *rivalry) hear(now time.Time, patience time.Duration) bool {
	was := r.phase
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
