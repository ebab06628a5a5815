package catalog

import (
	"cmp"
	"slices"
	"time"

	"kubernetes-deployment-restart-controller/catalog/content"
	"kubernetes-deployment-restart-controller/catalog/index"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/template"
	"kubernetes-deployment-restart-controller/catalog/workload"
	"kubernetes-deployment-restart-controller/internal/counts"
)

// store is what a catalog keeps: the values, and the tables that find them. It has no lock; a [Catalog] does.
type store struct {
	kinds []names.ConfigKind // the kinds that are kept; empty means all
	// moment is the last one at which something was taken in, complete that at which the first list of a kind of config
	// had been.
	moment, complete names.Sequence
	key              content.ChecksumKey
	configs          index.Scoped[names.ConfigKind, *content.Config]
	gone             int // how many configs are marked as deleted
	past             map[names.ConfigRef][]content.Past
	workloads        index.Scoped[names.WorkloadKind, *workload.Workload]
	// workloadKinds are the kinds of which there has been a workload.
	workloadKinds []names.WorkloadKind
	references    index.References
	held          holdIndex
	mounts        mountTable
	listing       counts.By[string] // how many lists of configs are being taken in, by namespace
}

func newStore(kinds []names.ConfigKind) store {
	return store{
		kinds:      kinds,
		configs:    index.NewScoped[names.ConfigKind, *content.Config](),
		past:       make(map[names.ConfigRef][]content.Past),
		workloads:  index.NewScoped[names.WorkloadKind, *workload.Workload](),
		references: index.NewReferences(),
		held:       newHoldIndex(),
		mounts:     newMountTable(),
		listing:    make(counts.By[string]),
	}
}

// config returns what the catalog knows about a config, or nil if it does not know the
// config, or if the config is one of another namespace that is gone or not shared.
func (s *store) config(ref names.ConfigRef) *content.Config {
	if ref.IsShared() {
		return s.source(ref).As(ref)
	}
	return s.source(ref)
}

// source returns what the catalog keeps of a config, or of the config of another namespace that the name stands for,
// shared or not; nil if it keeps nothing.
func (s *store) source(ref names.ConfigRef) *content.Config {
	ref = ref.Source()
	return s.configs.Get(ref.Kind, ref.Namespace, ref.Name)
}

// keepConfig stores a config.
func (s *store) keepConfig(config *content.Config) {
	ref := config.Ref
	former := s.configs.Get(ref.Kind, ref.Namespace, ref.Name)
	s.configs.Put(ref.Kind, ref.Namespace, ref.Name, config)
	text, set := config.Hold()
	noteHold(s.held.configs, ref, text, set, former != nil && !former.Deleted, s.held.now)
}

func (s *store) dropConfig(ref names.ConfigRef) {
	s.configs.Remove(ref.Kind, ref.Namespace, ref.Name)
	delete(s.held.configs, ref)
}

// workload returns what the catalog knows about a workload, or nil if it does not know the
// workload.
func (s *store) workload(ref names.WorkloadRef) *workload.Workload {
	return s.workloads.Get(ref.Kind, ref.Namespace, ref.Name)
}

// keepWorkload stores a workload.
func (s *store) keepWorkload(workload *workload.Workload) {
	ref := workload.Ref
	if !slices.Contains(s.workloadKinds, ref.Kind) {
		s.workloadKinds = append(s.workloadKinds, ref.Kind)
	}
	former := s.workload(ref)
	s.workloads.Put(ref.Kind, ref.Namespace, ref.Name, workload)
	text, set := workload.HoldNow()
	noteHold(s.held.workloads, ref, text, set, former != nil, s.held.now)
}

func (s *store) dropWorkload(ref names.WorkloadRef) {
	s.workloads.Remove(ref.Kind, ref.Namespace, ref.Name)
	delete(s.held.workloads, ref)
}

// release forgets what is only kept of configs that are referenced, unless the config is referenced under another name.
func (s *store) release(config names.ConfigRef) {
	if config = config.Source(); s.isReferenced(config) {
		return
	}
	delete(s.past, config)
	s.forgetUnmounted(config)
	if s.gone == 0 {
		return
	}
	if known := s.config(config); known != nil && known.Deleted {
		s.dropConfig(config)
		s.gone--
	}
}

// present returns a config that exists, or nil.
func (s *store) present(ref names.ConfigRef) *content.Config {
	if config := s.config(ref); config != nil && !config.Deleted {
		return config
	}
	return nil
}

func (s *store) isReferenced(ref names.ConfigRef) bool {
	return s.references.Has(ref) || s.isSharedWithAny(ref)
}

func (s *store) readersOf(ref names.ConfigRef) []*workload.Workload {
	workloads := make([]*workload.Workload, 0, s.references.Count(ref))
	for workload := range s.references.To(ref) {
		if known := s.workload(workload); known != nil {
			workloads = append(workloads, known)
		}
	}
	return workloads
}

// removeConfig reports whether the config existed and is referenced.
func (s *store) removeConfig(ref names.ConfigRef, at time.Time) bool {
	config := s.config(ref)
	switch {
	case config == nil || config.Deleted:
		return false
	case !s.isReferenced(ref):
		s.dropConfig(ref)
		return false
	}
	deleted := *config
	deleted.Deleted, deleted.Policy = true, config.Policy.WhenGone()
	s.keepConfig(&deleted)
	s.past[ref] = content.WithGone(s.past[ref], config, names.Sighting{At: at, Seen: s.moment})
	s.gone++
	return true
}

// putWorkload completes and stores a workload. The watch showed its pod template at the moment
// templateSeen, and had shown everything before the workload opted in up to the moment shown;
// each is 0 if it is not known.
func (s *store) putWorkload(workload *workload.Workload, templateSeen, shown names.Sequence) bool {
	previous := s.workload(workload.Ref)
	if previous != nil && previous.UID != workload.UID {
		s.removeWorkload(workload.Ref)
		previous = nil
	}
	if previous != nil && previous.Excess != workload.Excess {
		s.removeWorkload(workload.Ref) // nobody followed it while it was left alone
		previous, templateSeen, shown = nil, 0, 0
	}
	workload.References = s.countingReferences(workload.References)
	workload.EnabledAfter, workload.EnabledSeen = shown, s.moment
	workload.PodTemplateSeen, workload.RecordSeen = templateSeen, s.moment
	if previous != nil {
		workload.Succeed(previous, s.moment)
	}
	workload.FollowFilters(previous, s.moment)
	s.mounts.follow(workload, s.moment)
	s.relink(previous, workload)
	s.keepWorkload(workload) // only after indexing: a workload that causes a panic must not seem known
	if previous == nil {
		return true
	}
	spoiled := !workload.Record.Trusted && !previous.Record.SaysTheSame(workload.Record)
	return previous.Template != workload.Template || spoiled || showsRevert(previous, workload) || !asksTheSame(previous, workload)
}

// countingReferences returns the references to configs of the kinds that the catalog keeps.
func (s *store) countingReferences(references []template.Reference) []template.Reference {
	isOther := func(r template.Reference) bool { return !slices.Contains(s.kinds, r.Config.Kind) }
	if len(s.kinds) == 0 || !slices.ContainsFunc(references, isOther) {
		return references
	}
	return slices.DeleteFunc(slices.Clone(references), isOther)
}

// asksTheSame reports whether the annotations by which people influence restarts are the same.
func asksTheSame(a, b *workload.Workload) bool {
	return names.AreEqual(a.GracePeriod, b.GracePeriod) && names.AreEqual(a.Policy, b.Policy) && a.Filter() == b.Filter()
}

func (s *store) removeWorkload(ref names.WorkloadRef) bool {
	workload := s.workload(ref)
	if workload == nil {
		return false
	}
	s.dropWorkload(ref)
	delete(s.mounts.readSince, ref)
	s.relink(workload, nil)
	return true
}

// showsRevert reports whether a workload shows a revert that its previous state did not. It
// ignores By, which may change with any write.
func showsRevert(previous, present *workload.Workload) bool {
	before, now := previous.Record.Reverted, present.Record.Reverted
	switch {
	case now == nil:
		return false
	case before == nil || previous.Timestamp != present.Timestamp:
		return true
	}
	return before.Restart != now.Restart || !before.Recorded.Equal(now.Recorded)
}

// relink moves the references of a workload in the index from its previous ones to its present ones. Either may be nil. It
// compares the references themselves, because a fingerprint could be forged.
func (s *store) relink(previous, present *workload.Workload) {
	if previous != nil && present != nil && slices.EqualFunc(previous.References, present.References, refersToSameConfig) {
		return // as in most changes
	}
	ref := cmp.Or(present, previous).Ref
	s.references.Move(ref, configsOf(previous), configsOf(present), s.release)
}

func refersToSameConfig(a, b template.Reference) bool { return a.Config == b.Config }

func configsOf(w *workload.Workload) []names.ConfigRef {
	if w == nil {
		return nil
	}
	return w.Configs()
}

func (s *store) namesElsewhere(ref names.ConfigRef) (listed []names.ConfigRef) {
	config := s.source(ref)
	for namespace := range s.references.Elsewhere(ref) {
		if _, isShared := config.SharedSince(namespace); isShared {
			listed = append(listed, ref.SharedIn(namespace))
		}
	}
	slices.SortFunc(listed, names.CompareConfigRefs)
	return listed
}

// isSharedWithAny reports whether workloads name a config that is shared with their namespace.
func (s *store) isSharedWithAny(ref names.ConfigRef) bool {
	config := s.source(ref)
	if config == nil || config.Policy == nil {
		return false
	}
	for namespace := range s.references.Elsewhere(ref) {
		if _, isShared := config.SharedSince(namespace); isShared {
			return true
		}
	}
	return false
}
