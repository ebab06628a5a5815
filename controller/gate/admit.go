package gate

import (
	"time"
)

// Reason says what a restart waits for. The set is closed, because metrics have it as a label.
type Reason string

// The reasons, in the order in which [Admit] asks. A person has to act on the first three.
const (
	// Hold means that an annotation on the workload or on a changed config holds the restart, or
	// that all restarts are held.
	Hold Reason = "hold"
	// Halted means that the content that the restart would deliver has broken other workloads.
	Halted Reason = "halt"
	// Missing means that a config, or a key of one, does not exist without which the new pods could not start.
	Missing Reason = "missing-config"
	// Backoff means that the configs keep changing, and the workload has used up its budget.
	Backoff Reason = "backoff"
	// Window means that the restart may only begin in a window of time.
	Window Reason = "window"
	// Wave means that restarts of an earlier wave are due or under way in the namespace.
	Wave Reason = "wave"
	// SlowStart means that the content has not proven itself often enough for another restart.
	SlowStart Reason = "slow-start"
	// Limit means that no place is free for another restart at the same time.
	Limit Reason = "limit"
)

// Reasons are all reasons.
var Reasons = []Reason{Hold, Halted, Missing, Backoff, Window, Wave, SlowStart, Limit}

// NeedsPerson reports whether the restart waits until a person acts.
func (r Reason) NeedsPerson() bool { return r == Hold || r == Halted || r == Missing }

// IsHold reports whether what waits for the reason is called held: it is not tried before a person acts or a window opens.
func (r Reason) IsHold() bool { return r.NeedsPerson() || r == Window }

// Answer is what becomes of a restart that is due: it may begin if Reason is empty, and waits
// otherwise.
type Answer struct {
	Reason Reason
	// Until is when to ask again; zero if the time alone changes nothing.
	Until time.Time
	// FanOut is what the restart waits for if the reason is [SlowStart], and Halt if it is
	// [Halted].
	FanOut FanOut
	Halt   *Halt
	// Text is why people hold the restart, in their words, if the reason is [Hold], says what does not exist if it is
	// [Missing], and names the window if it is [Window].
	Text string
}

// MayBegin reports whether the restart may begin.
func (a Answer) MayBegin() bool { return a.Reason == "" }

// Admit decides whether a restart may begin.
func Admit(c *Case, now time.Time) Answer {
	switch {
	case c.Hold != "":
		return Answer{Reason: Hold, Text: c.Hold}
	case c.Halt != nil:
		return Answer{Reason: Halted, Halt: c.Halt}
	case c.Missing != "" && !c.CannotRoll: // what only replaces pods when others delete them begins now, as it always does
		return Answer{Reason: Missing, Text: c.Missing}
	case c.Wait > 0:
		return Answer{Reason: Backoff, Until: now.Add(c.Wait)}
	case c.CannotRoll:
		return Answer{}
	case c.Closed != "":
		return Answer{Reason: Window, Until: c.Opens, Text: c.Closed}
	case c.AfterWave:
		return Answer{Reason: Wave}
	}
	if answer := c.slowStart(now); !answer.MayBegin() {
		return answer
	}
	if c.TakesPlace && !hasPlace(c.Places-c.Taken, c.Own) {
		return Answer{Reason: Limit}
	}
	return Answer{}
}

// slowStart returns which fan-out the restart waits for, if any.
func (c *Case) slowStart(now time.Time) Answer {
	for i := range c.FanOuts {
		f := &c.FanOuts[i]
		if !f.admits(c.Standing) {
			return Answer{Reason: SlowStart, FanOut: f.FanOut}
		}
		if c.Standing == Lacking && f.Proven == 0 && now.Before(c.YieldsUntil) {
			return Answer{Reason: SlowStart, FanOut: f.FanOut, Until: c.YieldsUntil}
		}
	}
	return Answer{}
}

// admits reports whether the fan-out has come far enough for another restart: first for one, then
// for as many at the same time as have proven the content. Workloads that are unwell come last and
// without a slow start.
func (t *Tally) admits(standing Standing) bool {
	for _, due := range t.Due[:standing] {
		if due > 0 {
			return false
		}
	}
	return t.slots() > 0 && (standing != Unwell || t.OwnInFlight == 0)
}

// YieldTime is for how long a workload that lacks a pod leaves the first turn in a fan-out to others, which ask within moments of each
// other: if the pod stays away, it keeps the only slot until its deadline.
const YieldTime = 2 * time.Second

// slots returns how many further restarts may begin.
func (t *Tally) slots() int { return max(1, t.Proven) - t.InFlight }

// hasPlace reports whether a namespace that holds this many places may take one of the free ones. It
// may not hold more places than are free, so that it cannot keep other namespaces from restarting.
func hasPlace(free, own int) bool { return free > 0 && own <= free }
