package catalog

import "slices"

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

func (r ConfigRef) scope() scope[ConfigKind]     { return scope[ConfigKind]{r.Kind, r.Namespace} }
func (r WorkloadRef) scope() scope[WorkloadKind] { return scope[WorkloadKind]{r.Kind, r.Namespace} }

// config returns what the catalog knows about a config, or nil if it does not know the
// config, or if the config is one of another namespace that is gone or not shared.
func (c *Catalog) config(ref ConfigRef) *Config {
	if ref.IsShared() {
		return c.source(ref).As(ref)
	}
	return c.source(ref)
}

// source returns what the catalog keeps of a config, or of the config of another namespace that the name stands for,
// shared or not; nil if it keeps nothing.
func (c *Catalog) source(ref ConfigRef) *Config {
	ref = ref.Source()
	config, _ := c.configs.get(ref.scope(), ref.Name)
	return config
}

func (c *Catalog) keepConfig(config *Config) {
	former, _ := c.configs.get(config.Ref.scope(), config.Ref.Name)
	c.configs.put(config.Ref.scope(), config.Ref.Name, config)
	text, set := config.hold()
	noteHold(c.held.configs, config.Ref, text, set, former != nil && !former.Deleted, c.held.now)
}

func (c *Catalog) dropConfig(ref ConfigRef) {
	c.configs.remove(ref.scope(), ref.Name)
	delete(c.held.configs, ref)
}

// workload returns what the catalog knows about a workload, or nil if it does not know the
// workload.
func (c *Catalog) workload(ref WorkloadRef) *Workload {
	workload, _ := c.workloads.get(ref.scope(), ref.Name)
	return workload
}

// HasWorkloads reports whether the catalog has workloads of a namespace.
func (c *Catalog) HasWorkloads(namespace string) bool {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return slices.ContainsFunc(c.workloadKinds, func(kind WorkloadKind) bool {
		return len(c.workloads.values[scope[WorkloadKind]{kind, namespace}]) > 0
	})
}

func (c *Catalog) keepWorkload(workload *Workload) {
	if kind := workload.Ref.Kind; !slices.Contains(c.workloadKinds, kind) {
		c.workloadKinds = append(c.workloadKinds, kind)
	}
	former := c.workload(workload.Ref)
	c.workloads.put(workload.Ref.scope(), workload.Ref.Name, workload)
	text, set := workload.hold()
	noteHold(c.held.workloads, workload.Ref, text, set, former != nil, c.held.now)
}

func (c *Catalog) dropWorkload(ref WorkloadRef) {
	c.workloads.remove(ref.scope(), ref.Name)
	delete(c.held.workloads, ref)
}
