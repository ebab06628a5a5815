package decide

import (
	"kubernetes-deployment-restart-controller/catalog/annotation"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/record"
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
