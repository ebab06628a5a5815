package handover

import (
	"maps"
	"slices"
	"time"
)

// The time limits for detecting rivals.
const (
	// answerTimeout is how long a probe may stay without an answer if another controller drives
	// Deployments. Such a controller notices a new Deployment within milliseconds. If it is
	// busy with many others first, it writes their status in the meantime, and their
	// namespaces rest.
	answerTimeout = 3 * time.Second
	// probePeriod is the shortest time from one probe to the next, and from the last answer to
	// the next probe.
	probePeriod = 10 * time.Second
	// retryPeriod is the time until the next attempt to create a probe after a failure.
	retryPeriod = 2 * time.Second
	// takeoverDelay is how long no rival must have been detected before the last one counts as
	// gone: twice the time that a kube-controller-manager takes by default to hand over its
	// lease to its own standby.
	takeoverDelay = 30 * time.Second
)

// phase is what the engine is doing.
type phase int

// The engine makes sure that it is alone, and then drives. Once a rival has answered a probe,
// the engine stands by until no rival was detected for long enough.
const (
	makingSure phase = iota
	standingBy
	driving
)

// step is what a detector requires next.
type step int

// Wait until something happens, create a new probe, drive Deployments from now on, or resume
// driving those of the namespaces that the probe was created for.
const (
	wait step = iota
	createProbe
	takeOver
	resume
)

// detector decides whether the engine may drive Deployments, which it may only while no other
// controller does. To detect others, the engine creates a probe: a Deployment that does
// nothing and whose status any Deployment controller writes. The probe stays in place while
// the engine drives, so that a controller that is started later answers it immediately.
//
// A write of the status of another Deployment may come from a controller that has not reached
// the probe yet, or from anyone with permission to write there. Only the namespace of that
// Deployment rests, until a probe that was created later has stayed without an answer. So
// nobody can stop the engine where they have no permissions.
//
// The processes of one installation share one probe. A new process replaces it with its own. A
// process that drives does the same and marks its probe as such, by which the others detect
// it.
//
// A detector has neither clients nor a clock: its methods receive events and the time.
type detector struct {
	phase phase
	// lastRival is when a rival was last detected, or when detection began, and delay is the
	// takeover delay from then on.
	lastRival time.Time
	delay     time.Duration
	// due is when the next probe may be created.
	due time.Time
	// shown is since when the present probe is known to be in place, zero if there is no
	// probe. answered means that another controller has written its status.
	shown    time.Time
	answered bool
	// displaced means that the present probe is from another process and has replaced this
	// process' own.
	displaced bool
	// unverified are the namespaces that rest because of a foreign write there. The value is
	// whether the present probe covers the write, because it was shown later. covered is the
	// number of namespaces for which it is true.
	unverified map[string]bool
	covered    int
}

// newDetector returns the detector of an engine that starts. A standby engine waits as if a
// rival had just been detected.
func newDetector(isStandby bool, now time.Time, delay time.Duration) *detector {
	if isStandby {
		return &detector{phase: standingBy, lastRival: now, delay: delay, unverified: map[string]bool{}}
	}
	return &detector{phase: makingSure, lastRival: now, unverified: map[string]bool{}}
}

// next returns what to do now and, for wait, until when to wait at most; zero means forever.
func (d *detector) next(now time.Time) (step, time.Time) {
	next, due := takeOver, later(d.lastRival.Add(d.delay), d.shown.Add(answerTimeout))
	switch {
	case d.shown.IsZero():
		next, due = createProbe, d.due
	case d.answered:
		next, due = createProbe, later(d.due, d.lastRival.Add(probePeriod))
	case d.phase == driving && d.displaced:
		return createProbe, time.Time{} // so that the other process detects that this one drives
	case d.phase == driving && len(d.unverified) == 0:
		return wait, time.Time{}
	case d.phase == driving && d.covered > 0:
		next, due = resume, d.shown.Add(answerTimeout)
	case d.phase == driving:
		next, due = createProbe, d.due
	}
	if now.Before(due) {
		return wait, due
	}
	return next, time.Time{}
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// probeRequested notes an attempt to create a new probe in place of the present one.
func (d *detector) probeRequested(now time.Time) {
	d.due, d.shown, d.answered, d.displaced = now.Add(probePeriod), time.Time{}, false, false
}

// probeFailed notes that the probe could not be created.
func (d *detector) probeFailed(now time.Time) { d.due = now.Add(retryPeriod) }

// probeShown notes that the probe is in place, and that nobody has answered it.
func (d *detector) probeShown(now time.Time) {
	d.shown, d.answered, d.displaced = now, false, false
	for namespace := range d.unverified {
		d.unverified[namespace] = true
	}
	d.covered = len(d.unverified)
}

// probeDisplaced notes that a probe of another process is in place. That probe serves the same
// purpose.
func (d *detector) probeDisplaced(now time.Time) {
	d.probeShown(now)
	d.displaced = true
}

// probeDeleted notes that there is no probe any more. It delays the next one, in case another
// process is about to replace the probe.
func (d *detector) probeDeleted(now time.Time) {
	d.due, d.shown, d.answered, d.displaced = later(d.due, now.Add(retryPeriod)), time.Time{}, false, false
}

// foreignWrite notes that another field manager has written the status of a Deployment in a
// namespace. It reports whether the namespace begins to rest.
func (d *detector) foreignWrite(namespace string) bool {
	isCovered, rests := d.unverified[namespace]
	if isCovered {
		d.covered--
	}
	d.unverified[namespace] = false
	return !rests
}

// verify notes that the present probe has stayed without an answer for long enough. It returns
// the namespaces that need not rest any more, sorted.
func (d *detector) verify() []string {
	verified := slices.Sorted(maps.Keys(d.unverified))
	verified = slices.DeleteFunc(verified, func(namespace string) bool { return !d.unverified[namespace] })
	for _, namespace := range verified {
		delete(d.unverified, namespace)
	}
	d.covered = 0
	return verified
}

// rivalDetected notes that a rival has answered. It reports whether that changes the phase. It
// clears the unverified namespaces, because the engine makes sure of all namespaces before it
// drives again.
func (d *detector) rivalDetected(now time.Time, delay time.Duration) bool {
	was := d.phase
	clear(d.unverified)
	d.covered = 0
	d.phase, d.lastRival, d.delay = standingBy, now, delay
	return was != standingBy
}

// watchesBrokenUntil notes that no rival could have been detected before the given time: the delays
// begin then.
func (d *detector) watchesBrokenUntil(before time.Time) {
	d.lastRival = later(d.lastRival, before)
	if !d.shown.IsZero() {
		d.shown = later(d.shown, before)
	}
}

// drive notes that the engine drives Deployments from now on.
func (d *detector) drive() { d.phase = driving }
