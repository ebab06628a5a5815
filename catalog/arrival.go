package catalog

import (
	"math"
	"time"
)

// arrival is a config that a watch showed, on its way into the catalog. What has changed is
// found out before the catalog is locked: that takes the longer the more keys the config
// has, and it may have as many as its owner likes.
type arrival struct {
	config *Config
	// recorded is what the config's managedFields say of its edits.
	recorded []Edit
	// at is when the watch showed the config. It was listed if that may be long after the edits.
	at     time.Time
	listed bool
	// previous is what the catalog knew when the config arrived, nil if nothing.
	previous *Config
	// past are the past contents, if a workload references the config.
	past       []Past
	referenced bool
	// changed reports whether the content is not that of previous.
	changed bool
}

// notYet stands for the moment of an edit that has not been taken in.
const notYet Sequence = math.MaxUint64

func newArrival(config Config, at time.Time, listed bool) *arrival {
	return &arrival{config: &config, recorded: config.Edits, at: at, listed: listed}
}

// compare compares the config with what the catalog knows of it, and of its past. The function
// returns when all records of what workloads see of the config were shown and written, or earlier.
func (a *arrival) compare(previous *Config, past []Past, recorded func() Sighting) {
	a.previous, a.past, a.changed = previous, nil, true
	if previous == nil {
		a.config.Edits = a.recorded
		return
	}
	changed := changedKeys(previous.Keys, a.config.Keys)
	if a.changed = len(changed) > 0; !a.changed {
		a.config.Keys = previous.Keys // whose names the edits share
	}
	a.config.Edits = mergeEdits(previous, a, changed)
	switch {
	case !a.referenced:
	case a.changed || previous.Deleted:
		a.past = pastOf(withoutSettled(past, a.at, recorded), previous, a, changed)
	default:
		a.past = past
	}
}

// date returns when a key of which the managedFields say that changed: of a listed config
// that is then, which is not before the edit, unless it says nothing that can be.
func (a *arrival) date(recorded Edit) time.Time {
	if a.listed && !recorded.At.IsZero() && !recorded.At.After(a.at) {
		return recorded.At
	}
	return a.at
}

// stamp says at which moment the changes were taken in. They are the last edits, and
// perhaps the first one, see [foldLostKeys].
func (a *arrival) stamp(moment Sequence) {
	edits := a.config.Edits
	for i := len(edits) - 1; i >= 0 && edits[i].Seen == notYet; i-- {
		edits[i].Seen = moment
	}
	if len(edits) > 0 && edits[0].Seen == notYet {
		edits[0].Seen = moment
	}
	for i := range a.past {
		if a.past[i].Until.Seen == notYet {
			a.past[i].Until.Seen = moment
		}
	}
}

// take takes in a config that has arrived, and reports whether that is news to a workload.
func (c *Catalog) take(a *arrival) (news bool) {
	c.arrive(a)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.moment++
	return c.putConfig(a)
}

// arrive compares a config with what the catalog knows of it. It must be called without the
// lock.
func (c *Catalog) arrive(a *arrival) {
	ref := a.config.Ref
	c.mu.RLock()
	previous, past := c.config(ref), c.past[ref]
	a.referenced = c.isReferenced(ref)
	c.mu.RUnlock()
	a.compare(previous, past, func() Sighting { return c.oldestRecord(ref, a.at) })
}

// oldestRecord returns when the oldest record of what workloads see of a config was shown, and when
// the oldest was written, or the present moment and time if there is none. One that is not trusted
// counts, too: it does so again when its pod template comes back. It looks at each workload that
// references the config.
func (c *Catalog) oldestRecord(config ConfigRef, now time.Time) Sighting {
	c.mu.RLock()
	defer c.mu.RUnlock()
	oldest, readers := Sighting{now, c.moment}, c.referencing[config]
	for ref := range readers.all {
		w := c.workload(ref)
		if w == nil || !w.Applied.Trusted && w.Applied.Written.IsZero() {
			continue
		}
		oldest.Seen = min(oldest.Seen, w.RecordSeen)
		if w.Applied.Written.Before(oldest.At) {
			oldest.At = w.Applied.Written
		}
	}
	return oldest
}

// putConfig takes in a config that has arrived.
func (c *Catalog) putConfig(a *arrival) (news bool) {
	previous := c.config(a.config.Ref)
	if previous != a.previous {
		// A deleted one was forgotten, with its last reference.
		a.compare(previous, c.past[a.config.Ref], func() Sighting { return Sighting{} })
	}
	a.stamp(c.moment)
	if previous != nil && !previous.Deleted {
		a.config.Created, a.config.Appeared = previous.Created, previous.Appeared
	} else {
		a.config.Appeared = c.moment
		a.changed = true
	}
	if previous != nil && previous.Deleted {
		c.gone--
	}
	c.keepConfig(a.config)
	isReferenced := c.isReferenced(a.config.Ref)
	if delete(c.past, a.config.Ref); isReferenced && len(a.past) > 0 {
		c.past[a.config.Ref] = a.past
	}
	return a.changed && isReferenced
}
