package catalog

import (
	"slices"
	"time"
)

// Outcome is what is to be done about a workload.
type Outcome string

// The outcomes.
const (
	// Keep leaves the workload as it is.
	Keep Outcome = "keep"
	// RecordOnly records the checksums, the pods are up to date.
	RecordOnly Outcome = "record"
	// Restart records the checksums and restarts the pods.
	Restart Outcome = "restart"
	// AskPods cannot tell without the pods: see [DecideByPods].
	AskPods Outcome = "ask"
	// AskConfigs cannot tell without the [View.Originals].
	AskConfigs Outcome = "ask configs"
)

// Decision is an outcome with what it takes to carry it out and to explain it.
type Decision struct {
	Outcome Outcome
	// Reason tells a person why.
	Reason string
	// Checksums are to be recorded. A config for which there is no room is not among
	// them; the pods are asked about it, as about one that appeared.
	Checksums Checksums
	// Causes are the configs that a restart lets the pods see.
	Causes []Cause
}

// Cause is a config that changed.
type Cause struct {
	Config ConfigRef
	// Keys are the changed keys that the workload sees, sorted; empty if it
	// happened while nobody watched.
	Keys []string
	// Writers are the field managers that changed them, sorted, as far as known.
	Writers []string
}

// clockTolerance is how far the clocks of the controller, the API server and
// the nodes may differ, with times that the API cuts to whole seconds.
const clockTolerance = time.Second

// Decide decides about a workload as far as the catalog alone can tell.
func Decide(view View) Decision {
	w := view.Workload
	checksums := currentChecksums(&view)
	decision := Decision{Checksums: checksums.limitTo(w.Room)}
	switch {
	case w.Deleting:
		return decision.with(Keep, "the workload is being deleted")
	case len(view.UnsettledByOriginal()) > 0:
		return decision.with(AskConfigs, "a record of the original controller is to be compared")
	case !w.Record.Vouches:
		if len(suspects(&view, anyConfig)) == 0 {
			return decision.recorded(w, reasonUnchanged(w))
		}
		return decision.with(AskPods, "a config changed and no record tells whether the pods have seen it")
	}
	causes := differences(&view, checksums)
	switch {
	case len(causes) > 0 && w.rested():
		return decision.with(AskPods, "the content differs from the record, but the workload wanted no pods meanwhile")
	case len(causes) > 0:
		decision.Causes = causes
		return decision.with(Restart, "the content differs from the record")
	case len(suspects(&view, appeared(w))) > 0:
		return decision.with(AskPods, "a config appeared that containers can start without, or changed since it appeared")
	}
	return decision.recorded(w, "the pods are up to date")
}

// DecideByPods decides about a workload for which [Decide] wanted to know the
// pods. They must be those of the workload's present template.
func DecideByPods(view View, pods []Pod) Decision {
	w := view.Workload
	decision := Decision{Checksums: currentChecksums(&view).limitTo(w.Room)}
	matters, differs := anyConfig, false
	if w.Record.Vouches && !w.rested() {
		matters = appeared(w)
	}
	for _, suspect := range suspects(&view, matters) {
		if slices.ContainsFunc(pods, func(pod Pod) bool { return suspect.isStale(pod, w.PodTemplateSeen) }) {
			decision.addCause(suspect)
			differs = differs || suspect.differs
		}
	}
	switch {
	case differs:
		return decision.with(Restart, "the content differs from the record of an earlier controller")
	case len(decision.Causes) > 0:
		return decision.with(Restart, "a container started before the content changed")
	case w.Idle:
		return decision.recorded(w, "the workload wants no pods")
	}
	return decision.recorded(w, "all containers started after the last change")
}

func reasonUnchanged(w *Workload) string {
	if w.Record.Earlier != nil {
		return "no config changed since the record of an earlier controller"
	}
	return "no config changed since the workload opted in"
}

func (d Decision) with(outcome Outcome, reason string) Decision {
	d.Outcome, d.Reason = outcome, reason
	return d
}

// recorded decides to record the checksums, or to keep what is there if it says
// the same and nothing that it should not.
func (d Decision) recorded(w *Workload, reason string) Decision {
	if w.Record.Vouches && !w.Record.Exposed && w.Record.Checksums.Equal(d.Checksums) {
		return d.with(Keep, reason)
	}
	return d.with(RecordOnly, reason)
}

// addCause adds a suspect's config and keys, which come sorted by config.
func (d *Decision) addCause(s suspect) {
	last := len(d.Causes) - 1
	if last < 0 || d.Causes[last].Config != s.reference.Config {
		d.Causes = append(d.Causes, Cause{Config: s.reference.Config})
		last++
	}
	cause := &d.Causes[last]
	for _, edit := range s.edits {
		cause.add(edit)
	}
}

// add adds the key and the writer of an edit.
func (c *Cause) add(edit Edit) {
	c.Keys = insert(c.Keys, edit.Key)
	c.Writers = insert(c.Writers, edit.Writer)
}

// addSince adds an edit that came after the record. Of one that nobody saw only the
// writer is told: its time is that of the writer's last write, of whichever key.
func (c *Cause) addSince(record *Record, seen Moment, edit Edit) {
	switch {
	case edit.Seen > seen:
		c.add(edit)
	case edit.Seen == 0 && !edit.At.Before(record.Written.Truncate(time.Second)):
		c.Writers = insert(c.Writers, edit.Writer)
	}
}

// insert puts a name where it belongs among sorted ones, unless it is empty or
// there already.
func insert(names []string, name string) []string {
	i, found := slices.BinarySearch(names, name)
	if found || name == "" {
		return names
	}
	return slices.Insert(names, i, name)
}

// currentChecksums computes what to record. A config that is gone keeps the
// entry of a record that vouches: pods that run still have its content.
func currentChecksums(view *View) Checksums {
	checksums := make(Checksums)
	for _, ref := range view.Workload.Configs() {
		if config := view.present(ref); config != nil {
			checksums[ref] = config.Checksum(view.Workload.keysOf(ref), view.Key)
		} else if recorded, found := view.Workload.Record.Checksums[ref]; found && view.Workload.Record.Vouches {
			checksums[ref] = recorded
		}
	}
	return checksums
}

// Unconfirmed returns the configs of which a record that another process made, or an
// earlier controller, has another checksum. Who made it may have known a later content than
// the catalog does, whose watch may be behind: nothing must be done about the workload
// before the config was read and found to be what the catalog knows, later than
// [Workload.RecordSeen].
func (v *View) Unconfirmed() []ConfigRef {
	if v.Workload.OwnRecord {
		return nil
	}
	var unconfirmed []ConfigRef
	for _, ref := range v.Workload.Configs() {
		config := v.present(ref)
		if config != nil && (v.isRecordedOtherwise(config) || v.compareEarlier(config) == different) {
			unconfirmed = append(unconfirmed, ref)
		}
	}
	return unconfirmed
}

// differences returns the configs of which the record has another checksum.
func differences(view *View, checksums Checksums) []Cause {
	var causes []Cause
	for _, ref := range view.Workload.Configs() {
		recorded, found := view.Workload.Record.Checksums[ref]
		if !found || recorded == checksums[ref] {
			continue
		}
		cause := Cause{Config: ref}
		for _, edit := range view.Configs[ref].Edits {
			if concerned := slices.ContainsFunc(view.Workload.keysOf(ref), edit.concerns); concerned {
				cause.addSince(&view.Workload.Record, view.Workload.RecordSeen, edit)
			}
		}
		causes = append(causes, cause)
	}
	return causes
}
