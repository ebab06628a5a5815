package catalog

import (
	"time"

	"kubernetes-deployment-restart-controller/catalog/content"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/workload"
)

// The catalog takes in the items of a list one by one, as it does events, so that nobody has
// to wait for it until a long list is complete.

// ListConfigs takes in all configs of a kind and namespace (empty: of all namespaces), as
// listed at the given time. It calls news with each config for which [Catalog.ObserveConfig]
// would have returned true, immediately after taking it in: if a later config causes a panic,
// the earlier ones would not be news any more. For the first list, which shows what was there
// before the catalog watched, it calls news with no config: the workloads' own changes cover
// them. It returns the referenced configs that are gone. The catalog may keep the configs, so
// callers must not modify them any more.
func (c *Catalog) ListConfigs(kind names.ConfigKind, namespace string, configs []*content.Config, at time.Time, first bool, news func(names.ConfigRef)) (gone []names.ConfigRef) {
	before := c.beginList(kind, namespace)
	defer c.endList(namespace, first)
	missing := make(map[names.ConfigRef]*content.Config, len(before)) // none at the first list
	for _, config := range before {
		missing[config.Ref] = config
	}
	for _, config := range configs {
		delete(missing, config.Ref)
		if first {
			config.Edits = content.FoldRecorded(config.Edits, config.Keys)
			c.step(func() bool { c.keepConfig(config); return false })
		} else if c.take(content.NewArrival(*config, at, true)) {
			news(config.Ref)
		}
	}
	for ref, config := range missing {
		if c.step(func() bool { return c.missConfig(config, at) }) {
			gone = append(gone, ref)
		}
	}
	return gone
}

// beginList returns the configs that the catalog knows before it takes in a list of them.
func (c *Catalog) beginList(kind names.ConfigKind, namespace string) []*content.Config {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.listing.Add(namespace, +1)
	return c.configs.Of(kind, namespace)
}

func (c *Catalog) endList(namespace string, first bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if first {
		c.complete = c.moment
	}
	c.listing.Add(namespace, -1)
}

// ListWorkloads takes in all workloads of a kind and namespace (empty: of all namespaces) that
// opted in. It calls news with each workload for which [Catalog.ObserveWorkload] would have
// returned true, immediately after taking it in, and returns the workloads that are gone. The
// watch is known to have shown everything up to shown, the moment of its last event or list,
// which is 0 at the first list. The catalog keeps the workloads, so callers must not modify
// them any more.
func (c *Catalog) ListWorkloads(kind names.WorkloadKind, namespace string, workloads []*workload.Workload, shown names.Sequence, news func(names.WorkloadRef)) (gone []names.WorkloadRef) {
	before := c.workloadsOf(kind, namespace)
	missing := make(map[names.WorkloadRef]*workload.Workload, len(before))
	for _, workload := range before {
		missing[workload.Ref] = workload
	}
	for _, workload := range workloads {
		delete(missing, workload.Ref)
		if c.step(func() bool { return c.takeListed(workload, shown) }) {
			news(workload.Ref)
		}
	}
	for ref, workload := range missing {
		if c.step(func() bool { return c.missWorkload(workload) }) {
			gone = append(gone, ref)
		}
	}
	return gone
}

func (l *Lookup) workloadsOf(kind names.WorkloadKind, namespace string) []*workload.Workload {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.workloads.Of(kind, namespace)
}

// missConfig takes in that a config is missing from a list, unless it has changed since the list arrived. It reports whether
// the config is gone and referenced.
func (s *store) missConfig(config *content.Config, at time.Time) bool {
	return s.config(config.Ref) == config && s.removeConfig(config.Ref, at)
}

// takeListed takes in a workload from a list, which does not show when its template came.
func (s *store) takeListed(workload *workload.Workload, shown names.Sequence) bool {
	isKept := s.workload(workload.Ref) == workload // by an earlier call that panicked
	return !isKept && s.putWorkload(workload, 0, shown)
}

// missWorkload takes in that a workload is missing from a list, unless it was created again since the list arrived. It
// reports whether the workload is gone.
func (s *store) missWorkload(workload *workload.Workload) bool {
	known := s.workload(workload.Ref)
	return known != nil && known.UID == workload.UID && s.removeWorkload(workload.Ref)
}
