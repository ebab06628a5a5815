package decide

import (
	"slices"

	"kubernetes-deployment-restart-controller/catalog"
	"kubernetes-deployment-restart-controller/catalog/content"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/policy"
	"kubernetes-deployment-restart-controller/catalog/record"
	"kubernetes-deployment-restart-controller/catalog/template"
	"kubernetes-deployment-restart-controller/catalog/workload"
)

// Decide decides about a workload with what the catalog alone knows.
func Decide(view catalog.View) Decision {
	w := view.Workload
	if w.Excess != workload.NoExcess {
		return Decision{}.with(Keep, "there are too many references to configs")
	}
	seenConfigs := seenConfigs(&view)
	decision := newDecision(&view, seenConfigs)
	switch {
	case w.Deleting:
		return decision.with(Keep, "the workload is being deleted")
	case len(unsettledByOriginal(&view, seenConfigs)) > 0:
		return decision.with(AskConfigs, "a record of the original controller must be compared with the configs")
	case w.Record.Reverted != nil:
		return decision.with(AskPods, "a restart was reverted, and pods from before it may still run")
	case !w.Record.Trusted:
		if !mayBeMissed(&view, seenConfigs) {
			return decision.recorded(w, reasonUnchanged(w))
		}
		return decision.with(AskPods, "a config changed, and no record shows whether the pods have read it")
	}
	causes, spans := differences(w, seenConfigs), spans(&view, seenConfigs)
	decision.noteContradiction(&view, seenConfigs, spans)
	switch {
	case len(causes) > 0 && hasRested(w):
		return decision.with(AskPods, "the content differs from the record, but the workload has wanted no pods of its template since then")
	case len(causes) > 0:
		decision.nameCauses(causes)
		return decision.with(Restart, "the content differs from the record")
	case len(candidates(&view, seenConfigs, unknownToRecord(w))) > 0:
		return decision.with(AskPods, "a config appeared that containers can start without, or changed since it appeared")
	case hasRotated(&view):
		return decision.with(AskPods, "files were rotated in some pods of the namespace")
	case len(spans) > 0:
		return decision.with(AskPods, "the content is back to what is recorded, but pods may have read different content in between")
	case hasChangedMethod(w):
		return decision.with(AskPods, reasonInterrupted)
	case lacksContradicted(&view, seenConfigs):
		return decision.with(Keep, reasonLacking)
	}
	return decision.recorded(w, reasonUpToDate(w))
}

// mayBeMissed reports whether containers may have missed something: an edit of any config, or a rotation.
func mayBeMissed(v *catalog.View, seenConfigs []seenConfig) bool {
	return len(candidates(v, seenConfigs, unknownToRecord(v.Workload))) > 0 || hasRotated(v)
}

// ByPods decides about a workload for which [Decide] returned [AskPods]. The pods must be
// those of the workload's present template.
func ByPods(view catalog.View, pods []Pod) Decision {
	w := view.Workload
	pods = withoutEvicted(w, pods)
	seenConfigs := seenConfigs(&view)
	decision, spans := newDecision(&view, seenConfigs), spans(&view, seenConfigs)
	reads := newReads(pods, len(spans) > 0)
	decision.noteContradiction(&view, seenConfigs, spans)
	differs := false
	for _, candidate := range candidates(&view, seenConfigs, unknownToRecord(w)) {
		if edits, isStale := candidate.missed(reads.of(candidate.readers).first); isStale {
			decision.addCause(candidate.readers[0].Config, edits)
			differs = differs || candidate.otherUntil.Equal(names.Always.Until)
		}
	}
	returned := decision.addReturned(w, spans, reads)
	rotated := decision.addRotated(&view, pods)
	decision.nameCauses(decision.Causes)
	switch {
	case w.Record.Reverted != nil && hasPodsBeforeRevert(w, seenConfigs, reads):
		return decision.with(Restart, "a restart was reverted, and a container started before it")
	case differs:
		return decision.with(Restart, "the content differs from the record of the original controller")
	case returned:
		return decision.with(Restart, "a container started while the content differed from the record")
	case len(decision.Causes) > 0:
		return decision.with(Restart, reasonMissed(rotated))
	case hasChangedMethod(w) && slices.ContainsFunc(pods, func(pod Pod) bool { return isEarlier(w, pod) }):
		decision.nameCauses(interruptedCauses(w))
		return decision.with(Restart, reasonInterrupted)
	case w.Record.Reverted != nil && hasAny(seenConfigs, lost):
		return decision.with(Keep, "a restart was reverted, and a config that it was recorded with is gone")
	case lacksContradicted(&view, seenConfigs):
		return decision.with(Keep, reasonLacking)
	}
	return decision.verified(w, seenConfigs)
}

// verified returns the decision of a workload none of whose pods need a restart.
func (d *Decision) verified(w *workload.Workload, seenConfigs []seenConfig) Decision {
	if d.Verified = true; w.Idle {
		d.Unserved = hasAny(seenConfigs, otherThanRecorded)
		return d.recorded(w, "the workload wants no pods")
	}
	return d.recorded(w, "no pod is known to have read other content")
}

// differences returns the configs whose checksum differs from the record.
func differences(w *workload.Workload, seenConfigs []seenConfig) []Cause {
	var causes []Cause
	for i := range seenConfigs {
		s := &seenConfigs[i]
		if s.standing != otherThanRecorded {
			continue
		}
		cause, selected := Cause{Config: s.ref}, content.Selections(s.references)
		for _, edit := range s.config.Edits {
			if slices.ContainsFunc(selected, func(selection template.Selection) bool { return content.Concerns(edit, selection) }) && s.narrowing.isCause(edit) {
				cause.addSince(w, edit)
			}
		}
		if creation := s.config.Creation(); len(cause.Moments) == 0 && isLater(w, names.Sighting{At: creation.At, Seen: creation.Seen}) {
			cause.add(creation)
		}
		causes = append(causes, cause)
	}
	return causes
}

// withoutEvicted returns the pods without those that a restart by eviction replaces anyway.
func withoutEvicted(w *workload.Workload, pods []Pod) []Pod {
	if w.Record.Evict == 0 || w.Method() != policy.ByEviction {
		return pods
	}
	return slices.DeleteFunc(slices.Clone(pods), func(pod Pod) bool { return isEarlier(w, pod) })
}

// hasPodsBeforeRevert reports whether a pod read a config before the record of the restart that was reverted. If the read seems
// to be within a second after the record, the order in which the watch showed the record and the pod template decides: the read
// counts as earlier unless the record came first.
func hasPodsBeforeRevert(w *workload.Workload, seenConfigs []seenConfig, reads *reads) bool {
	before := names.Interval{Until: w.Record.Reverted.Recorded.Add(-1)}
	if w.Record.Trusted && w.PodTemplateSeen <= w.RecordSeen {
		before = names.Before(before.Until, true)
	}
	return slices.ContainsFunc(seenConfigs, func(s seenConfig) bool {
		first := reads.of(s.references).first
		return s.config != nil && !first.IsZero() && before.Has(first)
	})
}

// reasonReadsNothing is the reason to leave a workload alone that no edit can restart.
const reasonReadsNothing = "the workload reads no ConfigMap or Secret that counts"

const reasonInterrupted = "a restart by eviction was not over when the method changed"

func reasonMissed(rotated bool) string {
	if rotated {
		return "a container started before its files were rotated"
	}
	return "a container started before the content changed"
}

func reasonUnchanged(w *workload.Workload) string {
	if w.Record.Original != nil {
		return "the content is that of the record of the original controller"
	}
	return "no config is known to have changed since the workload opted in"
}

func reasonUpToDate(w *workload.Workload) string {
	if w.Record.Evict > 0 {
		return "the record is up to date, and pods from before it are evicted if any are left"
	}
	return "the content is as recorded"
}

// Unconfirmed returns the configs whose checksum differs in a record that another process or the
// original controller made. That process may have known later content than the catalog, whose watch
// may be behind. Nothing must be done about the workload until a read of the config, later than
// [workload.Workload.RecordSeen], confirms what the catalog knows. The same applies to configs that seem to
// have returned to the content of such a record if it is marked as contradicted.
func Unconfirmed(v *catalog.View) []names.ConfigRef {
	if v.Workload.OwnRecord {
		return nil
	}
	var unconfirmed []names.ConfigRef
	seenConfigs := seenConfigs(v)
	for i := range seenConfigs {
		s := &seenConfigs[i]
		returned := v.Workload.Record.Marked && s.standing == asRecorded
		if s.config != nil && (returned || s.standing == otherThanRecorded || compareOriginal(v, s) == different) {
			unconfirmed = append(unconfirmed, s.ref)
		}
	}
	return unconfirmed
}

// EvictAfter returns [record.Basis.Evict] for a write with the given outcome.
func EvictAfter(w *workload.Workload, outcome Outcome) string {
	switch {
	case w.Method() == policy.ByEviction && outcome == Restart:
		return record.EvictNow
	case w.Method() != policy.ByTemplate:
		return w.Record.EvictMember()
	}
	return ""
}

// hasRested reports whether the workload wanted no pods of its template, or may have wanted none, at some time
// since its record. Its present pods may then be younger than the record.
func hasRested(w *workload.Workload) bool { return w.Idle || w.Woke > 0 && w.Woke >= w.RecordSeen }

// hasChangedMethod reports whether a restart by eviction was not over, as far as is known, when the workload came to
// restart by its pod template again.
func hasChangedMethod(w *workload.Workload) bool {
	return w.Record.Evict > 0 && w.Method() == policy.ByTemplate
}
