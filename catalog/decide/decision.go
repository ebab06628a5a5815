package decide

import (
	"maps"
	"slices"
	"time"

	"kubernetes-deployment-restart-controller/catalog"
	"kubernetes-deployment-restart-controller/catalog/annotation"
	"kubernetes-deployment-restart-controller/catalog/content"
	"kubernetes-deployment-restart-controller/catalog/names"
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
	// Contradicted is since when, if that is known. Unseen means that no watch showed how all of it began.
	Contradicts  bool
	Contradicted time.Time
	Unseen       bool
	// Verified means that the pods were found to have the content to record.
	Verified bool
	// Unserved means that the content differs from a trusted record, and that nothing restarts for that, because the workload
	// wants no pods.
	Unserved bool
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

// newDecision returns a decision with what to record.
func newDecision(v *catalog.View, seenConfigs []seenConfig) Decision {
	staysAsRecorded := slices.ContainsFunc(seenConfigs, func(s seenConfig) bool { return isOnlyRecorded(v, &s) })
	checksums, filter := currentChecksums(v, seenConfigs, staysAsRecorded), v.Workload.Filter()
	if staysAsRecorded {
		filter = v.Workload.Record.Filter()
	}
	lacking := func(ref names.ConfigRef) bool {
		_, found := checksums[ref]
		return staysAsRecorded && !found
	}
	return Decision{Without: record.Without{Filter: filter, Ignored: ignored(v, lacking)}, Checksums: checksums.LimitTo(int(v.Workload.Record.Room))}
}

// currentChecksums computes what to record. A config that is gone keeps its entry from a trusted
// record, because running pods still have its content. If asked to, it computes the checksums by what that record covers.
func currentChecksums(v *catalog.View, seenConfigs []seenConfig, asRecorded bool) record.Checksums {
	checksums, applied := make(record.Checksums, len(seenConfigs)), &v.Workload.Record
	addSince(v, checksums)
	for i := range seenConfigs {
		s := &seenConfigs[i]
		recorded := applied.Checksums[s.ref]
		switch {
		case s.config != nil && asRecorded && s.narrowing != nil:
			if covered := s.narrowing.recorded; len(covered) > 0 {
				checksums[s.ref] = s.config.Checksum(covered, v.Key)
			}
		case s.config != nil:
			checksums[s.ref] = s.present()
		case s.standing == lost && asRecorded:
			checksums[s.ref] = recorded
		case s.standing == lost:
			if gone, isKnown := checksumOfGone(v, s, recorded); isKnown {
				checksums[s.ref] = gone
			}
		}
	}
	return checksums
}

// isOnlyRecorded reports whether a config is gone that a record of another filter has, so that its content at that time is
// not known by the present filter. When it is back, it can be compared only by what the record covers. That makes no
// difference if containers start without it: its creation is then a reason to restart them.
func isOnlyRecorded(v *catalog.View, s *seenConfig) bool {
	if s.standing != lost || s.narrowing == nil || len(s.narrowing.recorded) == 0 {
		return false
	}
	_, isKnown := checksumOfGone(v, s, v.Workload.Record.Checksums[s.ref])
	return !isKnown && slices.ContainsFunc(s.references, func(r template.Reference) bool { return !r.Optional })
}

// checksumOfGone returns what to record of a config that is gone, given what is recorded. If the record
// was made by another filter, that is known only if the catalog knows the recorded content.
func checksumOfGone(v *catalog.View, s *seenConfig, recorded names.Checksum) (names.Checksum, bool) {
	if s.narrowing == nil {
		return recorded, true
	}
	gone := v.Configs[s.ref]
	if gone == nil || gone.Checksum(s.narrowing.recorded, v.Key) != recorded {
		return 0, false
	}
	return gone.Checksum(content.Selections(s.references), v.Key), true
}

// Delivers identifies what the decision would bring to the pods: the checksums to record and, of causes that no record has,
// the moments.
func (d *Decision) Delivers() record.Checksums {
	delivers := maps.Clone(d.Checksums)
	for i := range d.Causes {
		if cause := &d.Causes[i]; cause.Config.Kind.IsPerPod() {
			delivers[cause.Config] = names.Checksum(slices.Max(cause.Moments))
		}
	}
	return delivers
}
