package controller

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"kubernetes-deployment-restart-controller/catalog/content"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/workload"
	"kubernetes-deployment-restart-controller/internal/quarantine"
)

// observe takes in an object that is new or has changed.
func (c *Controller) observe(o *observation) {
	switch {
	case o.config != nil:
		c.observeConfig(o.config)
	case o.mount != nil:
		c.observeMount(o.mount)
	case o.namespace != nil:
		c.observeNamespace(o.namespace, time.Now())
	default:
		c.observeWorkload(o.workload)
	}
	c.noteMistake(o.name(), c.mistakeOf(o), false)
}

func (c *Controller) observeConfig(config *content.Config) {
	if c.optIns.rules.Ignores(config.Ref.Namespace) {
		return
	}
	now, policy, before := time.Now(), c.catalog.PolicyOf(config.Ref), c.catalog.NamesElsewhere(config.Ref)
	isNews := c.catalog.ObserveConfig(*config, now)
	names := append(c.catalog.NamesElsewhere(config.Ref), config.Ref)
	if isNews {
		c.configsChanged(names, now)
	}
	if c.catalog.PolicyOf(config.Ref) != policy {
		c.policiesChanged(names)
	}
	c.configsGone(before, names) // it is no longer shared with them
}

// configChanged queues the change of a config for each workload that references it.
func (c *Controller) configChanged(ref names.ConfigRef, at time.Time) {
	c.log.Debug("config changed", "config", ref)
	c.staleness.noteConfig(ref)
	c.gate.contentChanged(ref, at)
	for _, w := range c.catalog.WorkloadsReferencing(ref) {
		c.gate.expect(w)
		c.changes.Observe(w.Ref, ref, at, w.Grace(c.options.GracePeriod))
	}
}

func (c *Controller) observeWorkload(w *workloadObservation) {
	c.optIns.mu.Lock()
	defer c.optIns.mu.Unlock()
	defer c.sharesChanged(c.optIns.shares.put(w.ref.Namespace, w.ref, w.size))
	if enabled := c.optIns.take(w); enabled != nil {
		c.observeEnabled(enabled)
	} else {
		c.forgetDisabled(w)
	}
	c.noteUnusable(w)
}

func (c *Controller) observeEnabled(w *workload.Workload) {
	former, awaited := c.lastMadeOf(w.Ref), c.awaitsRollout(w.Ref)
	if c.catalog.ObserveWorkload(*w) {
		c.workloadChanged(w)
	}
	c.observeEviction(w.Ref, awaited)
	if c.acts() && !c.gate.isBeginning(w.Ref) {
		c.deliveries.resumeLate(w.Ref, former, time.Now())
	}
	c.staleness.noteWorkload(w.Ref)
	c.deliveries.observe(w.Ref)
}

// lastMadeOf returns the last restart of a workload as far as it is known.
func (c *Controller) lastMadeOf(ref names.WorkloadRef) madeRestart {
	if w := c.catalog.Workload(ref); w != nil {
		return lastMade(w)
	}
	return madeRestart{}
}

// awaitsRollout reports whether a restart of a workload waits until its owner rolls out the pod template.
func (c *Controller) awaitsRollout(ref names.WorkloadRef) bool {
	w := c.catalog.Workload(ref)
	return w != nil && w.AwaitsRollout()
}

// observeEviction lets a restart by eviction go on, or begin if the pod template is rolled out that it waited for.
func (c *Controller) observeEviction(ref names.WorkloadRef, awaited bool) {
	if !c.acts() {
		return
	}
	c.evictor.observe(ref)
	if awaited && !c.awaitsRollout(ref) {
		c.restarter.askAgain(ref)
	}
}

// workloadChanged queues the change of a workload.
func (c *Controller) workloadChanged(w *workload.Workload) {
	if w.Applied.Problem != "" {
		c.log.Warn("cannot read the record of a workload, replacing it", "workload", w.Ref, "problem", w.Applied.Problem)
	}
	c.log.Debug("workload changed", "workload", w.Ref)
	c.changes.Shorten(w.Ref, w.Grace(c.options.GracePeriod))
	if c.acts() && waveOf(w) != 0 {
		c.gate.useWaves(w.Ref.Namespace, c.isUndecided)
	}
	c.gate.expect(w)
	c.changes.Observe(w.Ref, w.Ref, time.Now(), w.Grace(c.options.GracePeriod))
	c.abandonUnreferenced(w)
}

// abandonUnreferenced drops the changes of configs that a workload no longer references.
func (c *Controller) abandonUnreferenced(w *workload.Workload) {
	waiting := c.changes.Configs(w.Ref)
	if len(waiting) == 0 {
		return
	}
	referenced := make(map[names.ConfigRef]struct{})
	for _, config := range w.Configs() {
		referenced[config] = struct{}{}
	}
	for _, config := range waiting {
		if _, found := referenced[config]; !found {
			c.changes.Abandon(w.Ref, config)
		}
	}
}

// forgetDisabled forgets a workload that is not opted in. If it was opted in before, an Event
// informs its owner, because the change may be unintended: kubectl rollout undo brings back the
// annotations that the workload had at that revision.
func (c *Controller) forgetDisabled(w *workloadObservation) {
	known := c.catalog.Workload(w.ref)
	if known == nil {
		return
	}
	c.catalog.ForgetWorkload(w.ref)
	c.drop(w.ref)
	if w.problem != nil {
		return // the workload is still enabled
	}
	c.log.Info("no longer enabled", "workload", w.ref, "annotation", w.optIn, "last_writer", w.lastWriter)
	if !c.leading.Load() {
		return
	}
	c.recorder.Event(objectReference(known), corev1.EventTypeWarning, reasonDisabled, describeDisabled(w, c.optIns.rules.Dialects))
}

// drop forgets everything that waits for a workload that is gone or no longer opted in.
func (c *Controller) drop(ref names.WorkloadRef) {
	c.quarantine.Release(nameOfWorkload(ref))
	c.changes.Forget(ref)
	c.restarter.Forget(ref)
	c.deliveries.forget(ref)
	c.evictor.forget(ref)
	c.staleness.noteWorkload(ref)
}

// policyChanged acts on other annotations of a config: a person may have resumed the restarts for it, or
// hold them from now on, or no longer.
func (c *Controller) policyChanged(ref names.ConfigRef) {
	if !c.acts() {
		return
	}
	if c.gate.resume(ref, time.Now()) {
		c.halts.wakeUp()
	}
	for _, w := range c.catalog.WorkloadsReferencing(ref) {
		c.restarter.askAgain(w.Ref)
	}
}

// forget takes in that an object is gone.
func (c *Controller) forget(o *observation) {
	switch {
	case o.config != nil:
		names := append(c.catalog.NamesElsewhere(o.config.Ref), o.config.Ref)
		c.catalog.ForgetConfig(o.config.Ref, time.Now())
		c.configsGone(names, nil)
	case o.mount != nil:
		c.catalog.ForgetMount(*o.mount)
	case o.namespace != nil:
		c.forgetNamespace(o.namespace.Name)
	default:
		c.forgetWorkload(o.workload.ref)
	}
	c.forgetMistake(o.name())
}

func (c *Controller) forgetWorkload(ref names.WorkloadRef) {
	c.optIns.mu.Lock()
	defer c.optIns.mu.Unlock()
	defer c.sharesChanged(c.optIns.shares.put(ref.Namespace, ref, 0))
	c.optIns.forget(ref)
	c.unusable.drop(ref.Namespace, ref)
	c.catalog.ForgetWorkload(ref)
	c.drop(ref)
}

// configGone drops the changes of a config that is gone, and what was reported of it. A standby, which does not act on
// changes, would keep them forever.
func (c *Controller) configGone(ref names.ConfigRef) {
	c.staleness.noteConfig(ref)
	c.gate.contentChanged(ref, time.Now())
	for _, w := range c.catalog.WorkloadsReferencing(ref) {
		c.changes.Abandon(w.Ref, ref)
		c.restarter.askAgain(w.Ref)
	}
}

// listConfigs takes in all ConfigMaps or all Secrets of a namespace, or of all
// namespaces. The first list shows what was there before the watch began.
func (c *Controller) listConfigs(kind names.ConfigKind, namespace string, all []*observation, first bool) {
	configs := make([]*content.Config, 0, len(all))
	for _, o := range all {
		if !c.optIns.rules.Ignores(o.config.Ref.Namespace) {
			configs = append(configs, o.config)
		}
	}
	now, before := time.Now(), c.namesElsewhere(configs)
	gone := c.catalog.ListConfigs(kind, namespace, configs, now, first, func(ref names.ConfigRef) {
		c.quarantine.Try(quarantine.Queue, nameOfConfig(ref), func() { c.configsChanged(append(c.catalog.NamesElsewhere(ref), ref), now) })
	})
	for _, ref := range gone {
		c.quarantine.Try(quarantine.Queue, nameOfConfig(ref), func() { c.configsGone(append(c.catalog.NamesElsewhere(ref), ref), nil) })
	}
	c.sharingListed(before, configs)
	if first {
		c.staleness.noteEverything() // the first list causes no news
	} else {
		c.restarter.askAgainAll(namespace) // annotations of configs may have changed
	}
}

// listWorkloads takes in all workloads of a kind in a namespace, or in all namespaces. Before
// the list, the watch had shown everything up to the moment shown, which is 0 at its first
// list.
func (c *Controller) listWorkloads(kind names.WorkloadKind, namespace string, all []*observation, shown names.Sequence) {
	c.optIns.mu.Lock()
	defer c.optIns.mu.Unlock()
	defer c.sharesChanged(c.optIns.listSizes(kind, namespace, all))
	c.optIns.forgetListed(kind, namespace)
	c.keepUnusable(kind, namespace, all)
	enabled := make(map[names.WorkloadRef]*workload.Workload)
	listed := make([]*workload.Workload, 0)
	for _, o := range all {
		if w := c.optIns.take(o.workload); w != nil {
			enabled[w.Ref] = w
			listed = append(listed, w)
		} else {
			c.forgetDisabled(o.workload)
		}
		c.noteUnusable(o.workload)
	}
	former := make(map[names.WorkloadRef]madeRestart)
	for ref := range enabled {
		former[ref] = c.lastMadeOf(ref)
	}
	gone := c.catalog.ListWorkloads(kind, namespace, listed, shown, func(ref names.WorkloadRef) {
		c.quarantine.Try(quarantine.Queue, nameOfWorkload(ref), func() { c.workloadChanged(enabled[ref]) })
	})
	for _, ref := range gone {
		c.drop(ref)
	}
	for ref := range enabled {
		c.staleness.noteWorkload(ref)
		c.observeEviction(ref, true)
		switch now := time.Now(); {
		case !c.acts():
		case shown == 0:
			c.deliveries.resume(ref, now)
		case !c.gate.isBeginning(ref):
			c.deliveries.resumeLate(ref, former[ref], now)
		}
		c.deliveries.observe(ref)
	}
}
