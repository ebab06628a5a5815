package catalog

import (
	"fmt"
	"time"

	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/policy"
)

// HoldNote is a workload or a config whose annotation holds restarts, and why.
type HoldNote struct {
	On        fmt.Stringer // a [names.WorkloadRef] or a [names.ConfigRef]
	Namespace string
	Text      string
}

// holdIndex finds the holds without a search through all objects.
type holdIndex struct {
	workloads map[names.WorkloadRef]hold
	configs   map[names.ConfigRef]hold
	// began and now are the first and the last time that [Catalog.PassTime] was given, zero before.
	began, now time.Time
}

// hold is why an object holds restarts, and since when, as far as that is known: zero if it did when time began to pass, and
// no field manager says more.
type hold struct {
	text    string
	since   time.Time
	atLeast bool // it may have begun earlier
}

func newHoldIndex() holdIndex {
	return holdIndex{workloads: make(map[names.WorkloadRef]hold), configs: make(map[names.ConfigRef]hold)}
}

// noteHold takes in why an object holds restarts now, empty if it does not. If the object was known without the hold, nobody had
// set it before the time that the object shows.
func noteHold[R comparable](holds map[R]hold, ref R, text string, set policy.HoldTime, wasKnown bool, now time.Time) {
	known, found := holds[ref]
	switch {
	case text == "":
		delete(holds, ref)
	case found:
		holds[ref] = hold{text, known.since, known.atLeast}
	case set.At.IsZero():
		holds[ref] = hold{text, now, false}
	default:
		holds[ref] = hold{text, set.At, !set.IsExact && !wasKnown}
	}
}

// PassTime says what time it is, once everything is listed, and again every few seconds. A new hold of an object without
// managedFields counts as of the last of these times.
func (c *Catalog) PassTime(now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.held.now = now; c.held.began.IsZero() {
		c.held.began = now
	}
}

// HeldSince returns since when an object, a [names.WorkloadRef] or a [names.ConfigRef], holds restarts, and whether that may have begun
// earlier. The time is zero if the object does not, or if no time has passed yet.
func (l *Lookup) HeldSince(on fmt.Stringer) (since time.Time, atLeast bool) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	var known hold
	var found bool
	switch ref := on.(type) {
	case names.WorkloadRef:
		known, found = l.held.workloads[ref]
	case names.ConfigRef:
		known, found = l.held.configs[ref.Source()]
	}
	if found && known.since.IsZero() {
		return l.held.began, !l.held.began.IsZero()
	}
	return known.since, known.atLeast
}

// Holds calls a function with the hold of each workload and config that has one, whether or not anything is due. The
// function must not use the catalog.
func (l *Lookup) Holds(do func(HoldNote)) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	for ref, hold := range l.held.workloads {
		do(HoldNote{ref, ref.Namespace, hold.text})
	}
	for ref, hold := range l.held.configs {
		do(HoldNote{ref, ref.Namespace, hold.text})
	}
}
