package catalog

import (
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
	kinds     []ConfigKind // the kinds that the catalog keeps; empty means all
	mu        sync.RWMutex
	moment    Sequence
	key       ChecksumKey
	configs   scopes[ConfigKind, *Config]
	complete  Sequence
	listing   Counts[string] // how many lists of configs the catalog is taking in, by namespace
	gone      int            // how many configs are marked as deleted
	past      map[ConfigRef][]Past
	workloads scopes[WorkloadKind, *Workload]
	// workloadKinds are the kinds of which there has been a workload.
	workloadKinds []WorkloadKind
	referencing   map[ConfigRef]workloadSet
	elsewhere     readersElsewhere
	held          holdIndex
	mounts        mountTable
	wholes        wholeChecksums // needs no lock
}

// New returns an empty catalog for configs of these kinds, or of all kinds if no kind is given.
// It ignores references to configs of other kinds.
func New(kinds ...ConfigKind) *Catalog {
	return &Catalog{
		kinds:       kinds,
		configs:     newScopes[ConfigKind, *Config](),
		listing:     make(Counts[string]),
		past:        make(map[ConfigRef][]Past),
		workloads:   newScopes[WorkloadKind, *Workload](),
		referencing: make(map[ConfigRef]workloadSet),
		elsewhere:   make(readersElsewhere),
		held:        newHoldIndex(),
		mounts:      newMountTable(),
	}
}

// View is what the catalog knows about one workload at one moment. The values it points to are
// shared and never modified.
type View struct {
	Workload *Workload
	// Configs holds the referenced configs that are known.
	Configs map[ConfigRef]*Config
	// Sources holds those that are of other namespaces, as the catalog keeps them; see [View.Source].
	Sources map[ConfigRef]*Config
	// Past holds the past contents of these configs, the oldest first. Configs without past
	// contents are absent.
	Past     map[ConfigRef][]Past
	Sequence Sequence
	// Complete is the moment at which the catalog had last taken in the first list of a kind of
	// config.
	Complete Sequence
	// Listing reports whether the catalog is taking in a list of the namespace's configs. Some
	// of them may then be newer than others, so a decision would soon be made again.
	Listing bool
	// Key keys the checksums of Secrets. It is zero until it is known.
	Key ChecksumKey
	// Originals holds the [OriginalDigest]s of the configs that [View.UnsettledByOriginal]
	// returns. A Catalog does not know them; the caller provides them.
	Originals map[ConfigRef]Checksum
	// Mounts is what is known of the referenced configs of which each pod has its own content.
	Mounts map[ConfigRef]ClassMounts
}

// SetKey sets the key of the checksums of Secrets.
func (c *Catalog) SetKey(key ChecksumKey) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.key = key
}

// LacksKey reports whether nothing can be recorded on the workload yet because it reads a
// Secret and the key is not known.
func (v *View) LacksKey() bool {
	return v.Key.IsZero() && slices.ContainsFunc(v.Workload.References, func(r Reference) bool { return r.Config.Kind.isKeyed() })
}

// present returns a referenced config that exists, or nil.
func (v *View) present(ref ConfigRef) *Config {
	if config := v.Configs[ref]; config != nil && !config.Deleted {
		return config
	}
	return nil
}

// View returns what the catalog knows about a workload, and false if it does not have the
// workload.
func (c *Catalog) View(ref WorkloadRef) (View, bool) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	workload := c.workload(ref)
	if workload == nil {
		return View{}, false
	}
	view := View{Workload: workload.readWith(c.key), Configs: make(map[ConfigRef]*Config), Sequence: c.moment, Complete: c.complete, Key: c.key}
	view.Listing = c.listing[""] > 0 || c.listing[ref.Namespace] > 0
	var unrecorded []ConfigRef
	for _, reference := range workload.References {
		view.addMounts(c, &reference)
		if reference.Channel == API && reference.Config.IsShared() {
			if view.addShared(c, reference.Config) {
				unrecorded = append(unrecorded, reference.Config)
			}
			continue
		}
		if config := c.config(reference.Config); config != nil {
			view.Configs[reference.Config] = config
		}
		if past, found := c.past[reference.Config]; found {
			view.addPast(reference.Config, past)
		}
	}
	view.Workload = view.Workload.withoutRecordOf(unrecorded)
	return view, true
}

// Workload returns what the catalog knows about a workload, or nil if it does not have the workload.
// The value is shared and never modified.
func (c *Catalog) Workload(ref WorkloadRef) *Workload {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.workload(ref)
}

// Sequence returns the sequence of the last observation.
func (c *Catalog) Sequence() Sequence {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.moment
}

// WorkloadsReferencing returns the workloads that reference a config, in no particular order.
// The returned values are shared and never modified.
func (c *Catalog) WorkloadsReferencing(ref ConfigRef) []*Workload {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.readersOf(ref)
}

func (c *Catalog) readersOf(ref ConfigRef) []*Workload {
	referencing := c.referencing[ref]
	workloads := make([]*Workload, 0, referencing.len())
	for workload := range referencing.all {
		if known := c.workload(workload); known != nil {
			workloads = append(workloads, known)
		}
	}
	return workloads
}

// Workloads returns all workloads, in no particular order.
func (c *Catalog) Workloads() []WorkloadRef {
	c.mu.RLock()
	defer c.mu.RUnlock()
	refs := make([]WorkloadRef, 0, c.workloads.size)
	for _, values := range c.workloads.values {
		for _, workload := range values {
			refs = append(refs, workload.Ref)
		}
	}
	return refs
}

// Size returns how many configs and how many workloads are known.
func (c *Catalog) Size() (configs, workloads int) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.configs.size - c.gone, c.workloads.size
}

// ObserveConfig takes in a config that the watch showed at the given time. It reports whether
// it is news to a workload: the config is new, its content changed, it is ignored from now on or no
// longer, or shared with others than before; and at least one workload references it.
func (c *Catalog) ObserveConfig(config Config, at time.Time) bool {
	return c.take(newArrival(config, at, false))
}

// ForgetConfig takes in the deletion of a config, which the watch showed at the given time.
// While a workload references the config, the catalog keeps its checksums to compare them with
// those of a successor.
func (c *Catalog) ForgetConfig(ref ConfigRef, at time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.moment++
	c.removeConfig(ref, at)
}

func (c *Catalog) isReferenced(ref ConfigRef) bool {
	_, referenced := c.referencing[ref]
	return referenced || c.isSharedWithAny(ref)
}

// removeConfig reports whether the config existed and is referenced.
func (c *Catalog) removeConfig(ref ConfigRef, at time.Time) bool {
	config := c.config(ref)
	switch {
	case config == nil || config.Deleted:
		return false
	case !c.isReferenced(ref):
		c.dropConfig(ref)
		return false
	}
	deleted := *config
	deleted.Deleted, deleted.Policy = true, config.Policy.whenGone()
	c.keepConfig(&deleted)
	c.past[ref] = withGone(c.past[ref], Sighting{at, c.moment})
	c.gone++
	return true
}

// ObserveWorkload takes in a workload that opted in, as the watch showed it. It reports whether
// the workload needs a decision: it is new, its template, its grace period or its policy changed, a
// restart was reverted, or it got another record that is not trusted. A trusted record is our own.
func (c *Catalog) ObserveWorkload(workload Workload) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.moment++
	if known := c.workload(workload.Ref); known != nil && !IsLaterVersion(workload.ResourceVersion, known.ResourceVersion) {
		return false
	}
	return c.putWorkload(&workload, c.moment, c.moment)
}

// LeaveAlone takes in that the workloads of a namespace have too many references together, so that this one is left
// alone; see [Workload.LeftAlone]. It returns nil if the catalog does not have the workload, or if that is known.
func (c *Catalog) LeaveAlone(ref WorkloadRef) *Workload {
	c.mu.Lock()
	defer c.mu.Unlock()
	known := c.workload(ref)
	if known == nil || known.Excess != NoExcess {
		return nil
	}
	c.moment++
	left := known.LeftAlone()
	c.putWorkload(left, 0, 0)
	return left
}

// ForgetWorkload takes in that a workload is gone or no longer opts in, and reports whether the
// catalog knew it.
func (c *Catalog) ForgetWorkload(ref WorkloadRef) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.moment++
	return c.removeWorkload(ref)
}

// PurgeWorkload forgets a workload that another method may have taken in partly before it
// panicked. It searches the whole index.
func (c *Catalog) PurgeWorkload(ref WorkloadRef) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.moment++
	c.dropWorkload(ref)
	delete(c.mounts.readSince, ref)
	for config := range c.referencing {
		c.unreference(config, ref)
	}
}

// putWorkload completes and stores a workload. The watch showed its pod template at the moment
// templateSeen, and had shown everything before the workload opted in up to the moment shown;
// each is 0 if it is not known.
func (c *Catalog) putWorkload(workload *Workload, templateSeen, shown Sequence) bool {
	previous := c.workload(workload.Ref)
	if previous != nil && previous.UID != workload.UID {
		c.removeWorkload(workload.Ref)
		previous = nil
	}
	if previous != nil && previous.Excess != workload.Excess {
		c.removeWorkload(workload.Ref) // nobody followed it while it was left alone
		previous, templateSeen, shown = nil, 0, 0
	}
	workload.References = c.countingReferences(workload.References)
	workload.EnabledAfter, workload.EnabledSeen = shown, c.moment
	workload.PodTemplateSeen, workload.RecordSeen = templateSeen, c.moment
	if previous != nil {
		workload.succeed(previous, c.moment)
	}
	workload.followFilters(previous, c.moment)
	c.followMounts(workload)
	c.index(previous, workload)
	c.keepWorkload(workload) // only after indexing: a workload that causes a panic must not seem known
	if previous == nil {
		return true
	}
	spoiled := !workload.Applied.Trusted && !previous.Applied.equal(workload.Applied)
	return previous.Template != workload.Template || spoiled || showsRevert(previous, workload) || !asksTheSame(previous, workload)
}

// countingReferences returns the references to configs of the kinds that the catalog keeps.
func (c *Catalog) countingReferences(references []Reference) []Reference {
	isOther := func(r Reference) bool { return !slices.Contains(c.kinds, r.Config.Kind) }
	if len(c.kinds) == 0 || !slices.ContainsFunc(references, isOther) {
		return references
	}
	return slices.DeleteFunc(slices.Clone(references), isOther)
}

// asksTheSame reports whether the annotations by which people influence restarts are the same.
func asksTheSame(a, b *Workload) bool {
	return areEqual(a.GracePeriod, b.GracePeriod) && a.Problem == b.Problem && areEqual(a.Policy, b.Policy) && a.Filter() == b.Filter()
}

// areEqual reports whether both values are the same, or both are missing.
func areEqual[T comparable](a, b *T) bool {
	if a == nil || b == nil {
		return a == b
	}
	return *a == *b
}

func (c *Catalog) removeWorkload(ref WorkloadRef) bool {
	workload := c.workload(ref)
	if workload == nil {
		return false
	}
	c.dropWorkload(ref)
	delete(c.mounts.readSince, ref)
	c.index(workload, nil)
	return true
}
