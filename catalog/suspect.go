package catalog

import (
	"slices"
	"time"
)

// suspect is a way of reading a config whose readers may have missed an edit.
type suspect struct {
	// readers are references that see the same of one config.
	readers []Reference
	// edits are those that the readers may have missed.
	edits []Edit
	// differs tells that the content is known not to be that of an earlier record: then
	// the last change since, of whichever key, is what the readers must have seen. It is
	// nil if it has left no trace.
	differs bool
	change  *Edit
	// recorded is when a record that vouches was made of other content, which the pods of
	// that time have read. It is zero if there is none.
	recorded time.Time
	// templateSeen is the moment at which the watch showed the template of the pods.
	templateSeen Moment
}

// isStale tells whether a pod that read the config at the given time has missed an edit.
func (s *suspect) isStale(read time.Time) bool {
	switch {
	case s.recorded.Sub(read) > clockTolerance:
		return true
	case s.differs:
		return s.change == nil || s.isMissed(*s.change, read)
	}
	return slices.ContainsFunc(s.edits, func(edit Edit) bool { return s.isMissed(edit, read) })
}

// isMissed tells whether an edit came after a pod read the config. Close to it, the
// clocks do not tell: then it is missed unless the watch showed it before it showed the
// template that the pod is made from. A config that was made along with its pods,
// while nobody watched, was there first.
func (s *suspect) isMissed(edit Edit, read time.Time) bool {
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
func (s *suspect) told(read time.Time) []Edit {
	byRecord := s.differs || s.recorded.Sub(read) > clockTolerance
	return slices.DeleteFunc(slices.Clone(s.edits), func(edit Edit) bool {
		return edit.Seen == 0 || !byRecord && !s.isMissed(edit, read)
	})
}

func anyConfig(ConfigRef) bool { return true }

// appeared selects the configs that the workload's record does not know.
func appeared(w *Workload) func(ConfigRef) bool {
	return func(ref ConfigRef) bool {
		_, recorded := w.Record.Checksums[ref]
		return !recorded
	}
}

// recordedOtherwise selects the configs whose content the workload's record does not know.
func recordedOtherwise(w *Workload, sights []sight) func(ConfigRef) bool {
	same := make(map[ConfigRef]struct{})
	for i := range sights {
		if recorded, found := w.Record.Checksums[sights[i].ref]; found && recorded == sights[i].checksum {
			same[sights[i].ref] = struct{}{}
		}
	}
	return func(ref ConfigRef) bool {
		_, isSame := same[ref]
		return !isSame
	}
}

// suspects returns the references to those configs, sorted by config, whose
// content changed since the workload opted in, or since an earlier record.
func suspects(view *View, sights []sight, matters func(ConfigRef) bool) []suspect {
	var found []suspect
	lostBasis := view.lostBasis(sights)
	for i := range sights {
		if s := &sights[i]; s.config != nil && matters(s.ref) {
			found = append(found, suspectsOf(view, s, lostBasis)...)
		}
	}
	return found
}

// suspectsOf looks for the edits that concern the references to one config.
func suspectsOf(view *View, s *sight, lostBasis bool) []suspect {
	comparison, config := view.compareEarlier(s), s.config
	if comparison == same {
		return nil
	}
	if comparison == sameData {
		config = config.binary()
	}
	history, recordedOtherwise := newHistory(view, config, lostBasis), view.isRecordedOtherwise(s)
	var found []suspect
	for readers := range runs(s.references, seeTheSame) {
		switch {
		case comparison == sameData && readers[0].Keys.DataOnly:
		case comparison == different:
			found = append(found, history.inspectDifferent(readers))
		default:
			if suspect, is := history.inspect(readers, recordedOtherwise); is {
				found = append(found, suspect)
			}
		}
	}
	return found
}

// seeTheSame tells whether two references to a config see the same of it, in the same way.
// That several containers see the same single keys is not made use of.
func seeTheSame(a, b *Reference) bool {
	return a.Channel == b.Channel && a.Optional == b.Optional && a.Keys.Names == nil && b.Keys.Names == nil
}
