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
	// past are the past contents, if a workload references the config. The records of all
	// that do were shown and written at oldestRecord or later.
	past         []Past
	referenced   bool
	oldestRecord Sighting
	// changed tells whether the content is not that of previous.
	changed bool
}

// notYet stands for the moment of an edit that has not been taken in.
const notYet Moment = math.MaxUint64

func newArrival(config Config, at time.Time, listed bool) *arrival {
	return &arrival{config: &config, recorded: config.Edits, at: at, listed: listed}
}

// compare compares the config with what the catalog knows of it, and of its past.
func (a *arrival) compare(previous *Config, past []Past) {
	a.previous, a.past, a.changed = previous, nil, true
	if previous == nil {
		a.config.Edits = a.recorded
		return
	}
	changed := changedKeys(previous.Keys, a.config.Keys)
	a.changed = len(changed) > 0
	a.config.Edits = mergeEdits(previous, a, changed)
	if a.referenced {
		a.past = pastOf(withoutSettled(past, a.oldestRecord, a.at), previous, a, changed)
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
func (a *arrival) stamp(moment Moment) {
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

// arrive compares configs with what the catalog knows of them. It must be called without
// the lock.
func (c *Catalog) arrive(arrivals ...*arrival) {
	previous, past := make([]*Config, len(arrivals)), make([][]Past, len(arrivals))
	c.mu.RLock()
	for i, a := range arrivals {
		ref := a.config.Ref
		previous[i], past[i], a.referenced = c.configs[ref], c.past[ref], c.isReferenced(ref)
		if len(past[i]) > 0 {
			a.oldestRecord = c.oldestRecord(ref, a.at)
		}
	}
	c.mu.RUnlock()
	for i, a := range arrivals {
		a.compare(previous[i], past[i])
	}
}

// oldestRecord returns when the oldest record of what workloads see of a config was shown, and when
// the oldest was written, or the present moment and time if there is none. One that does not vouch
// counts, too: it does so again when its pod template comes back.
func (c *Catalog) oldestRecord(config ConfigRef, now time.Time) Sighting {
	oldest, readers := Sighting{now, c.moment}, c.referencing[config]
	for ref := range readers.all {
		w, found := c.workloads[ref]
		if !found || !w.Record.Vouches && w.Record.Written.IsZero() {
			continue
		}
		oldest.Seen = min(oldest.Seen, w.RecordSeen)
		if w.Record.Written.Before(oldest.At) {
			oldest.At = w.Record.Written
		}
	}
	return oldest
}

// putConfig takes in a config that has arrived.
func (c *Catalog) putConfig(a *arrival) (news bool) {
	previous := c.configs[a.config.Ref]
	if previous != a.previous {
		a.compare(previous, c.past[a.config.Ref]) // a deleted one was forgotten, with its last reference
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
	c.configs[a.config.Ref] = a.config
	isReferenced := c.isReferenced(a.config.Ref)
	if delete(c.past, a.config.Ref); isReferenced && len(a.past) > 0 {
		c.past[a.config.Ref] = a.past
	}
	return a.changed && isReferenced
}
