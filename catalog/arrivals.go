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
	previous := l.config(ref)
	a.Referenced = l.isReferenced(ref)
	l.mu.RUnlock()
	a.Compare(previous)
}

// putConfig takes in a config that has arrived.
func (s *store) putConfig(a *content.Arrival) (news bool) {
	previous := s.config(a.Config.Ref)
	if previous != a.Previous {
		// A deleted config was forgotten with its last reference.
		a.Compare(previous)
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
	if a.Referenced && !isReferenced { // the last reference has gone in the meantime
		s.keepConfig(a.Config.WithoutEarlier())
	}
	return (a.Changed || isToggled) && isReferenced
}
