package catalog

import (
	"slices"
	"time"
)

// candidate is a way of reading a config whose readers may have missed an edit.
type candidate struct {
	// readers are references that see the same part of one config.
	readers []Reference
	// edits are the edits that the readers may have missed.
	edits []Edit
	// differs means that the content is known to differ from the record of the original, so that all readers
	// have missed something.
	differs bool
	// recorded is when a trusted record of other content was made, which the pods of that
	// time have read. It is zero if there is no such record.
	recorded time.Time
	// templateSeen is the moment at which the watch showed the template of the pods.
	templateSeen Sequence
}

// isStale reports whether a pod that read the config at the given time has missed an edit.
func (s *candidate) isStale(read time.Time) bool {
	return s.isStaleByRecord(read) || slices.ContainsFunc(s.edits, func(edit Edit) bool { return s.isMissed(edit, read) })
}

// isStaleByRecord reports whether a record shows that a pod which read the config at the given time is stale.
func (s *candidate) isStaleByRecord(read time.Time) bool {
	return s.differs || s.recorded.Sub(read) > clockTolerance
}

// isMissed reports whether an edit came after a pod read the config. When the two times are
// too close for the clocks to decide, the edit counts as missed unless the watch showed it
// before the template that the pod is made from. A config that was created along with its
// pods, while no controller watched, was there first.
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

// explanation returns the edits that explain why a pod that read the config at the given time is
// stale: the ones that it missed and, if a record shows that it is stale, all that a watch showed.
func (s *candidate) explanation(read time.Time) []Edit {
	byRecord := s.isStaleByRecord(read)
	return slices.DeleteFunc(slices.Clone(s.edits), func(edit Edit) bool {
		isShown := byRecord && edit.Seen > 0
		return !isShown && !s.isMissed(edit, read)
	})
}

func anyConfig(ConfigRef) bool { return true }

// appeared selects the configs that are missing from the workload's record.
func appeared(w *Workload) func(ConfigRef) bool {
	return func(ref ConfigRef) bool {
		_, recorded := w.Applied.Checksums[ref]
		return !recorded
	}
}

// recordedOtherwise selects the configs whose content is not the one in the workload's
// record.
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

// candidates returns the references to the configs whose content changed since the workload
// opted in, or since a record of the original, sorted by config. Keys that did not count when the record was
// made always matter.
func candidates(view *View, sights []sight, matters func(ConfigRef) bool) []candidate {
	var found []candidate
	for i := range sights {
		if s := &sights[i]; s.config != nil && (matters(s.ref) || s.narrowing != nil) {
			found = append(found, candidatesOf(view, s)...)
		}
	}
	return found
}

// candidatesOf finds the edits that concern the references to one config.
func candidatesOf(view *View, s *sight) []candidate {
	comparison, config := view.compareOriginal(s), s.config
	if comparison == sameData {
		config = config.binary()
	}
	history, differs := newHistory(view, config), comparison == different
	history.narrowing = s.narrowing
	recordedOtherwise := differs || view.isRecordedOtherwise(s)
	var found []candidate
	for readers := range runs(s.references, seeTheSame) {
		if comparison == sameData && readers[0].Keys.DataOnly {
			continue
		}
		if candidate, is := history.inspect(readers, recordedOtherwise); is {
			candidate.differs = differs
			found = append(found, candidate)
		}
	}
	return found
}

// seeTheSame reports whether two references to a config see the same part of it in the same
// way. It returns false for references to single keys, even to the same ones.
func seeTheSame(a, b *Reference) bool {
	if a.Channel != b.Channel || a.Optional != b.Optional {
		return false
	}
	_, isListA := a.Keys.Listed()
	_, isListB := b.Keys.Listed()
	return !isListA && !isListB && slices.Equal(a.Keys.Names, b.Keys.Names)
}
