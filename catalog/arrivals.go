package catalog

import (
	"time"

	"kubernetes-deployment-restart-controller/catalog/content"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/workload"
)

// ObserveConfig takes in a config that the watch showed at the given time. It reports whether
// it is news to a workload: the config is new, its content changed, it is ignored from now on or no
// longer, or shared with others than before; and at least one workload references it.
func (c *Catalog) ObserveConfig(config content.Config, at time.Time) bool {
	return c.take(content.NewArrival(config, at, false))
}

// ForgetConfig takes in the deletion of a config, which the watch showed at the given time.
// While a workload references the config, the catalog keeps its checksums to compare them with
// those of a successor.
func (c *Catalog) ForgetConfig(ref names.ConfigRef, at time.Time) {
	c.step(func() bool { return c.removeConfig(ref, at) })
}

// ObserveWorkload takes in a workload that opted in, as the watch showed it. It reports whether
// the workload needs a decision: it is new, its template, its grace period or its policy changed, a
// restart was reverted, or it got another record that is not trusted. A trusted record is our own.
func (c *Catalog) ObserveWorkload(w workload.Workload) bool {
	return c.step(func() bool {
		known := c.workload(w.Ref)
		isNewer := known == nil || workload.IsLaterVersion(w.ResourceVersion, known.ResourceVersion)
		return isNewer && c.putWorkload(&w, c.moment, c.moment)
	})
}

// LeaveAlone takes in that the workloads of a namespace have too many references together, so that this one is left
// alone; see [workload.Workload.LeftAlone]. It returns nil if the catalog does not have the workload, or if that is known.
func (c *Catalog) LeaveAlone(ref names.WorkloadRef) *workload.Workload {
	c.mu.Lock()
	defer c.mu.Unlock()
	known := c.workload(ref)
	if known == nil || known.Excess != workload.NoExcess {
		return nil
	}
	c.moment++
	left := known.LeftAlone()
	c.putWorkload(left, 0, 0)
	return left
}

// ForgetWorkload takes in that a workload is gone or no longer opts in, and reports whether the
// catalog knew it.
func (c *Catalog) ForgetWorkload(ref names.WorkloadRef) bool {
	return c.step(func() bool { return c.removeWorkload(ref) })
}

// PurgeWorkload forgets a workload that another method may have taken in partly before it
// panicked. It searches the whole index.
func (c *Catalog) PurgeWorkload(ref names.WorkloadRef) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.moment++
	c.dropWorkload(ref)
	delete(c.mounts.readSince, ref)
	for config := range c.references.Configs() {
		if c.references.Remove(config, ref) {
			c.release(config)
		}
	}
}

// take takes in a config that has arrived, and reports whether it is news to a workload.
func (c *Catalog) take(a *content.Arrival) (news bool) {
	c.arrive(a)
	return c.step(func() bool { return c.putConfig(a) })
}

// arrive compares a config with what the catalog knows about it. Callers must not hold the lock.
func (l *Lookup) arrive(a *content.Arrival) {
	ref := a.Config.Ref
	l.mu.RLock()
	previous, past := l.config(ref), l.past[ref]
	a.Referenced = l.isReferenced(ref)
	l.mu.RUnlock()
	a.Compare(previous, past, func() names.Sighting { return l.oldestRecord(ref, a.At) })
}

// oldestRecord returns the earliest moment at which a record of what workloads see of a config was
// shown and the earliest time at which one was written, or the present moment and time if there is
// no record. A record that is not trusted counts too: it is trusted again when its pod template
// comes back. It looks at each workload that references the config.
func (l *Lookup) oldestRecord(config names.ConfigRef, now time.Time) names.Sighting {
	l.mu.RLock()
	defer l.mu.RUnlock()
	oldest := names.Sighting{At: now, Seen: l.moment}
	for _, name := range append(l.namesElsewhere(config), config) {
		for ref := range l.references.To(name) {
			notRecordedBefore(&oldest, l.workload(ref))
		}
	}
	return oldest
}

// notRecordedBefore makes a sighting no later than the record of a workload, which may be nil.
func notRecordedBefore(oldest *names.Sighting, w *workload.Workload) {
	if w == nil || !w.Record.Trusted && w.Record.Written.IsZero() {
		return
	}
	oldest.Seen = min(oldest.Seen, w.RecordSeen)
	if w.Record.Written.Before(oldest.At) {
		oldest.At = w.Record.Written
	}
}

// putConfig takes in a config that has arrived.
func (s *store) putConfig(a *content.Arrival) (news bool) {
	previous := s.config(a.Config.Ref)
	if previous != a.Previous {
		// A deleted config was forgotten with its last reference.
		a.Compare(previous, s.past[a.Config.Ref], func() names.Sighting { return names.Sighting{} })
	}
	a.Stamp(s.moment)
	isToggled := a.FollowIgnored(previous, s.moment)
	isToggled = a.FollowSharing(previous, s.moment) || isToggled
	if previous != nil && !previous.Deleted {
		a.Config.Created, a.Config.Appeared = previous.Created, previous.Appeared
	} else {
		a.Config.Appeared = s.moment
		a.Changed = true
	}
	if previous != nil && previous.Deleted {
		s.gone--
	}
	s.keepConfig(a.Config)
	isReferenced := s.isReferenced(a.Config.Ref)
	if delete(s.past, a.Config.Ref); isReferenced && len(a.Past) > 0 {
		s.past[a.Config.Ref] = a.Past
	}
	return (a.Changed || isToggled) && isReferenced
}
