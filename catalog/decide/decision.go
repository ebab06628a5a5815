package decide

import (
	"slices"

	"kubernetes-deployment-restart-controller/catalog"
	"kubernetes-deployment-restart-controller/catalog/annotation"
	"kubernetes-deployment-restart-controller/catalog/content"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/policy"
	"kubernetes-deployment-restart-controller/catalog/record"
	"kubernetes-deployment-restart-controller/catalog/template"
	"kubernetes-deployment-restart-controller/catalog/workload"
)

// Outcome is what to do about a workload.
type Outcome string

// The outcomes.
const (
	// Keep leaves the workload as it is.
	Keep Outcome = "keep"
	// RecordOnly records the checksums; the pods are up to date.
	RecordOnly Outcome = "record"
	// Restart records the checksums and restarts the pods.
	Restart Outcome = "restart"
	// AskPods means that the decision needs the pods; see [ByPods].
	AskPods Outcome = "ask"
	// AskConfigs means that the decision needs the [catalog.View.Originals].
	AskConfigs Outcome = "ask configs"
)

// Decision is an outcome with everything needed to carry it out and to explain it.
type Decision struct {
	Outcome Outcome
	// Reason explains the outcome to a person.
	Reason string
	// Checksums are the checksums to record. A config for which there is no room is left out; as
	// for a config that appeared, the pods' start times then decide.
	Checksums record.Checksums
	// Without is what they do not cover, to record it, too.
	Without record.Without
	// Causes are the changed configs that the pods see after a restart, sorted. Only the first
	// causes are named; MoreCauses is the number of the others, negative if it is not known whether there are any.
	Causes     []Cause
	MoreCauses int
	// Contradicts means that the content is, or for a while was, not what the trusted record says.
	// Contradicted is since when, if that is known; its moment is 0 if no watch showed how it
	// began.
	Contradicts  bool
	Contradicted names.Sighting
	// Verified means that the pods were found to have the content to record.
	Verified bool
	// Unserved means that the content differs from a trusted record, and that nothing restarts for that, because the workload
	// wants no pods.
	Unserved bool
}

// Decide decides about a workload with what the catalog alone knows.
func Decide(view catalog.View) Decision {
	w := view.Workload
	if w.Excess != workload.NoExcess {
		return Decision{}.with(Keep, "there are too many references to configs")
	}
	sights := sights(&view)
	decision := newDecision(&view, sights)
	switch {
	case w.Deleting:
		return decision.with(Keep, "the workload is being deleted")
	case len(unsettledByOriginal(&view, sights)) > 0:
		return decision.with(AskConfigs, "a record of the original controller must be compared with the configs")
	case w.Record.Reverted != nil:
		return decision.with(AskPods, "a restart was reverted, and pods from before it may still run")
	case !w.Record.Trusted:
		if !mayBeMissed(&view, sights) {
			return decision.recorded(w, reasonUnchanged(w))
		}
		return decision.with(AskPods, "a config changed, and no record shows whether the pods have read it")
	}
	causes, spans := differences(w, sights), spans(&view, sights)
	decision.noteContradiction(&view, sights, spans)
	switch {
	case len(causes) > 0 && hasRested(w):
		return decision.with(AskPods, "the content differs from the record, but the workload has wanted no pods since then")
	case len(causes) > 0:
		decision.nameCauses(causes)
		return decision.with(Restart, "the content differs from the record")
	case len(candidates(&view, sights, appeared(w))) > 0:
		return decision.with(AskPods, "a config appeared that containers can start without, or changed since it appeared")
	case hasRotated(&view):
		return decision.with(AskPods, "files were rotated in some pods of the namespace")
	case len(spans) > 0:
		return decision.with(AskPods, "the content is back to what is recorded, but pods may have read different content in between")
	case hasChangedMethod(w):
		return decision.with(AskPods, reasonInterrupted)
	case lacksContradicted(&view, sights):
		return decision.with(Keep, reasonLacking)
	}
	return decision.recorded(w, reasonUpToDate(w))
}

// mayBeMissed reports whether containers may have missed something: an edit of any config, or a rotation.
func mayBeMissed(v *catalog.View, sights []sight) bool {
	return len(candidates(v, sights, anyConfig)) > 0 || hasRotated(v)
}

// ByPods decides about a workload for which [Decide] returned [AskPods]. The pods must be
// those of the workload's present template.
func ByPods(view catalog.View, pods []Pod) Decision {
	w := view.Workload
	pods = withoutEvicted(w, pods)
	sights, first := sights(&view), firstReads(pods)
	decision := newDecision(&view, sights)
	spans := spans(&view, sights)
	decision.noteContradiction(&view, sights, spans)
	differs := false
	for _, candidate := range candidates(&view, sights, unknownToRecord(w, sights)) {
		if read, hasRead := first.of(candidate.readers); hasRead && candidate.isStale(read) {
			decision.addCause(candidate.readers[0].Config, candidate.explanation(read))
			differs = differs || candidate.differs
		}
	}
	returned := decision.addReturned(w, spans, pods)
	rotated := decision.addRotated(&view, pods)
	decision.nameCauses(decision.Causes)
	switch {
	case w.Record.Reverted != nil && hasPodsBeforeRevert(w, sights, first):
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
	case w.Record.Reverted != nil && lacksRecorded(w, sights):
		return decision.with(Keep, "a restart was reverted, and a config that it was recorded with is gone")
	case lacksContradicted(&view, sights):
		return decision.with(Keep, reasonLacking)
	}
	return decision.verified(w, sights)
}

// verified returns the decision of a workload none of whose pods need a restart.
func (d *Decision) verified(w *workload.Workload, sights []sight) Decision {
	if d.Verified = true; w.Idle {
		d.Unserved = w.Record.Trusted && len(differences(w, sights)) > 0
		return d.recorded(w, "the workload wants no pods")
	}
	return d.recorded(w, "no pod is known to have read other content")
}

// newDecision returns a decision with what to record.
func newDecision(v *catalog.View, sights []sight) Decision {
	staysAsRecorded := slices.ContainsFunc(sights, func(s sight) bool { return isOnlyRecorded(v, &s) })
	checksums, filter := currentChecksums(v, sights, staysAsRecorded), v.Workload.Filter()
	if staysAsRecorded {
		filter = v.Workload.Record.Filter()
	}
	lacking := func(ref names.ConfigRef) bool {
		_, found := checksums[ref]
		return staysAsRecorded && !found
	}
	return Decision{Without: record.Without{Filter: filter, Ignored: ignored(v, lacking)}, Checksums: checksums.LimitTo(int(v.Workload.Record.Room))}
}

// reasonReadsNothing is the reason to leave a workload alone that no edit can restart.
const reasonReadsNothing = "the workload reads no ConfigMap or Secret that counts"

// unknownToRecord selects the configs for which the workload's record does not say what its pods
// have read.
func unknownToRecord(w *workload.Workload, sights []sight) func(names.ConfigRef) bool {
	switch {
	case !w.Record.Trusted:
		return anyConfig
	case w.Record.Reverted != nil || hasRested(w):
		return recordedOtherwise(w, sights)
	}
	return appeared(w)
}

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

func (d Decision) with(outcome Outcome, reason string) Decision {
	d.Outcome, d.Reason = outcome, reason
	return d
}

// recorded decides to record the checksums, or to keep the present record if it says the same and
// nothing that it should not.
func (d Decision) recorded(w *workload.Workload, reason string) Decision {
	if len(w.References) == 0 {
		reason = reasonReadsNothing
	}
	r := &w.Record
	says := r.Trusted && r.Reverted == nil && !r.Marked && !r.Others && r.Checksums.Equal(d.Checksums) &&
		d.Without == r.Uncovered() && !hasChangedMethod(w) && !hadOtherFilter(w)
	if !says {
		return d.with(RecordOnly, reason)
	}
	return d.with(Keep, reason)
}

// addCause adds edits of a config to the causes, which come sorted by config. An edit that no watch
// showed names neither key nor writer.
func (d *Decision) addCause(config names.ConfigRef, edits []annotation.Edit) {
	last := len(d.Causes) - 1
	if last < 0 || d.Causes[last].Config != config {
		d.Causes = append(d.Causes, Cause{Config: config})
		last++
	}
	for _, edit := range edits {
		if edit.Seen > 0 {
			d.Causes[last].add(edit)
		} else {
			d.Causes[last].addUnseen()
		}
	}
}

// nameCauses keeps the first of the causes and counts the others.
func (d *Decision) nameCauses(causes []Cause) {
	d.Causes, d.MoreCauses = firstNamed(causes)
	for i := range d.Causes {
		d.Causes[i].tidy()
	}
}

// currentChecksums computes what to record. A config that is gone keeps its entry from a trusted
// record, because running pods still have its content. If asked to, it computes the checksums by what that record covers.
func currentChecksums(v *catalog.View, sights []sight, asRecorded bool) record.Checksums {
	checksums, applied := make(record.Checksums, len(sights)), &v.Workload.Record
	addSince(v, checksums)
	for i := range sights {
		s := &sights[i]
		recorded, found := applied.Checksums[s.ref]
		switch {
		case s.config != nil && asRecorded && s.narrowing != nil:
			if covered := s.narrowing.recorded; len(covered) > 0 {
				checksums[s.ref] = s.config.Checksum(covered, v.Key)
			}
		case s.config != nil:
			checksums[s.ref] = s.present()
		case found && applied.Trusted && asRecorded:
			checksums[s.ref] = recorded
		case found && applied.Trusted:
			if recorded, found = checksumOfGone(v, s, recorded); found {
				checksums[s.ref] = recorded
			}
		}
	}
	return checksums
}

// isOnlyRecorded reports whether a config is gone that a record of another filter has, so that its content at that time is
// not known by the present filter. When it is back, it can be compared only by what the record covers. That makes no
// difference if containers start without it: its creation is then a reason to restart them.
func isOnlyRecorded(v *catalog.View, s *sight) bool {
	recorded, found := v.Workload.Record.Checksums[s.ref]
	if s.config != nil || s.narrowing == nil || len(s.narrowing.recorded) == 0 || !found || !v.Workload.Record.Trusted {
		return false
	}
	_, isKnown := checksumOfGone(v, s, recorded)
	return !isKnown && slices.ContainsFunc(s.references, func(r template.Reference) bool { return !r.Optional })
}

// checksumOfGone returns what to record of a config that is gone, given what is recorded. If the record
// was made by another filter, that is known only if the catalog knows the recorded content.
func checksumOfGone(v *catalog.View, s *sight, recorded names.Checksum) (names.Checksum, bool) {
	if s.narrowing == nil {
		return recorded, true
	}
	gone := v.Configs[s.ref]
	if gone == nil || gone.Checksum(s.narrowing.recorded, v.Key) != recorded {
		return 0, false
	}
	return gone.Checksum(content.Selections(s.references), v.Key), true
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
	sights := sights(v)
	for i := range sights {
		s := &sights[i]
		returned := v.Workload.Record.Marked && isRecordedSame(v, s)
		if s.config != nil && (returned || isRecordedOtherwise(v, s) || compareOriginal(v, s) == different) {
			unconfirmed = append(unconfirmed, s.ref)
		}
	}
	return unconfirmed
}

// differences returns the configs whose checksum differs from the record.
func differences(w *workload.Workload, sights []sight) []Cause {
	var causes []Cause
	for i := range sights {
		s := &sights[i]
		recorded, found := w.Record.Checksums[s.ref]
		if s.config == nil || !found || recorded == s.checksum {
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

// withoutEvicted returns the pods without those that a restart by eviction replaces anyway.
func withoutEvicted(w *workload.Workload, pods []Pod) []Pod {
	if w.Record.Evict == 0 || w.Method() != policy.ByEviction {
		return pods
	}
	return slices.DeleteFunc(slices.Clone(pods), func(pod Pod) bool { return isEarlier(w, pod) })
}

const reasonInterrupted = "a restart by eviction was not over when the method changed"

// hasPodsBeforeRevert reports whether a pod read a config before the record of the restart
// that was reverted.
func hasPodsBeforeRevert(w *workload.Workload, sights []sight, first reads) bool {
	return slices.ContainsFunc(sights, func(s sight) bool {
		read, hasRead := first.of(s.references)
		return s.config != nil && hasRead && isBeforeRevert(w, read)
	})
}

// lacksRecorded reports whether a config in a trusted record is gone. Then nothing shows which
// content of it the pods have that a reverted restart has left or brought back.
func lacksRecorded(w *workload.Workload, sights []sight) bool {
	return w.Record.Trusted && slices.ContainsFunc(sights, func(s sight) bool { return hasLost(w, &s) })
}

// hasLost reports whether the record has a config that is gone.
func hasLost(w *workload.Workload, s *sight) bool {
	_, recorded := w.Record.Checksums[s.ref]
	return recorded && s.config == nil
}
