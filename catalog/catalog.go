package catalog

import (
	"time"

	"kubernetes-deployment-restart-controller/catalog/content"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/workload"
)

// Catalog knows every config and every workload that opted in, and which workload references which config. Its methods take
// in what watches, lists and answers of the API server show; those of its [Lookup] answer questions. Its memory grows with
// the number of keys of the configs, not with the size of their values.
//
// The zero value is not usable; see [New]. All methods may be called by several goroutines at once.
type Catalog struct{ Lookup }

// New returns an empty catalog for configs of these kinds, or of all kinds if no kind is given.
// It ignores references to configs of other kinds.
func New(kinds ...names.ConfigKind) *Catalog {
	return &Catalog{Lookup{store: newStore(kinds)}}
}

// step takes in one thing, at a moment of its own, and returns what that reports.
func (c *Catalog) step(take func() bool) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.moment++
	return take()
}

// SetKey sets the key of the checksums of Secrets.
func (c *Catalog) SetKey(key content.ChecksumKey) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.key = key
}

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
