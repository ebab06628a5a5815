package catalog

import (
	"slices"
	"time"
)

// candidate is a way of reading a config whose readers may have missed an edit.
type candidate struct {
	// readers are references that see the same of one config.
	readers []Reference
	// edits are those that the readers may have missed.
	edits []Edit
	// differs tells that the content is known not to be that of an earlier record: then
	// the last change since, of whichever key, is what the readers must have seen. It is
	// nil if it has left no trace.
	differs bool
	change  *Edit
	// recorded is when a record that is trusted was made of other content, which the pods of
	// that time have read. It is zero if there is none.
	recorded time.Time
	// templateSeen is the moment at which the watch showed the template of the pods.
	templateSeen Sequence
}

// isStale reports whether a pod that read the config at the given time has missed an edit.
func (s *candidate) isStale(read time.Time) bool {
	switch {
	case s.recorded.Sub(read) > clockTolerance:
		return true
	case s.differs:
		return s.change == nil || s.isMissed(*s.change, read)
	}
	return slices.ContainsFunc(s.edits, func(edit Edit) bool { return s.isMissed(edit, read) })
}

// isMissed reports whether an edit came after a pod read the config. Close to it, the
// clocks do not tell: then it is missed unless the watch showed it before it showed the
// template that the pod is made from. A config that was made along with its pods,
// while nobody watched, was there first.
func (s *candidate) isMissed(edit Edit, read time.Time) bool {
	switch late := edit.At.Sub(read); {
	case late > clockTolerance:
		return true
	case late < -clockTolerance:
		return false
	case edit.creation && edit.Seen == 0:
		return false
	default:
		return edit.Seen >= s.templateSeen
	}
}

// told returns the edits that tell a person why a pod is stale that read the config at the
// given time: those that it missed, or all if it is because of a record.
func (s *candidate) told(read time.Time) []Edit {
	byRecord := s.differs || s.recorded.Sub(read) > clockTolerance
	return slices.DeleteFunc(slices.Clone(s.edits), func(edit Edit) bool {
		return edit.Seen == 0 || !byRecord && !s.isMissed(edit, read)
	})
}

func anyConfig(ConfigRef) bool { return true }

// appeared selects the configs that the workload's record does not know.
func appeared(w *Workload) func(ConfigRef) bool {
	return func(ref ConfigRef) bool {
		_, recorded := w.Applied.Checksums[ref]
		return !recorded
	}
}

// recordedOtherwise selects the configs whose content the workload's record does not know.
func recordedOtherwise(w *Workload, sights []sight) func(ConfigRef) bool {
	same := make(map[ConfigRef]struct{})
	for i := range sights {
		if recorded, found := w.Applied.Checksums[sights[i].ref]; found && recorded == sights[i].checksum {
			same[sights[i].ref] = struct{}{}
		}
	}
	return func(ref ConfigRef) bool {
		_, isSame := same[ref]
		return !isSame
	}
}

// candidates returns the references to those configs, sorted by config, whose
// content changed since the workload opted in, or since an earlier record.
func candidates(view *View, sights []sight, matters func(ConfigRef) bool) []candidate {
	var found []candidate
	lostBasis := view.lostBasis(sights)
	for i := range sights {
		if s := &sights[i]; s.config != nil && matters(s.ref) {
			found = append(found, candidatesOf(view, s, lostBasis)...)
		}
	}
	return found
}

// candidatesOf looks for the edits that concern the references to one config.
func candidatesOf(view *View, s *sight, lostBasis bool) []candidate {
	comparison, config := view.compareEarlier(s), s.config
	if comparison == same {
		return nil
	}
	if comparison == sameData {
		config = config.binary()
	}
	history, recordedOtherwise := newHistory(view, config, lostBasis), view.isRecordedOtherwise(s)
	var found []candidate
	for readers := range runs(s.references, seeTheSame) {
		switch {
		case comparison == sameData && readers[0].Keys.DataOnly:
		case comparison == different:
			found = append(found, history.inspectDifferent(readers))
		default:
			if candidate, is := history.inspect(readers, recordedOtherwise); is {
				found = append(found, candidate)
			}
		}
	}
	return found
}

// seeTheSame reports whether two references to a config see the same of it, in the same way.
// That several containers see the same single keys is not made use of.
func seeTheSame(a, b *Reference) bool {
	return a.Channel == b.Channel && a.Optional == b.Optional && a.Keys.Names == nil && b.Keys.Names == nil
}
