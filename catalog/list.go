package catalog

import "time"

// What a list has is taken in one by one, as from events, so that nobody waits for the catalog
// until all of a long list is in it.

// ListConfigs takes in all configs of a kind and namespace (empty: of all
// namespaces), as listed at the given time. It calls news with those that
// [Catalog.ObserveConfig] would have returned true for, each at once: whatever panics later,
// it would be no news any more. At the first list,
// which shows what was there before the catalog watched, that is none: the
// workloads' own changes cover them. It returns those that are gone and referenced. The
// catalog may keep the configs, which must not be modified any more.
func (c *Catalog) ListConfigs(kind ConfigKind, namespace string, configs []*Config, at time.Time, first bool, news func(ConfigRef)) (gone []ConfigRef) {
	before := c.beginList(kind, namespace)
	defer c.endList(namespace)
	listed := make(map[ConfigRef]struct{}, len(configs))
	for _, config := range configs {
		listed[config.Ref] = struct{}{}
		if first {
			c.takeFirst(config)
		} else if c.take(newArrival(*config, at, true)) {
			news(config.Ref)
		}
	}
	for _, config := range before {
		if _, found := listed[config.Ref]; !found && c.missConfig(config, at) {
			gone = append(gone, config.Ref)
		}
	}
	return gone
}

// beginList returns the configs that are known before a list of them is taken in.
func (c *Catalog) beginList(kind ConfigKind, namespace string) []*Config {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.listing[namespace]++
	return c.configs.of(kind, namespace)
}

func (c *Catalog) endList(namespace string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.listing[namespace]--; c.listing[namespace] == 0 {
		delete(c.listing, namespace)
	}
}

// takeFirst takes in a config that was there before the catalog watched.
func (c *Catalog) takeFirst(config *Config) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.moment++
	c.keepConfig(config)
}

// missConfig takes in that a config was not listed, unless it has changed since the list came.
// It reports whether it is gone and referenced.
func (c *Catalog) missConfig(config *Config, at time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.moment++
	return c.config(config.Ref) == config && c.removeConfig(config.Ref, at)
}

// ListWorkloads takes in all workloads of a kind and namespace (empty: of all
// namespaces) that opted in. It calls news with those that [Catalog.ObserveWorkload]
// would have returned true for, each at once, and returns those that are gone. The watch is known to have shown
// everything up to the moment of its last event or list, shown, which is 0 at the first list.
// The catalog keeps the workloads, which must not be modified any more.
func (c *Catalog) ListWorkloads(kind WorkloadKind, namespace string, workloads []*Workload, shown Sequence, news func(WorkloadRef)) (gone []WorkloadRef) {
	before := c.workloadsOf(kind, namespace)
	listed := make(map[WorkloadRef]struct{}, len(workloads))
	for _, workload := range workloads {
		listed[workload.Ref] = struct{}{}
		if c.takeListed(workload, shown) {
			news(workload.Ref)
		}
	}
	for _, workload := range before {
		if _, found := listed[workload.Ref]; !found && c.missWorkload(workload) {
			gone = append(gone, workload.Ref)
		}
	}
	return gone
}

func (c *Catalog) workloadsOf(kind WorkloadKind, namespace string) []*Workload {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.workloads.of(kind, namespace)
}

// takeListed takes in a workload that was listed. When its template came is not known then.
func (c *Catalog) takeListed(workload *Workload, shown Sequence) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.moment++
	isKept := c.workload(workload.Ref) == workload // by an earlier call that panicked
	return !isKept && c.putWorkload(workload, 0, shown)
}

// missWorkload takes in that a workload was not listed, unless it was made anew since the list
// came. It reports whether it is gone.
func (c *Catalog) missWorkload(workload *Workload) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.moment++
	known := c.workload(workload.Ref)
	return known != nil && known.UID == workload.UID && c.removeWorkload(workload.Ref)
}
