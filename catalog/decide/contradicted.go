package decide

import (
	"slices"
	"time"

	"kubernetes-deployment-restart-controller/catalog"
	"kubernetes-deployment-restart-controller/catalog/annotation"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/record"
	"kubernetes-deployment-restart-controller/catalog/workload"
)

// noteContradiction notes whether the record is contradicted, and since when. It reports whether a config had other content than
// the recorded one, although it has that now.
func (d *Decision) noteContradiction(view *catalog.View, seenConfigs []seenConfig) (hasReturned bool) {
	w := view.Workload
	first := names.Sighting{At: w.ContradictedSince()}
	note := func(from names.Sighting) {
		if first.At.IsZero() || !from.At.After(first.At) {
			first = from
		}
	}
	_, hasReturned = markedSpan(view, seenConfigs)
	for i := range seenConfigs {
		s := &seenConfigs[i]
		if s.standing == otherThanRecorded {
			d.Contradicts = true
			s.eachChange(w, note)
		}
		for span := range s.spans(w) {
			hasReturned = true
			note(span.from)
		}
	}
	if d.Contradicts = d.Contradicts || hasReturned; !d.Contradicts {
		return false
	}
	for i := range seenConfigs { // containers that start without a config have other content than the record says
		s := &seenConfigs[i]
		if gone := view.Configs[s.ref].GoneSince(); s.standing == lost && gone.Seen > 0 && s.isOptional() {
			note(gone)
		}
	}
	d.Contradicted = first
	return hasReturned
}

// eachChange calls a function with each known change since the record of what the workload sees of
// a config.
func (s *seenConfig) eachChange(w *workload.Workload, change func(names.Sighting)) {
	note := func(shown names.Sighting, from time.Time) {
		if isLater(w, shown) {
			change(names.Sighting{At: from, Seen: shown.Seen})
		}
	}
	for edit := range s.edits() {
		shown := names.Sighting{At: edit.At, Seen: edit.Seen}
		switch {
		case edit.Key == annotation.WholeConfig && !edit.IsCreation(): // see below
		case edit.IsUnknown(): // any time since the record
			note(shown, names.Latest(time.Unix(int64(edit.Since), 0), w.Record.Written))
		default:
			note(shown, edit.Earliest())
		}
	}
	if s.isOptional() {
		for absence := range s.config.Absences() { // no record includes it, so it counts if it outlasted the record
			note(absence.Until, absence.From.At)
		}
	}
}

const reasonLacking = "a config is gone whose content differed from the record for a while"

// lacksContradicted reports whether a recorded config that had other content for a while is gone.
// The config may come back, so that knowledge must not be lost.
func lacksContradicted(v *catalog.View, seenConfigs []seenConfig) bool {
	w := v.Workload
	return slices.ContainsFunc(seenConfigs, func(s seenConfig) bool {
		if s.standing != lost || w.Record.Marked || v.Configs[s.ref] == nil {
			return s.standing == lost && w.Record.Marked
		}
		for readers := range names.Runs(s.references, seeTheSame) {
			for version := range v.Configs[s.ref].Versions(&readers[0]) {
				if _, isLater := since(&version, w); isLater {
					return true
				}
			}
		}
		return false
	})
}

// Mark returns annotations with the same record, marked as contradicted since the given time. It
// returns false if part of the record cannot be read, or if there is no trusted record to mark.
func Mark(v *catalog.View, since time.Time) (map[string]string, bool, error) {
	w := v.Workload
	r := &w.Record
	if !r.Trusted || r.Key != "" && r.Key != v.Key.ID() {
		return nil, false, nil
	}
	timestamp := w.Timestamp
	if r.Reverted != nil {
		timestamp = r.Reverted.Restart
	}
	annotations, err := r.Checksums.Annotations(record.Basis{
		Template: w.Template, Key: v.Key, Budget: r.Budget, Written: r.Written, Timestamp: timestamp, Contradicted: since, OptedIn: w.OptedIn, Ran: r.Ran,
		RestartedFor: r.RestartedFor, Without: r.Uncovered(), Evict: w.Record.EvictMember(),
	})
	return annotations, err == nil, err
}
