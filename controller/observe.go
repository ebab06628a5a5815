package controller

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"kubernetes-deployment-restart-controller/catalog"
	"kubernetes-deployment-restart-controller/catalog/content"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/workload"
	"kubernetes-deployment-restart-controller/internal/quarantine"
)

// observe takes in an object that is new or has changed.
func (in *intake) observe(o *observation) {
	switch {
	case o.config != nil:
		in.observeConfig(o.config)
	case o.mount != nil:
		in.observeMount(o.mount)
	case o.namespace != nil:
		in.observeNamespace(o.namespace, time.Now())
	default:
		in.observeWorkload(o.workload)
	}
	in.mistakes.note(o.name(), in.mistakes.of(o), false)
}

func (in *intake) observeConfig(config *content.Config) {
	if in.optIns.rules.Ignores(config.Ref.Namespace) {
		return
	}
	now, policy, before := time.Now(), in.catalog.PolicyOf(config.Ref), in.catalog.NamesElsewhere(config.Ref)
	isNews := in.catalog.ObserveConfig(*config, now)
	names := append(in.catalog.NamesElsewhere(config.Ref), config.Ref)
	if isNews {
		in.configsChanged(names, now)
	}
	if in.catalog.PolicyOf(config.Ref) != policy {
		in.policiesChanged(names)
	}
	in.configsGone(before, names) // it is no longer shared with them
}

// configChanged queues the change of a config for each workload that references it.
func (in *intake) configChanged(ref names.ConfigRef, at time.Time) {
	in.log.Debug("config changed", "config", ref)
	in.unjudged.noteConfig(ref)
	in.gate.contentChanged(ref, at)
	for _, w := range in.catalog.WorkloadsReferencing(ref) {
		in.gate.expect(w)
		in.changes.Observe(w.Ref, ref, at, w.Grace(in.grace))
	}
}

func (in *intake) observeWorkload(w *workloadObservation) {
	in.optIns.Lock()
	defer in.optIns.Unlock()
	defer in.sharesChanged(in.optIns.resize(w.ref, w.size))
	if enabled := in.optIns.take(w); enabled != nil {
		in.observeEnabled(enabled)
	} else {
		in.forgetDisabled(w)
	}
	in.unusable.note(w)
}

func (in *intake) observeEnabled(w *workload.Workload) {
	former, awaited := lastMadeOf(in.catalog, w.Ref), awaitsRollout(in.catalog, w.Ref)
	if in.catalog.ObserveWorkload(*w) {
		in.workloadChanged(w)
	}
	in.observeEviction(w.Ref, awaited)
	if in.role.acts() && !in.gate.isBeginning(w.Ref) {
		in.deliveries.resumeLate(w.Ref, former, time.Now())
	}
	in.unjudged.noteWorkload(w.Ref)
	in.deliveries.observe(w.Ref)
}

// observeEviction lets a restart by eviction go on, or begin if the pod template is rolled out that it waited for.
func (in *intake) observeEviction(ref names.WorkloadRef, awaited bool) {
	if !in.role.acts() {
		return
	}
	in.evictions.observe(ref)
	if awaited && !awaitsRollout(in.catalog, ref) {
		in.restarter.askAgain(ref)
	}
}

// workloadChanged queues the change of a workload.
func (in *intake) workloadChanged(w *workload.Workload) {
	if w.Applied.Problem != "" {
		in.log.Warn("cannot read the record of a workload, replacing it", "workload", w.Ref, "problem", w.Applied.Problem)
	}
	in.log.Debug("workload changed", "workload", w.Ref)
	in.changes.Shorten(w.Ref, w.Grace(in.grace))
	if in.role.acts() && waveOf(w) != 0 {
		in.gate.useWaves(w.Ref.Namespace, in.restarter.isUndecided)
	}
	in.gate.expect(w)
	in.changes.Observe(w.Ref, w.Ref, time.Now(), w.Grace(in.grace))
	in.changes.AbandonOthers(w.Ref, w.Configs())
}

// forgetDisabled forgets a workload that is not opted in. If it was opted in before, an Event
// informs its owner, because the change may be unintended: kubectl rollout undo brings back the
// annotations that the workload had at that revision.
func (in *intake) forgetDisabled(w *workloadObservation) {
	known := in.catalog.Workload(w.ref)
	if known == nil {
		return
	}
	in.catalog.ForgetWorkload(w.ref)
	in.drop(w.ref)
	if w.problem != nil {
		return // the workload is still enabled
	}
	in.log.Info("no longer enabled", "workload", w.ref, "annotation", w.optIn, "last_writer", w.lastWriter)
	if !in.role.leads() {
		return
	}
	in.events.Event(objectReference(known), corev1.EventTypeWarning, reasonDisabled, describeDisabled(w, in.optIns.rules.Dialects))
}

// drop forgets everything that waits for a workload that is gone or no longer opted in.
func (in *intake) drop(ref names.WorkloadRef) {
	in.quarantine.Release(nameOfWorkload(ref))
	in.changes.Forget(ref)
	in.restarter.Forget(ref)
	in.deliveries.forget(ref)
	in.evictions.forget(ref)
	in.unjudged.noteWorkload(ref)
}

// policyChanged acts on other annotations of a config: a person may have resumed the restarts for it, or
// hold them from now on, or no longer.
func (in *intake) policyChanged(ref names.ConfigRef) {
	if !in.role.acts() {
		return
	}
	if in.gate.resume(ref, time.Now()) {
		in.haltsChanged.note()
	}
	for _, w := range in.catalog.WorkloadsReferencing(ref) {
		in.restarter.askAgain(w.Ref)
	}
}

// forget takes in that an object is gone.
func (in *intake) forget(o *observation) {
	switch {
	case o.config != nil:
		names := append(in.catalog.NamesElsewhere(o.config.Ref), o.config.Ref)
		in.catalog.ForgetConfig(o.config.Ref, time.Now())
		in.configsGone(names, nil)
	case o.mount != nil:
		in.catalog.ForgetMount(*o.mount)
	case o.namespace != nil:
		in.forgetNamespace(o.namespace.Name)
	default:
		in.forgetWorkload(o.workload.ref)
	}
	in.mistakes.forget(o.name())
}

func (in *intake) forgetWorkload(ref names.WorkloadRef) {
	in.optIns.Lock()
	defer in.optIns.Unlock()
	defer in.sharesChanged(in.optIns.resize(ref, 0))
	in.optIns.forget(ref)
	in.unusable.forget(ref)
	in.catalog.ForgetWorkload(ref)
	in.drop(ref)
}

// configGone drops the changes of a config that is gone, and what was reported of it. A standby, which does not act on
// changes, would keep them forever.
func (in *intake) configGone(ref names.ConfigRef) {
	in.unjudged.noteConfig(ref)
	in.gate.contentChanged(ref, time.Now())
	for _, w := range in.catalog.WorkloadsReferencing(ref) {
		in.changes.Abandon(w.Ref, ref)
		in.restarter.askAgain(w.Ref)
	}
}

// listConfigs takes in all ConfigMaps or all Secrets of a namespace, or of all
// namespaces. The first list shows what was there before the watch began.
func (in *intake) listConfigs(kind names.ConfigKind, namespace string, all []*observation, first bool) {
	configs := make([]*content.Config, 0, len(all))
	for _, o := range all {
		if !in.optIns.rules.Ignores(o.config.Ref.Namespace) {
			configs = append(configs, o.config)
		}
	}
	now, before := time.Now(), in.namesElsewhere(configs)
	gone := in.catalog.ListConfigs(kind, namespace, configs, now, first, func(ref names.ConfigRef) {
		in.quarantine.Try(quarantine.Queue, nameOfConfig(ref), func() { in.configsChanged(append(in.catalog.NamesElsewhere(ref), ref), now) })
	})
	for _, ref := range gone {
		in.quarantine.Try(quarantine.Queue, nameOfConfig(ref), func() { in.configsGone(append(in.catalog.NamesElsewhere(ref), ref), nil) })
	}
	in.sharingListed(before, configs)
	if first {
		in.unjudged.noteEverything() // the first list causes no news
	} else {
		in.restarter.askAgainAll(namespace) // annotations of configs may have changed
	}
}

// listWorkloads takes in all workloads of a kind in a namespace, or in all namespaces. Before
// the list, the watch had shown everything up to the moment shown, which is 0 at its first
// list.
func (in *intake) listWorkloads(kind names.WorkloadKind, namespace string, all []*observation, shown names.Sequence) {
	in.optIns.Lock()
	defer in.optIns.Unlock()
	defer in.sharesChanged(in.optIns.listSizes(kind, namespace, all))
	in.optIns.forgetListed(kind, namespace)
	in.unusable.keep(kind, namespace, all)
	enabled := make(map[names.WorkloadRef]*workload.Workload)
	listed := make([]*workload.Workload, 0)
	for _, o := range all {
		if w := in.optIns.take(o.workload); w != nil {
			enabled[w.Ref] = w
			listed = append(listed, w)
		} else {
			in.forgetDisabled(o.workload)
		}
		in.unusable.note(o.workload)
	}
	former := make(map[names.WorkloadRef]madeRestart)
	for ref := range enabled {
		former[ref] = lastMadeOf(in.catalog, ref)
	}
	gone := in.catalog.ListWorkloads(kind, namespace, listed, shown, func(ref names.WorkloadRef) {
		in.quarantine.Try(quarantine.Queue, nameOfWorkload(ref), func() { in.workloadChanged(enabled[ref]) })
	})
	for _, ref := range gone {
		in.drop(ref)
	}
	for ref := range enabled {
		in.unjudged.noteWorkload(ref)
		in.observeEviction(ref, true)
		switch now := time.Now(); {
		case !in.role.acts():
		case shown == 0:
			in.deliveries.resume(ref, now)
		case !in.gate.isBeginning(ref):
			in.deliveries.resumeLate(ref, former[ref], now)
		}
		in.deliveries.observe(ref)
	}
}

// lastMadeOf returns the last restart of a workload as far as it is known.
func lastMadeOf(known *catalog.Catalog, ref names.WorkloadRef) madeRestart {
	if w := known.Workload(ref); w != nil {
		return lastMade(w)
	}
	return madeRestart{}
}

// awaitsRollout reports whether a restart of a workload waits until its owner rolls out the pod template.
func awaitsRollout(known *catalog.Catalog, ref names.WorkloadRef) bool {
	w := known.Workload(ref)
	return w != nil && w.AwaitsRollout()
}
