package catalog

import (
	"cmp"
	"slices"

	"kubernetes-deployment-restart-controller/catalog/content"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/template"
	"kubernetes-deployment-restart-controller/catalog/workload"
)

// index moves a workload's entries in the reverse index from its previous references to its
// present ones. Either may be nil. It compares the references themselves, because a fingerprint
// could be forged.
func (c *Catalog) index(previous, present *workload.Workload) {
	if previous != nil && present != nil && slices.EqualFunc(previous.References, present.References, refersToSameConfig) {
		return // as in most changes
	}
	before, after := configsOf(previous), configsOf(present)
	var name *names.WorkloadRef
	if len(after) > 0 {
		name = new(present.Ref) // for all its configs
	}
	for len(before) > 0 || len(after) > 0 {
		switch order := compareFirst(before, after); {
		case order < 0:
			c.unreference(before[0], previous.Ref)
			before = before[1:]
		case order > 0:
			c.reference(after[0], name)
			after = after[1:]
		default:
			before, after = before[1:], after[1:]
		}
	}
}

func refersToSameConfig(a, b template.Reference) bool { return a.Config == b.Config }

func configsOf(w *workload.Workload) []names.ConfigRef {
	if w == nil {
		return nil
	}
	return w.Configs()
}

// compareFirst compares the first configs of two lists. An empty list comes last.
func compareFirst(a, b []names.ConfigRef) int {
	if len(a) == 0 || len(b) == 0 {
		return cmp.Compare(len(b), len(a))
	}
	return names.CompareConfigRefs(a[0], b[0])
}

func (c *Catalog) reference(config names.ConfigRef, workload *names.WorkloadRef) {
	referencing := c.Referencing[config]
	referencing.add(workload)
	c.Referencing[config] = referencing
	if config.IsShared() {
		c.elsewhere.add(config)
	}
}

// unreference removes a workload from the set of workloads that reference a config. The catalog
// forgets a deleted config with its last reference.
func (c *Catalog) unreference(config names.ConfigRef, workload names.WorkloadRef) {
	referencing := c.Referencing[config]
	if referencing.remove(workload); referencing.len() > 0 {
		c.Referencing[config] = referencing
		return
	}
	if delete(c.Referencing, config); config.IsShared() {
		c.elsewhere.remove(config)
		config = config.Source()
	}
	if !c.isReferenced(config) {
		c.forgetUnreferenced(config)
	}
}

// forgetUnreferenced forgets what is only kept of configs that are referenced.
func (c *Catalog) forgetUnreferenced(config names.ConfigRef) {
	delete(c.Past, config)
	c.forgetUnmounted(config)
	if c.gone == 0 {
		return
	}
	if known := c.config(config); known != nil && known.Deleted {
		c.dropConfig(config)
		c.gone--
	}
}

// fewWorkloads is the highest number of workloads that a [WorkloadSet] searches one by
// one.
const fewWorkloads = 16

// WorkloadSet is a set of workloads. There is a set for each config, and most have one
// or two workloads, so a small set is a slice. A set that has grown large is a map, so
// that ten thousand workloads that share a config do not search through each other. Names are shared by the sets of all
// configs that a workload references.
type WorkloadSet struct {
	first *names.WorkloadRef // nil if the set is empty
	more  *moreWorkloads
}

type moreWorkloads struct {
	few  []*names.WorkloadRef
	many map[names.WorkloadRef]struct{} // instead of few, if it is not nil
}

func (s WorkloadSet) len() int {
	switch {
	case s.first == nil:
		return 0
	case s.more == nil:
		return 1
	}
	return 1 + len(s.more.few) + len(s.more.many)
}

// all calls the function with each workload, in no particular order.
func (s WorkloadSet) all(yield func(names.WorkloadRef) bool) {
	if s.first == nil || !yield(*s.first) || s.more == nil {
		return
	}
	for _, ref := range s.more.few {
		if !yield(*ref) {
			return
		}
	}
	for ref := range s.more.many {
		if !yield(ref) {
			return
		}
	}
}

// add adds a workload that is not in the set.
func (s *WorkloadSet) add(ref *names.WorkloadRef) {
	switch {
	case s.first == nil:
		s.first = ref
		return
	case s.more == nil:
		s.more = &moreWorkloads{}
	}
	switch more := s.more; {
	case more.many != nil:
		more.many[*ref] = struct{}{}
	case len(more.few) < fewWorkloads:
		more.few = append(more.few, ref)
	default:
		more.many = map[names.WorkloadRef]struct{}{*ref: {}}
		for _, other := range more.few {
			more.many[*other] = struct{}{}
		}
		more.few = nil
	}
}

// remove removes a workload. It does nothing if the workload is not in the set.
func (s *WorkloadSet) remove(ref names.WorkloadRef) {
	if s.first != nil && *s.first == ref {
		s.first = s.more.takeAny()
	} else if s.more != nil {
		s.more.remove(ref)
	}
	if s.more != nil && len(s.more.few)+len(s.more.many) == 0 {
		s.more = nil
	}
}

// takeAny removes one workload and returns it, nil if there is none.
func (m *moreWorkloads) takeAny() *names.WorkloadRef {
	if m == nil {
		return nil
	}
	if last := len(m.few) - 1; last >= 0 {
		ref := m.few[last]
		m.few = m.few[:last]
		return ref
	}
	for ref := range m.many {
		delete(m.many, ref)
		return &ref
	}
	return nil
}

func (m *moreWorkloads) remove(ref names.WorkloadRef) {
	delete(m.many, ref)
	for i := range m.few {
		if *m.few[i] == ref {
			last := len(m.few) - 1
			m.few[i] = m.few[last]
			m.few = m.few[:last]
			return
		}
	}
}

// scopes hold values by kind, namespace and name. Values of one kind and namespace can be
// found without searching the others.
type scopes[K comparable, V any] struct {
	values map[scope[K]]map[string]V
	size   int
}

type scope[K comparable] struct {
	kind      K
	namespace string
}

func newScopes[K comparable, V any]() scopes[K, V] {
	return scopes[K, V]{values: make(map[scope[K]]map[string]V)}
}

func (s *scopes[K, V]) get(in scope[K], name string) (value V, found bool) {
	value, found = s.values[in][name]
	return value, found
}

func (s *scopes[K, V]) put(in scope[K], name string, value V) {
	values := s.values[in]
	if values == nil {
		values = make(map[string]V)
		s.values[in] = values
	}
	before := len(values)
	values[name] = value
	s.size += len(values) - before
}

func (s *scopes[K, V]) remove(in scope[K], name string) {
	values := s.values[in]
	before := len(values)
	delete(values, name)
	s.size += len(values) - before
	if len(values) == 0 {
		delete(s.values, in)
	}
}

// of returns the values of a kind, in a namespace or, if that is empty, in all of them.
func (s *scopes[K, V]) of(kind K, namespace string) (all []V) {
	if namespace != "" {
		return appendValues(all, s.values[scope[K]{kind, namespace}])
	}
	for in, values := range s.values {
		if in.kind == kind {
			all = appendValues(all, values)
		}
	}
	return all
}

func appendValues[V any](all []V, values map[string]V) []V {
	all = slices.Grow(all, len(values))
	for _, value := range values {
		all = append(all, value)
	}
	return all
}

func scopeOf(r names.ConfigRef) scope[names.ConfigKind] {
	return scope[names.ConfigKind]{r.Kind, r.Namespace}
}

func scopeOfWorkload(r names.WorkloadRef) scope[names.WorkloadKind] {
	return scope[names.WorkloadKind]{r.Kind, r.Namespace}
}

// config returns what the catalog knows about a config, or nil if it does not know the
// config, or if the config is one of another namespace that is gone or not shared.
func (c *Catalog) config(ref names.ConfigRef) *content.Config {
	if ref.IsShared() {
		return c.source(ref).As(ref)
	}
	return c.source(ref)
}

// source returns what the catalog keeps of a config, or of the config of another namespace that the name stands for,
// shared or not; nil if it keeps nothing.
func (c *Catalog) source(ref names.ConfigRef) *content.Config {
	ref = ref.Source()
	config, _ := c.configs.get(scopeOf(ref), ref.Name)
	return config
}

func (c *Catalog) KeepConfig(config *content.Config) {
	former, _ := c.configs.get(scopeOf(config.Ref), config.Ref.Name)
	c.configs.put(scopeOf(config.Ref), config.Ref.Name, config)
	text, set := config.Hold()
	noteHold(c.held.configs, config.Ref, text, set, former != nil && !former.Deleted, c.held.now)
}

func (c *Catalog) dropConfig(ref names.ConfigRef) {
	c.configs.remove(scopeOf(ref), ref.Name)
	delete(c.held.configs, ref)
}

// workload returns what the catalog knows about a workload, or nil if it does not know the
// workload.
func (c *Catalog) workload(ref names.WorkloadRef) *workload.Workload {
	workload, _ := c.workloads.get(scopeOfWorkload(ref), ref.Name)
	return workload
}

// HasWorkloads reports whether the catalog has workloads of a namespace.
func (c *Catalog) HasWorkloads(namespace string) bool {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return slices.ContainsFunc(c.workloadKinds, func(kind names.WorkloadKind) bool {
		return len(c.workloads.values[scope[names.WorkloadKind]{kind, namespace}]) > 0
	})
}

func (c *Catalog) keepWorkload(workload *workload.Workload) {
	if kind := workload.Ref.Kind; !slices.Contains(c.workloadKinds, kind) {
		c.workloadKinds = append(c.workloadKinds, kind)
	}
	former := c.workload(workload.Ref)
	c.workloads.put(scopeOfWorkload(workload.Ref), workload.Ref.Name, workload)
	text, set := workload.HoldNow()
	noteHold(c.held.workloads, workload.Ref, text, set, former != nil, c.held.now)
}

func (c *Catalog) dropWorkload(ref names.WorkloadRef) {
	c.workloads.remove(scopeOfWorkload(ref), ref.Name)
	delete(c.held.workloads, ref)
}
