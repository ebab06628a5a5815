package catalog

import (
	"math"
	"time"
)

// arrival is a config that a watch showed, on its way into the catalog. The comparison with the
// previous content runs before the catalog is locked: it takes longer the more keys the config has,
// and nothing limits their number.
type arrival struct {
	config *Config
	// recorded holds the edits that the config's managedFields show.
	recorded []Edit
	// at is when the watch showed the config. With listed, that may be long after the edits.
	at     time.Time
	listed bool
	// previous is what the catalog knew when the config arrived, or nil if it knew nothing.
	previous *Config
	// past holds the past contents if a workload references the config.
	past       []Past
	referenced bool
	// changed reports whether the content differs from that of previous.
	changed bool
}

// notYet is the placeholder for the moment of an edit that the catalog has not taken in yet.
const notYet Sequence = math.MaxUint64

func newArrival(config Config, at time.Time, listed bool) *arrival {
	return &arrival{config: &config, recorded: config.Edits, at: at, listed: listed}
}

// compare compares the config with what the catalog knows about it and about its past. The function
// recorded returns a sighting no later than any record of what workloads see of the config.
func (a *arrival) compare(previous *Config, past []Past, recorded func() Sighting) {
	a.previous, a.past, a.changed = previous, nil, true
	if previous == nil {
		a.config.Edits = foldRecorded(a.recorded, a.config.Keys)
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

// date returns when a key changed, given what the managedFields say about it. For a listed config
// that is the recorded time, which is never before the edit, unless that time is missing or in the
// future. Otherwise it is when the watch showed the config.
func (a *arrival) date(recorded Edit) time.Time {
	if a.listed && !recorded.At.IsZero() && !recorded.At.After(a.at) {
		return recorded.At
	}
	return a.at
}

// dated returns when a key changed by the API server's clock, in seconds of Unix time, given whether it is gone and what
// the managedFields say about it; 0 if they say nothing. They say nothing about a key that is gone:
// a time that they still have for it is that of an earlier change.
func (a *arrival) dated(isGone bool, recorded Edit) uint32 {
	at := recorded.At
	switch isNew := a.previous.Deleted && !a.listed; {
	case isGone:
		return 0
	case at.IsZero() && isNew: // the key has been there since the config was created again
		at = a.config.creation().At
	}
	if at.After(a.at) {
		return 0
	}
	return unixSeconds(at)
}

// doneBy returns a time by which a key, or the whole config, had changed: when the watch showed that, or earlier if the
// API server dates it earlier.
func (a *arrival) doneBy(isGone bool, recorded Edit) time.Time {
	shown := a.date(recorded)
	if dated := a.dated(isGone, recorded); dated > 0 {
		if at := time.Unix(int64(dated)+1, 0); at.Before(shown) { // the API truncates times
			return at
		}
	}
	return shown
}

// stamp sets the moment at which the catalog took in the changes. They are the last edits, and
// perhaps the first one; see [foldEdits].
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

// take takes in a config that has arrived, and reports whether it is news to a workload.
func (c *Catalog) take(a *arrival) (news bool) {
	c.arrive(a)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.moment++
	return c.putConfig(a)
}

// arrive compares a config with what the catalog knows about it. Callers must not hold the lock.
func (c *Catalog) arrive(a *arrival) {
	ref := a.config.Ref
	c.mu.RLock()
	previous, past := c.config(ref), c.past[ref]
	a.referenced = c.isReferenced(ref)
	c.mu.RUnlock()
	a.compare(previous, past, func() Sighting { return c.oldestRecord(ref, a.at) })
}

// oldestRecord returns the earliest moment at which a record of what workloads see of a config was
// shown and the earliest time at which one was written, or the present moment and time if there is
// no record. A record that is not trusted counts too: it is trusted again when its pod template
// comes back. It looks at each workload that references the config.
func (c *Catalog) oldestRecord(config ConfigRef, now time.Time) Sighting {
	c.mu.RLock()
	defer c.mu.RUnlock()
	oldest := Sighting{now, c.moment}
	for _, name := range append(c.namesElsewhere(config), config) {
		readers := c.referencing[name]
		for ref := range readers.all {
			c.notRecordedBefore(&oldest, c.workload(ref))
		}
	}
	return oldest
}

// notRecordedBefore makes a sighting no later than the record of a workload, which may be nil.
func (c *Catalog) notRecordedBefore(oldest *Sighting, w *Workload) {
	if w == nil || !w.Applied.Trusted && w.Applied.Written.IsZero() {
		return
	}
	oldest.Seen = min(oldest.Seen, w.RecordSeen)
	if w.Applied.Written.Before(oldest.At) {
		oldest.At = w.Applied.Written
	}
}

// putConfig takes in a config that has arrived.
func (c *Catalog) putConfig(a *arrival) (news bool) {
	previous := c.config(a.config.Ref)
	if previous != a.previous {
		// A deleted config was forgotten with its last reference.
		a.compare(previous, c.past[a.config.Ref], func() Sighting { return Sighting{} })
	}
	a.stamp(c.moment)
	isToggled := a.followIgnored(previous, c.moment)
	isToggled = a.followSharing(previous, c.moment) || isToggled
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
	return (a.changed || isToggled) && isReferenced
}
