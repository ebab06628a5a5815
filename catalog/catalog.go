package catalog

import (
	"cmp"
	"maps"
	"slices"
	"sync"
	"time"
)

// Catalog knows every config and every workload that opted in, and which
// workload references which config. Its memory grows with the number of keys of
// the configs, not with the size of their values.
//
// The zero value is not usable; see [New]. All methods may be called by several
// goroutines at once.
type Catalog struct {
	kinds       []ConfigKind // that it keeps; none stands for all
	mu          sync.RWMutex
	moment      Moment
	key         ChecksumKey
	configs     map[ConfigRef]*Config
	gone        int // how many of configs are marked as deleted
	past        map[ConfigRef][]Past
	workloads   map[WorkloadRef]*Workload
	referencing map[ConfigRef]workloadSet
}

// New returns an empty catalog for configs of these kinds, or of all kinds if none is
// given. References to others do not count.
func New(kinds ...ConfigKind) *Catalog {
	return &Catalog{
		kinds:       kinds,
		configs:     make(map[ConfigRef]*Config),
		past:        make(map[ConfigRef][]Past),
		workloads:   make(map[WorkloadRef]*Workload),
		referencing: make(map[ConfigRef]workloadSet),
	}
}

// View is what the catalog knows about one workload at one moment. What it
// points to is shared and never modified.
type View struct {
	Workload *Workload
	// Configs holds the referenced configs that are known.
	Configs map[ConfigRef]*Config
	// Past holds the past contents of those of them that had any, the oldest first.
	Past   map[ConfigRef][]Past
	Moment Moment
	// Key keys the checksums of Secrets. It is zero as long as it is not known.
	Key ChecksumKey
	// Originals are the [OriginalDigest]s of those configs that [View.UnsettledByOriginal]
	// asks for. A Catalog does not know them.
	Originals map[ConfigRef]Checksum
}

// SetKey makes the key of Secrets' checksums known.
func (c *Catalog) SetKey(key ChecksumKey) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.key = key
}

// LacksKey tells whether nothing can be recorded of the workload yet, because it
// reads a Secret and the key is not known.
func (v *View) LacksKey() bool {
	return v.Key.IsZero() && slices.ContainsFunc(v.Workload.References, func(r Reference) bool { return r.Config.Kind == Secret })
}

// present returns a referenced config that exists, or nil.
func (v *View) present(ref ConfigRef) *Config {
	if config := v.Configs[ref]; config != nil && !config.Deleted {
		return config
	}
	return nil
}

// View returns what is known about a workload, and false if it is not in the
// catalog.
func (c *Catalog) View(ref WorkloadRef) (View, bool) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	workload, found := c.workloads[ref]
	if !found {
		return View{}, false
	}
	view := View{Workload: workload.readWith(c.key), Configs: make(map[ConfigRef]*Config), Moment: c.moment, Key: c.key}
	for _, reference := range workload.References {
		if config, found := c.configs[reference.Config]; found {
			view.Configs[reference.Config] = config
		}
		if past, found := c.past[reference.Config]; found {
			view.addPast(reference.Config, past)
		}
	}
	return view, true
}

// Moment returns that of the last observation.
func (c *Catalog) Moment() Moment {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.moment
}

// WorkloadsReferencing returns the workloads that reference a config, in no
// particular order. They are shared and never modified.
func (c *Catalog) WorkloadsReferencing(ref ConfigRef) []*Workload {
	c.mu.RLock()
	defer c.mu.RUnlock()
	referencing := c.referencing[ref]
	workloads := make([]*Workload, 0, referencing.len())
	for workload := range referencing.all {
		if known, found := c.workloads[workload]; found {
			workloads = append(workloads, known)
		}
	}
	return workloads
}

// Workloads returns all workloads, in no particular order.
func (c *Catalog) Workloads() []WorkloadRef {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return slices.Collect(maps.Keys(c.workloads))
}

// Size returns how many configs and how many workloads are known.
func (c *Catalog) Size() (configs, workloads int) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return len(c.configs) - c.gone, len(c.workloads)
}

// ObserveConfig takes in a config that the watch showed at the given time. It
// tells whether that is news to a workload: the config is new or has other
// content, and some workload references it.
func (c *Catalog) ObserveConfig(config Config, at time.Time) bool {
	a := newArrival(config, at, false)
	c.arrive(a)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.moment++
	return c.putConfig(a)
}

// ForgetConfig takes in that a config was deleted, which the watch showed at the given time.
// While a workload references it, its checksums are kept to compare with those of a successor.
func (c *Catalog) ForgetConfig(ref ConfigRef, at time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.moment++
	c.removeConfig(ref, at)
}

// ListConfigs takes in all configs of a kind and namespace (empty: of all
// namespaces), as listed at the given time. It returns those that
// [Catalog.ObserveConfig] would have returned true for. At the first list,
// which shows what was there before the catalog watched, that is none: the
// workloads' own changes cover them. It also returns those that are gone and referenced. The
// catalog may keep the configs, which must not be modified any more.
func (c *Catalog) ListConfigs(kind ConfigKind, namespace string, configs []*Config, at time.Time, first bool) (news, gone []ConfigRef) {
	arrivals := c.arrivalsOf(configs, at, first)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.moment++
	listed := make(map[ConfigRef]struct{}, len(configs))
	for i, config := range configs {
		listed[config.Ref] = struct{}{}
		if first {
			c.configs[config.Ref] = config
		} else if c.putConfig(arrivals[i]) {
			news = append(news, config.Ref)
		}
	}
	for ref := range c.configs {
		_, found := listed[ref]
		if !found && ref.Kind == kind && (namespace == "" || ref.Namespace == namespace) && c.removeConfig(ref, at) {
			gone = append(gone, ref)
		}
	}
	return news, gone
}

// arrivalsOf compares listed configs with what the catalog knows of them, unless it knows
// nothing yet.
func (c *Catalog) arrivalsOf(configs []*Config, at time.Time, first bool) []*arrival {
	if first {
		return nil
	}
	arrivals := make([]*arrival, 0, len(configs))
	for _, config := range configs {
		arrivals = append(arrivals, newArrival(*config, at, true))
	}
	c.arrive(arrivals...)
	return arrivals
}

func (c *Catalog) isReferenced(ref ConfigRef) bool {
	_, referenced := c.referencing[ref]
	return referenced
}

// removeConfig reports whether the config existed and is referenced.
func (c *Catalog) removeConfig(ref ConfigRef, at time.Time) bool {
	config, found := c.configs[ref]
	switch {
	case !found || config.Deleted:
		return false
	case !c.isReferenced(ref):
		delete(c.configs, ref)
		return false
	}
	deleted := *config
	deleted.Deleted = true
	c.configs[ref] = &deleted
	c.past[ref] = withGone(c.past[ref], Sighting{at, c.moment})
	c.gone++
	return true
}

// ObserveWorkload takes in a workload that opted in, as the watch showed it. It reports whether
// that calls for a decision: it is new, its template or its grace period changed, a restart was
// reverted, or its record became one that does not vouch. One that vouches is our own.
func (c *Catalog) ObserveWorkload(workload Workload) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.moment++
	if known, found := c.workloads[workload.Ref]; found && !newer(&workload, known) {
		return false
	}
	return c.putWorkload(&workload, c.moment, c.moment)
}

// ListWorkloads takes in all workloads of a kind and namespace (empty: of all
// namespaces) that opted in. It returns those that [Catalog.ObserveWorkload]
// would have returned true for, and those that are gone. The watch is known to have shown
// everything up to the moment of its last event or list, shown, which is 0 at the first list.
// The catalog keeps the workloads, which must not be modified any more.
func (c *Catalog) ListWorkloads(kind WorkloadKind, namespace string, workloads []*Workload, shown Moment) (news, gone []WorkloadRef) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.moment++
	listed := make(map[WorkloadRef]struct{}, len(workloads))
	for _, workload := range workloads {
		listed[workload.Ref] = struct{}{}
		isKept := c.workloads[workload.Ref] == workload // by an earlier call that panicked
		// When the template came is not known from a list.
		if !isKept && c.putWorkload(workload, 0, shown) {
			news = append(news, workload.Ref)
		}
	}
	for ref := range c.workloads {
		_, found := listed[ref]
		if !found && ref.Kind == kind && (namespace == "" || ref.Namespace == namespace) {
			c.removeWorkload(ref)
			gone = append(gone, ref)
		}
	}
	return news, gone
}

// ForgetWorkload takes in that a workload is gone or does not opt in, and reports whether
// it was known.
func (c *Catalog) ForgetWorkload(ref WorkloadRef) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.moment++
	return c.removeWorkload(ref)
}

// PurgeWorkload forgets a workload of which another method may have taken in a part before
// it panicked. It looks through the whole index.
func (c *Catalog) PurgeWorkload(ref WorkloadRef) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.moment++
	delete(c.workloads, ref)
	for config := range c.referencing {
		c.unreference(config, ref)
	}
}

// putWorkload stores a workload whose pod template the watch showed at a moment, 0 if that is
// not known, and which had not opted in yet at a moment before, 0 if that is not known either.
// It completes the workload.
func (c *Catalog) putWorkload(workload *Workload, templateSeen, shown Moment) bool {
	previous, known := c.workloads[workload.Ref]
	if known && previous.UID != workload.UID {
		c.removeWorkload(workload.Ref)
		previous, known = nil, false
	}
	workload.References = c.countingReferences(workload.References)
	workload.EnabledAfter, workload.EnabledSeen = shown, c.moment
	workload.PodTemplateSeen, workload.RecordSeen = templateSeen, c.moment
	if known {
		workload.succeed(previous, c.moment)
	}
	c.workloads[workload.Ref] = workload
	c.index(previous, workload)
	if !known {
		return true
	}
	spoiled := !workload.Record.Vouches && !previous.Record.equal(workload.Record)
	return previous.Template != workload.Template || spoiled || showsRevert(previous, workload) || !samePeriod(previous, workload)
}

// countingReferences returns the references to configs of the catalog's kinds.
func (c *Catalog) countingReferences(references []Reference) []Reference {
	if len(c.kinds) == 0 {
		return references
	}
	return slices.DeleteFunc(slices.Clone(references), func(r Reference) bool { return !slices.Contains(c.kinds, r.Config.Kind) })
}

func samePeriod(a, b *Workload) bool {
	if a.GracePeriod == nil || b.GracePeriod == nil {
		return a.GracePeriod == b.GracePeriod && a.Problem == b.Problem
	}
	return *a.GracePeriod == *b.GracePeriod
}

func (c *Catalog) removeWorkload(ref WorkloadRef) bool {
	workload, found := c.workloads[ref]
	if !found {
		return false
	}
	delete(c.workloads, ref)
	c.index(workload, nil)
	return true
}

// index moves a workload's entries in the reverse index from its previous
// references to its present ones. Either may be nil. It compares the references
// themselves: a fingerprint says nothing of them that somebody could not forge.
func (c *Catalog) index(previous, present *Workload) {
	if previous != nil && present != nil && slices.EqualFunc(previous.References, present.References, refersToSameConfig) {
		return // as with most changes
	}
	before, after := configsOf(previous), configsOf(present)
	for len(before) > 0 || len(after) > 0 {
		switch order := compareFirst(before, after); {
		case order < 0:
			c.unreference(before[0], previous.Ref)
			before = before[1:]
		case order > 0:
			c.reference(after[0], present.Ref)
			after = after[1:]
		default:
			before, after = before[1:], after[1:]
		}
	}
}

func refersToSameConfig(a, b Reference) bool { return a.Config == b.Config }

func configsOf(w *Workload) []ConfigRef {
	if w == nil {
		return nil
	}
	return w.Configs()
}

// compareFirst compares the first configs of two lists. One that is empty comes last.
func compareFirst(a, b []ConfigRef) int {
	if len(a) == 0 || len(b) == 0 {
		return cmp.Compare(len(b), len(a))
	}
	return compareConfigRefs(a[0], b[0])
}

func (c *Catalog) reference(config ConfigRef, workload WorkloadRef) {
	referencing := c.referencing[config]
	referencing.add(workload)
	c.referencing[config] = referencing
}

// unreference removes a workload from those that reference a config. A deleted
// config that nobody references any more is forgotten.
func (c *Catalog) unreference(config ConfigRef, workload WorkloadRef) {
	referencing := c.referencing[config]
	if referencing.remove(workload); referencing.len() > 0 {
		c.referencing[config] = referencing
		return
	}
	delete(c.referencing, config)
	delete(c.past, config)
	if known := c.configs[config]; known != nil && known.Deleted {
		delete(c.configs, config)
		c.gone--
	}
}
