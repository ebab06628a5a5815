package catalog

import (
	"fmt"
	"time"
)

// HoldNote is a workload or a config whose annotation holds restarts, and why.
type HoldNote struct {
	On        fmt.Stringer // a [WorkloadRef] or a [ConfigRef]
	Namespace string
	Text      string
}

// holdIndex finds the holds without a search through all objects.
type holdIndex struct {
	workloads map[WorkloadRef]hold
	configs   map[ConfigRef]hold
	// began and now are the first and the last time that [Catalog.PassTime] was given, zero before.
	began, now time.Time
}

// hold is why an object holds restarts, and since when, as far as that is known: zero if it did when time began to pass.
type hold struct {
	text  string
	since time.Time
}

func newHoldIndex() holdIndex {
	return holdIndex{workloads: make(map[WorkloadRef]hold), configs: make(map[ConfigRef]hold)}
}

// noteHold takes in why an object holds restarts now, empty if it does not.
func noteHold[R comparable](holds map[R]hold, ref R, text string, now time.Time) {
	if text == "" {
		delete(holds, ref)
		return
	}
	if known, found := holds[ref]; found {
		now = known.since
	}
	holds[ref] = hold{text, now}
}

// PassTime says what time it is, once everything is listed, and again every few seconds. No object says when its hold
// began: a new hold counts as of the last of these times.
func (c *Catalog) PassTime(now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.held.now = now; c.held.began.IsZero() {
		c.held.began = now
	}
}

// HeldSince returns since when an object, a [WorkloadRef] or a [ConfigRef], holds restarts, and whether that may have begun
// earlier. The time is zero if the object does not, or if no time has passed yet.
func (c *Catalog) HeldSince(on fmt.Stringer) (since time.Time, atLeast bool) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	var known hold
	var found bool
	switch ref := on.(type) {
	case WorkloadRef:
		known, found = c.held.workloads[ref]
	case ConfigRef:
		known, found = c.held.configs[ref.Source()]
	}
	if found && known.since.IsZero() {
		return c.held.began, !c.held.began.IsZero()
	}
	return known.since, false
}

// Holds calls a function with the hold of each workload and config that has one, whether or not anything is due. The
// function must not use the catalog.
func (c *Catalog) Holds(do func(HoldNote)) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	for ref, hold := range c.held.workloads {
		do(HoldNote{ref, ref.Namespace, hold.text})
	}
	for ref, hold := range c.held.configs {
		do(HoldNote{ref, ref.Namespace, hold.text})
	}
}

func (w *Workload) holdText() string {
	if w.Policy == nil {
		return ""
	}
	return w.Policy.Hold
}

func (c *Config) holdText() string {
	if c.Policy == nil || c.Deleted {
		return ""
	}
	return c.Policy.Hold
}
