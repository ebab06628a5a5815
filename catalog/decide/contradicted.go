package decide

import (
	"slices"
	"time"

	"kubernetes-deployment-restart-controller/catalog"
	"kubernetes-deployment-restart-controller/catalog/content"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/record"
	"kubernetes-deployment-restart-controller/catalog/workload"
)

// noteContradiction notes whether the record is contradicted, and since when.
func (d *Decision) noteContradiction(view *catalog.View, seenConfigs []seenConfig, spans []span) {
	first := names.Sighting{At: view.Workload.ContradictedSince()}
	note := func(from names.Sighting) {
		if first.At.IsZero() || !from.At.After(first.At) {
			first = from
		}
	}
	for i := range seenConfigs {
		if s := &seenConfigs[i]; s.standing == otherThanRecorded {
			d.Contradicts = true
			s.eachChange(view.Workload, view.Past[s.ref], note)
		}
	}
	for _, s := range spans {
		d.Contradicts = true
		if s.past != nil { // the others are what is noted first
			note(s.from)
		}
	}
	if d.Contradicts {
		eachOpenAbsence(view, seenConfigs, note)
		d.Contradicted = first
	}
}

// eachOpenAbsence calls a function with the moment since which a recorded config is gone. Containers
// that start without it have other content than the record says.
func eachOpenAbsence(v *catalog.View, seenConfigs []seenConfig, gone func(names.Sighting)) {
	for i := range seenConfigs {
		s := &seenConfigs[i]
		if s.standing != lost {
			continue
		}
		for _, p := range v.Past[s.ref] {
			if p.IsOpen() && p.ConcernsAny(s.references) {
				gone(p.From)
			}
		}
	}
}

// eachChange calls a function with each known change since the record of what the workload sees of
// a config.
func (s *seenConfig) eachChange(w *workload.Workload, past []content.Past, change func(names.Sighting)) {
	note := func(shown, from names.Sighting) {
		if isLater(w, shown) {
			change(from)
		}
	}
	for edit := range s.edits() {
		from := names.Sighting{At: edit.Earliest(), Seen: edit.Seen}
		if edit.IsJoined() { // any time since the record
			from.At = w.Record.Written
		}
		note(names.Sighting{At: edit.At, Seen: edit.Seen}, from)
	}
	for i := range past {
		switch p := &past[i]; {
		case !p.ConcernsAny(s.references):
		case p.IsAbsence() || p.Vague: // no record includes it, so it counts if it outlasted the record
			from, _ := since(p, w)
			note(p.Until, from)
		case p.Mixed: // the last of the contents may be the recorded one
			from, _ := since(p, w)
			note(p.LastFrom, from)
		default:
			note(p.From, p.From)
		}
	}
}

const reasonLacking = "a config is gone whose content differed from the record for a while"

// lacksContradicted reports whether a recorded config that had other content for a while is gone.
// The config may come back, so that knowledge must not be lost.
func lacksContradicted(v *catalog.View, seenConfigs []seenConfig) bool {
	w := v.Workload
	return slices.ContainsFunc(seenConfigs, func(s seenConfig) bool {
		return s.standing == lost && (w.Record.Marked || slices.ContainsFunc(v.Past[s.ref], func(p content.Past) bool {
			_, isLater := since(&p, w)
			return isLater && !p.IsOpen() && p.ConcernsAny(s.references)
		}))
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
