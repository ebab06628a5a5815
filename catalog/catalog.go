package catalog

import (
	"slices"
	"sync"
	"time"

	"kubernetes-deployment-restart-controller/catalog/content"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/template"
	"kubernetes-deployment-restart-controller/catalog/workload"
)

// Catalog knows every config and every workload that opted in, and which
// workload references which config. Its memory grows with the number of keys of
// the configs, not with the size of their values.
//
// The zero value is not usable; see [New]. All methods may be called by several
// goroutines at once.
type Catalog struct {
	kinds     []names.ConfigKind // the kinds that the catalog keeps; empty means all
	mu        sync.RWMutex
	moment    names.Sequence
	key       content.ChecksumKey
	configs   scopes[names.ConfigKind, *content.Config]
	complete  names.Sequence
	listing   Counts[string] // how many lists of configs the catalog is taking in, by namespace
	gone      int            // how many configs are marked as deleted
	Past      map[names.ConfigRef][]content.Past
	workloads scopes[names.WorkloadKind, *workload.Workload]
	// workloadKinds are the kinds of which there has been a workload.
	workloadKinds []names.WorkloadKind
	Referencing   map[names.ConfigRef]WorkloadSet
	elsewhere     readersElsewhere
	held          holdIndex
	Mounts        content.MountTable
	wholes        content.WholeChecksums // needs no lock
}

// New returns an empty catalog for configs of these kinds, or of all kinds if no kind is given.
// It ignores references to configs of other kinds.
func New(kinds ...names.ConfigKind) *Catalog {
	return &Catalog{
		kinds:       kinds,
		configs:     newScopes[names.ConfigKind, *content.Config](),
		listing:     make(Counts[string]),
		Past:        make(map[names.ConfigRef][]content.Past),
		workloads:   newScopes[names.WorkloadKind, *workload.Workload](),
		Referencing: make(map[names.ConfigRef]WorkloadSet),
		elsewhere:   make(readersElsewhere),
		held:        newHoldIndex(),
		Mounts:      content.NewMountTable(),
	}
}

// View is what the catalog knows about one workload at one moment. The values it points to are
// shared and never modified.
type View struct {
	Workload *workload.Workload
	// Configs holds the referenced configs that are known.
	Configs map[names.ConfigRef]*content.Config
	// Sources holds those that are of other namespaces, as the catalog keeps them; see [View.Source].
	Sources map[names.ConfigRef]*content.Config
	// Past holds the past contents of these configs, the oldest first. Configs without past
	// contents are absent.
	Past     map[names.ConfigRef][]content.Past
	Sequence names.Sequence
	// Complete is the moment at which the catalog had last taken in the first list of a kind of
	// config.
	Complete names.Sequence
	// Listing reports whether the catalog is taking in a list of the namespace's configs. Some
	// of them may then be newer than others, so a decision would soon be made again.
	Listing bool
	// Key keys the checksums of Secrets. It is zero until it is known.
	Key content.ChecksumKey
	// Originals holds the [record.OriginalDigest]s of the configs that [decide.UnsettledByOriginal]
	// returns. A Catalog does not know them; the caller provides them.
	Originals map[names.ConfigRef]names.Checksum
	// Mounts is what is known of the referenced configs of which each pod has its own content.
	Mounts map[names.ConfigRef]content.ClassMounts
}

// SetKey sets the key of the checksums of Secrets.
func (c *Catalog) SetKey(key content.ChecksumKey) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.key = key
}

// LacksKey reports whether nothing can be recorded on the workload yet because it reads a
// Secret and the key is not known.
func (v *View) LacksKey() bool {
	return v.Key.IsZero() && slices.ContainsFunc(v.Workload.References, func(r template.Reference) bool { return r.Config.Kind.IsKeyed() })
}

// Present returns a referenced config that exists, or nil.
func (v *View) Present(ref names.ConfigRef) *content.Config {
	if config := v.Configs[ref]; config != nil && !config.Deleted {
		return config
	}
	return nil
}

// View returns what the catalog knows about a workload, and false if it does not have the
// workload.
func (c *Catalog) View(ref names.WorkloadRef) (View, bool) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	workload := c.workload(ref)
	if workload == nil {
		return View{}, false
	}
	view := View{Workload: workload.ReadWith(c.key), Configs: make(map[names.ConfigRef]*content.Config), Sequence: c.moment, Complete: c.complete, Key: c.key}
	view.Listing = c.listing[""] > 0 || c.listing[ref.Namespace] > 0
	var unrecorded []names.ConfigRef
	for _, reference := range workload.References {
		view.addMounts(c, &reference)
		if reference.Channel == template.API && reference.Config.IsShared() {
			if view.addShared(c, reference.Config) {
				unrecorded = append(unrecorded, reference.Config)
			}
			continue
		}
		if config := c.config(reference.Config); config != nil {
			view.Configs[reference.Config] = config
		}
		if past, found := c.Past[reference.Config]; found {
			view.addPast(reference.Config, past)
		}
	}
	view.Workload = view.Workload.WithoutRecordOf(unrecorded)
	return view, true
}

// Workload returns what the catalog knows about a workload, or nil if it does not have the workload.
// The value is shared and never modified.
func (c *Catalog) Workload(ref names.WorkloadRef) *workload.Workload {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.workload(ref)
}

// Sequence returns the sequence of the last observation.
func (c *Catalog) Sequence() names.Sequence {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.moment
}

// WorkloadsReferencing returns the workloads that reference a config, in no particular order.
// The returned values are shared and never modified.
func (c *Catalog) WorkloadsReferencing(ref names.ConfigRef) []*workload.Workload {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.readersOf(ref)
}

func (c *Catalog) readersOf(ref names.ConfigRef) []*workload.Workload {
	referencing := c.Referencing[ref]
	workloads := make([]*workload.Workload, 0, referencing.len())
	for workload := range referencing.all {
		if known := c.workload(workload); known != nil {
			workloads = append(workloads, known)
		}
	}
	return workloads
}

// Workloads returns all workloads, in no particular order.
func (c *Catalog) Workloads() []names.WorkloadRef {
	c.mu.RLock()
	defer c.mu.RUnlock()
	refs := make([]names.WorkloadRef, 0, c.workloads.size)
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
func (c *Catalog) ObserveConfig(config content.Config, at time.Time) bool {
	return c.take(content.NewArrival(config, at, false))
}

// ForgetConfig takes in the deletion of a config, which the watch showed at the given time.
// While a workload references the config, the catalog keeps its checksums to compare them with
// those of a successor.
func (c *Catalog) ForgetConfig(ref names.ConfigRef, at time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.moment++
	c.removeConfig(ref, at)
}

func (c *Catalog) isReferenced(ref names.ConfigRef) bool {
	_, referenced := c.Referencing[ref]
	return referenced || c.isSharedWithAny(ref)
}

// removeConfig reports whether the config existed and is referenced.
func (c *Catalog) removeConfig(ref names.ConfigRef, at time.Time) bool {
	config := c.config(ref)
	switch {
	case config == nil || config.Deleted:
		return false
	case !c.isReferenced(ref):
		c.dropConfig(ref)
		return false
	}
	deleted := *config
	deleted.Deleted, deleted.Policy = true, config.Policy.WhenGone()
	c.KeepConfig(&deleted)
	c.Past[ref] = content.WithGone(c.Past[ref], names.Sighting{At: at, Seen: c.moment})
	c.gone++
	return true
}

// ObserveWorkload takes in a workload that opted in, as the watch showed it. It reports whether
// the workload needs a decision: it is new, its template, its grace period or its policy changed, a
// restart was reverted, or it got another record that is not trusted. A trusted record is our own.
func (c *Catalog) ObserveWorkload(w workload.Workload) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.moment++
	if known := c.workload(w.Ref); known != nil && !workload.IsLaterVersion(w.ResourceVersion, known.ResourceVersion) {
		return false
	}
	return c.putWorkload(&w, c.moment, c.moment)
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
	c.mu.Lock()
	defer c.mu.Unlock()
	c.moment++
	return c.removeWorkload(ref)
}

// PurgeWorkload forgets a workload that another method may have taken in partly before it
// panicked. It searches the whole index.
func (c *Catalog) PurgeWorkload(ref names.WorkloadRef) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.moment++
	c.dropWorkload(ref)
	delete(c.Mounts.ReadSince, ref)
	for config := range c.Referencing {
		c.unreference(config, ref)
	}
}

// putWorkload completes and stores a workload. The watch showed its pod template at the moment
// templateSeen, and had shown everything before the workload opted in up to the moment shown;
// each is 0 if it is not known.
func (c *Catalog) putWorkload(workload *workload.Workload, templateSeen, shown names.Sequence) bool {
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
		workload.Succeed(previous, c.moment)
	}
	workload.FollowFilters(previous, c.moment)
	c.followMounts(workload)
	c.index(previous, workload)
	c.keepWorkload(workload) // only after indexing: a workload that causes a panic must not seem known
	if previous == nil {
		return true
	}
	spoiled := !workload.Applied.Trusted && !previous.Applied.Equal(workload.Applied)
	return previous.Template != workload.Template || spoiled || showsRevert(previous, workload) || !asksTheSame(previous, workload)
}

// countingReferences returns the references to configs of the kinds that the catalog keeps.
func (c *Catalog) countingReferences(references []template.Reference) []template.Reference {
	isOther := func(r template.Reference) bool { return !slices.Contains(c.kinds, r.Config.Kind) }
	if len(c.kinds) == 0 || !slices.ContainsFunc(references, isOther) {
		return references
	}
	return slices.DeleteFunc(slices.Clone(references), isOther)
}

// asksTheSame reports whether the annotations by which people influence restarts are the same.
func asksTheSame(a, b *workload.Workload) bool {
	return names.AreEqual(a.GracePeriod, b.GracePeriod) && a.Problem == b.Problem && names.AreEqual(a.Policy, b.Policy) && a.Filter() == b.Filter()
}

func (c *Catalog) removeWorkload(ref names.WorkloadRef) bool {
	workload := c.workload(ref)
	if workload == nil {
		return false
	}
	c.dropWorkload(ref)
	delete(c.Mounts.ReadSince, ref)
	c.index(workload, nil)
	return true
}

// addPast adds the past contents of a config.
func (v *View) addPast(config names.ConfigRef, past []content.Past) {
	if v.Past == nil {
		v.Past = make(map[names.ConfigRef][]content.Past)
	}
	v.Past[config] = past
}

// showsRevert reports whether a workload shows a revert that its previous state did not. It
// ignores By, which may change with any write.
func showsRevert(previous, present *workload.Workload) bool {
	before, now := previous.Applied.Reverted, present.Applied.Reverted
	switch {
	case now == nil:
		return false
	case before == nil || previous.Timestamp != present.Timestamp:
		return true
	}
	return before.Restart != now.Restart || !before.Recorded.Equal(now.Recorded)
}
