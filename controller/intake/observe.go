package intake

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"kubernetes-deployment-restart-controller/catalog"
	"kubernetes-deployment-restart-controller/catalog/content"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/workload"
	"kubernetes-deployment-restart-controller/controller/events"
	"kubernetes-deployment-restart-controller/controller/follow"
	"kubernetes-deployment-restart-controller/controller/gatekeeper"
	"kubernetes-deployment-restart-controller/controller/kinds"
	"kubernetes-deployment-restart-controller/controller/wording"
	"kubernetes-deployment-restart-controller/internal/quarantine"
)

// Observe takes in an object that is new or has changed.
func (in *Intake) Observe(o *kinds.Observation) {
	switch {
	case o.Config != nil:
		in.observeConfig(o.Config)
	case o.Mount != nil:
		in.observeMount(o.Mount)
	case o.Namespace != nil:
		in.observeNamespace(o.Namespace, time.Now())
	default:
		in.ObserveWorkload(o.Workload)
	}
	in.Mistakes.Note(o.Name(), in.Mistakes.of(o), false)
}

func (in *Intake) observeConfig(config *content.Config) {
	if in.OptIns.Rules.Ignores(config.Ref.Namespace) {
		return
	}
	now, policy, before := time.Now(), in.Catalog.PolicyOf(config.Ref), in.Catalog.NamesElsewhere(config.Ref)
	isNews := in.Catalog.ObserveConfig(*config, now)
	names := append(in.Catalog.NamesElsewhere(config.Ref), config.Ref)
	if isNews {
		in.configsChanged(names, now)
	}
	if in.Catalog.PolicyOf(config.Ref) != policy {
		in.policiesChanged(names)
	}
	in.configsGone(before, names) // it is no longer shared with them
}

// configChanged queues the change of a config for each workload that references it.
func (in *Intake) configChanged(ref names.ConfigRef, at time.Time) {
	in.Log.Debug("config changed", "config", ref)
	in.Unjudged.NoteConfig(ref)
	in.Gate.Edited(ref, at)
	in.Gate.ContentChanged(ref, at)
	for _, w := range in.Catalog.WorkloadsReferencing(ref) {
		in.Gate.Expect(w)
		in.Changes.Observe(w.Ref, ref, at, w.GracePeriod.Or(in.Grace))
	}
}

// ObserveWorkload takes in a workload that is new or has changed.
func (in *Intake) ObserveWorkload(w *kinds.WorkloadObservation) {
	in.OptIns.Lock()
	defer in.OptIns.Unlock()
	defer in.sharesChanged(in.OptIns.Resize(w.Ref, w.Size))
	if enabled := in.OptIns.Take(w); enabled != nil {
		in.observeEnabled(enabled)
	} else {
		in.forgetDisabled(w)
	}
	in.Unusable.Note(w)
}

func (in *Intake) observeEnabled(w *workload.Workload) {
	former, awaited := lastMadeOf(in.Catalog, w.Ref), awaitsRollout(in.Catalog, w.Ref)
	if in.Catalog.ObserveWorkload(*w) {
		in.WorkloadChanged(w)
	}
	in.observeEviction(w.Ref, awaited)
	if in.Role.Acts() {
		in.Restarter.TakeIn(w.Ref)
	}
	if in.Role.Acts() && !in.Gate.IsBeginning(w.Ref) {
		in.Deliveries.ResumeLate(w.Ref, former, time.Now())
	}
	in.Unjudged.NoteWorkload(w.Ref)
	in.Deliveries.Observe(w.Ref)
}

// observeEviction lets a restart by eviction go on, or begin if the pod template is rolled out that it waited for.
func (in *Intake) observeEviction(ref names.WorkloadRef, awaited bool) {
	if !in.Role.Acts() {
		return
	}
	in.Evictions.Observe(ref)
	if awaited && !awaitsRollout(in.Catalog, ref) {
		in.Restarter.AskAgain(ref)
	}
}

// WorkloadChanged queues the change of a workload.
func (in *Intake) WorkloadChanged(w *workload.Workload) {
	if w.Record.Problem != "" {
		in.Log.Warn("cannot read the record of a workload, replacing it", "workload", w.Ref, "problem", w.Record.Problem)
	}
	in.Log.Debug("workload changed", "workload", w.Ref)
	in.Changes.Shorten(w.Ref, w.GracePeriod.Or(in.Grace))
	if in.Role.Acts() && gatekeeper.WaveOf(w) != 0 {
		in.Gate.UseWaves(w.Ref.Namespace)
	}
	in.Gate.Expect(w)
	in.Changes.Observe(w.Ref, w.Ref, time.Now(), w.GracePeriod.Or(in.Grace))
	in.Changes.AbandonOthers(w.Ref, w.Configs())
}

// forgetDisabled forgets a workload that is not opted in. If it was opted in before, an Event
// informs its owner, because the change may be unintended: kubectl rollout undo brings back the
// annotations that the workload had at that revision.
func (in *Intake) forgetDisabled(w *kinds.WorkloadObservation) {
	known := in.Catalog.Workload(w.Ref)
	if known == nil {
		return
	}
	in.Catalog.ForgetWorkload(w.Ref)
	in.drop(w.Ref)
	if w.Problem != nil {
		return // the workload is still enabled
	}
	in.Log.Info("no longer enabled", "workload", w.Ref, "annotation", w.OptIn, "last_writer", w.LastWriter)
	if !in.Role.Leads() {
		return
	}
	in.Events.Event(kinds.ObjectReference(known), corev1.EventTypeWarning, events.Disabled, wording.Disabled(w, in.OptIns.Rules.Dialects))
}

// drop forgets everything that waits for a workload that is gone or no longer opted in.
func (in *Intake) drop(ref names.WorkloadRef) {
	in.Quarantine.Release(kinds.NameOfWorkload(ref))
	in.Changes.Forget(ref)
	in.Deliveries.Ended(ref, in.Deliveries.Table.Forget(ref)) // before the gate forgets until when the workload is exposed
	in.Gate.Forget(ref)
	in.Unjudged.NoteWorkload(ref)
}

// policyChanged acts on other annotations of a config: a person may have resumed the restarts for it, or
// hold them from now on, or no longer.
func (in *Intake) policyChanged(ref names.ConfigRef) {
	if !in.Role.Acts() {
		return
	}
	if in.Gate.Resume(ref, time.Now()) {
		in.HaltsChanged.Note()
	}
	for _, w := range in.Catalog.WorkloadsReferencing(ref) {
		in.Restarter.AskAgain(w.Ref)
	}
}

// Forget takes in that an object is gone.
func (in *Intake) Forget(o *kinds.Observation) {
	switch {
	case o.Config != nil:
		names := append(in.Catalog.NamesElsewhere(o.Config.Ref), o.Config.Ref)
		in.Catalog.ForgetConfig(o.Config.Ref, time.Now())
		in.configsGone(names, nil)
	case o.Mount != nil:
		in.Catalog.ForgetMount(*o.Mount)
	case o.Namespace != nil:
		in.forgetNamespace(o.Namespace.Name)
	default:
		in.ForgetWorkload(o.Workload.Ref)
	}
	in.Mistakes.forget(o.Name())
}

// ForgetWorkload takes in that a workload is gone.
func (in *Intake) ForgetWorkload(ref names.WorkloadRef) {
	in.OptIns.Lock()
	defer in.OptIns.Unlock()
	defer in.sharesChanged(in.OptIns.Resize(ref, 0))
	in.OptIns.Forget(ref)
	in.Unusable.Forget(ref)
	in.Catalog.ForgetWorkload(ref)
	in.drop(ref)
}

// configGone drops the changes of a config that is gone, and what was reported of it. A standby, which does not act on
// changes, would keep them forever.
func (in *Intake) configGone(ref names.ConfigRef) {
	in.Unjudged.NoteConfig(ref)
	in.Gate.ContentChanged(ref, time.Now())
	for _, w := range in.Catalog.WorkloadsReferencing(ref) {
		in.Changes.Abandon(w.Ref, ref)
		in.Restarter.AskAgain(w.Ref)
	}
}

// ListConfigs takes in all ConfigMaps or all Secrets of a namespace, or of all
// namespaces. The first list shows what was there before the watch began.
func (in *Intake) ListConfigs(kind names.ConfigKind, namespace string, all []*kinds.Observation, first bool) {
	configs := make([]*content.Config, 0, len(all))
	for _, o := range all {
		if !in.OptIns.Rules.Ignores(o.Config.Ref.Namespace) {
			configs = append(configs, o.Config)
		}
	}
	now, before := time.Now(), in.namesElsewhere(configs)
	gone := in.Catalog.ListConfigs(kind, namespace, configs, now, first, func(ref names.ConfigRef) {
		in.Quarantine.Try(quarantine.Queue, kinds.NameOfConfig(ref), func() { in.configsChanged(append(in.Catalog.NamesElsewhere(ref), ref), now) })
	})
	for _, ref := range gone {
		in.Quarantine.Try(quarantine.Queue, kinds.NameOfConfig(ref), func() { in.configsGone(append(in.Catalog.NamesElsewhere(ref), ref), nil) })
	}
	in.sharingListed(before, configs)
	if first {
		in.Unjudged.NoteEverything() // the first list causes no news
	} else {
		in.Restarter.AskAgainAll(namespace) // annotations of configs may have changed
	}
}

// ListWorkloads takes in all workloads of a kind in a namespace, or in all namespaces. Before
// the list, the watch had shown everything up to the moment shown, which is 0 at its first
// list.
func (in *Intake) ListWorkloads(kind names.WorkloadKind, namespace string, all []*kinds.Observation, shown names.Sequence) {
	in.OptIns.Lock()
	defer in.OptIns.Unlock()
	defer in.sharesChanged(in.OptIns.ListSizes(kind, namespace, all))
	in.OptIns.ForgetListed(kind, namespace)
	in.Unusable.Keep(kind, namespace, all)
	enabled := make(map[names.WorkloadRef]*workload.Workload)
	listed := make([]*workload.Workload, 0)
	for _, o := range all {
		if w := in.OptIns.Take(o.Workload); w != nil {
			enabled[w.Ref] = w
			listed = append(listed, w)
		} else {
			in.forgetDisabled(o.Workload)
		}
		in.Unusable.Note(o.Workload)
	}
	former := make(map[names.WorkloadRef]follow.MadeRestart)
	for ref := range enabled {
		if made := lastMadeOf(in.Catalog, ref); made != (follow.MadeRestart{}) { // none is known at the first list
			former[ref] = made
		}
	}
	gone := in.Catalog.ListWorkloads(kind, namespace, listed, shown, func(ref names.WorkloadRef) {
		in.Quarantine.Try(quarantine.Queue, kinds.NameOfWorkload(ref), func() { in.WorkloadChanged(enabled[ref]) })
	})
	for _, ref := range gone {
		in.drop(ref)
	}
	for ref := range enabled {
		in.Unjudged.NoteWorkload(ref)
		in.observeEviction(ref, true)
		switch now := time.Now(); {
		case !in.Role.Acts():
		case shown == 0:
			in.Deliveries.Resume(ref, now)
		case in.Restarter.TakeIn(ref):
		case !in.Gate.IsBeginning(ref):
			in.Deliveries.ResumeLate(ref, former[ref], now)
		}
		in.Deliveries.Observe(ref)
	}
}

// lastMadeOf returns the last restart of a workload as far as it is known.
func lastMadeOf(known *catalog.Catalog, ref names.WorkloadRef) follow.MadeRestart {
	if w := known.Workload(ref); w != nil {
		return follow.LastMade(w)
	}
	return follow.MadeRestart{}
}

// awaitsRollout reports whether a restart of a workload may wait until its owner rolls out the pod template, or another one.
func awaitsRollout(known *catalog.Catalog, ref names.WorkloadRef) bool {
	w := known.Workload(ref)
	return w != nil && (w.AwaitsRollout() || w.AwaitsRelease())
}

// sharesChanged leaves workloads alone whose namespace has too many references now, and decides about those again that are
// left alone no longer. The caller holds the lock of [optedin.OptIns].
func (in *Intake) sharesChanged(leave, readmit []names.WorkloadRef) {
	for _, ref := range leave {
		if w := in.OptIns.Candidate(ref); w != nil {
			in.OptIns.Limit(w)
		}
		if in.OptIns.Leaves(ref) {
			if left := in.Catalog.LeaveAlone(ref); left != nil {
				in.WorkloadChanged(left)
				in.Unjudged.NoteWorkload(ref)
			}
		}
	}
	for _, ref := range readmit {
		if w := in.Catalog.Workload(ref); w != nil && w.Excess == workload.NamespaceFull {
			in.WorkloadChanged(w)
		}
	}
}
