package catalog

import (
	"slices"
	"time"
)

// suspect is a reference whose readers may have missed an edit.
type suspect struct {
	reference Reference
	edit      Edit   // the last one that concerns the reference
	edits     []Edit // those that the watch showed
	// differs tells that the content is known not to be that of an earlier record,
	// and traced that the edit that made it so is known.
	differs, traced bool
	// recorded is when a record that vouches was made of other content, which the pods of
	// that time have read. It is zero if there is none.
	recorded time.Time
}

// isStale tells whether a pod read the config before the edit. Close to it, the
// clocks do not tell: then it is stale unless the watch showed the edit before
// it showed the template that the pod is made from. A config that was made along
// with its pods, while nobody watched, was there first.
func (s suspect) isStale(pod Pod, templateSeen Moment) bool {
	read, hasRead := pod.readAt(s.reference)
	if !hasRead {
		return false
	}
	if s.differs && !s.traced || s.recorded.Sub(read) > clockTolerance {
		return true
	}
	switch late := s.edit.At.Sub(read); {
	case late > clockTolerance:
		return true
	case late < -clockTolerance:
		return false
	case s.edit.creation && s.edit.Seen == 0:
		return false
	default:
		return s.edit.Seen >= templateSeen
	}
}

func anyConfig(ConfigRef) bool { return true }

// appeared selects the configs that the workload's record does not know.
func appeared(w *Workload) func(ConfigRef) bool {
	return func(ref ConfigRef) bool {
		_, recorded := w.Record.Checksums[ref]
		return !recorded
	}
}

// suspects returns the references to those configs, sorted by config, whose
// content changed since the workload opted in, or since an earlier record.
func suspects(view *View, matters func(ConfigRef) bool) []suspect {
	var found []suspect
	for _, reference := range view.Workload.References {
		config := view.present(reference.Config)
		if config == nil || !matters(reference.Config) {
			continue
		}
		switch view.compareEarlier(config) {
		case same:
			continue
		case sameData:
			if reference.Keys.DataOnly {
				continue
			}
			config = config.binary()
		case different:
			found = append(found, inspectDifferent(view.Workload.Record.Earlier, reference, config))
			continue
		}
		if s, isSuspect := inspect(view.Workload, reference, config, view.isRecordedOtherwise(config)); isSuspect {
			found = append(found, s)
		}
	}
	slices.SortStableFunc(found, func(a, b suspect) int {
		return compareConfigRefs(a.reference.Config, b.reference.Config)
	})
	return found
}

// isRecordedOtherwise tells whether a record that vouches has another checksum of a config.
func (v *View) isRecordedOtherwise(config *Config) bool {
	recorded, found := v.Workload.Record.Checksums[config.Ref]
	return found && v.Workload.Record.Vouches && recorded != config.Checksum(v.Workload.keysOf(config.Ref), v.Key)
}

// inspect looks for the last edit that concerns a reference. That the config
// was created is one only if containers start without it and see something of
// it now, or if it was recorded otherwise, since then it was made again.
func inspect(w *Workload, reference Reference, config *Config, recordedOtherwise bool) (suspect, bool) {
	s := suspect{reference: reference}
	isSuspect := recordedOtherwise
	if recordedOtherwise {
		s.recorded = w.Record.Written
	}
	take := func(edit Edit) {
		if !afterOptIn(edit, w) {
			return
		}
		if !isSuspect || edit.At.After(s.edit.At) {
			s.edit = edit
		}
		isSuspect = true
		if edit.Seen > 0 {
			s.edits = append(s.edits, edit)
		}
	}
	if recordedOtherwise || reference.Optional && len(config.seen([]Selection{reference.Keys})) > 0 {
		take(Edit{At: config.Created, Seen: config.Appeared, creation: true})
	}
	for _, edit := range config.Edits {
		if config.isVisible(edit, reference.Keys) {
			take(edit)
		}
	}
	return s, isSuspect
}

// afterOptIn tells whether an edit may have come after the workload opted in: by
// the order in which the watches showed both, or by the clocks. Two watches may
// show things in another order than they happened, and OptedIn may be late.
func afterOptIn(edit Edit, w *Workload) bool {
	if edit.Seen == 0 {
		return !edit.At.Before(w.OptedIn)
	}
	return edit.Seen > w.EnabledSeen || edit.At.Sub(w.OptedIn) > clockTolerance
}
