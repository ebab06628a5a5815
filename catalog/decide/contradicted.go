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
	w := view.Workload
	first := w.ContradictedSince()
	isUnseen := !first.IsZero() && w.Record.Unseen
	note := func(from time.Time) {
		if first.IsZero() || from.Before(first) {
			first = from
		}
	}
	for i := range seenConfigs {
		if s := &seenConfigs[i]; s.standing == otherThanRecorded {
			d.Contradicts = true
			if !s.eachChange(w, view.Past[s.ref], note) {
				isUnseen = true
			}
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
		d.Contradicted, d.Unseen = first, isUnseen
	}
}

// PutOff returns since when the content has contradicted the record, given that the restart is put off now. If no watch showed how
// all of that began, it counts from now on at the latest.
func (d *Decision) PutOff(now time.Time) time.Time {
	if d.Unseen && (d.Contradicted.IsZero() || d.Contradicted.After(now)) {
		return now
	}
	return d.Contradicted
}

// eachOpenAbsence calls a function with the moment since which a recorded config is gone. Containers
// that start without it have other content than the record says.
func eachOpenAbsence(v *catalog.View, seenConfigs []seenConfig, gone func(time.Time)) {
	for i := range seenConfigs {
		s := &seenConfigs[i]
		if s.standing != lost {
			continue
		}
		for _, p := range v.Past[s.ref] {
			if p.IsOpen() && p.ConcernsAny(s.references) {
				gone(p.From.At)
			}
		}
	}
}

// eachChange calls a function with each change since the record that a watch showed of what the workload sees of a config. It
// reports whether that may be all: there is any, and there is no other that has a date.
func (s *seenConfig) eachChange(w *workload.Workload, past []content.Past, change func(time.Time)) bool {
	found, isUnseen := false, false
	note := func(shown names.Sighting, from time.Time) {
		if isLater(w, shown) {
			found = true
			change(from)
		}
	}
	for edit := range s.edits() {
		from := edit.Earliest()
		switch {
		case edit.Seen == 0:
			isUnseen = isUnseen || isMissed(w, edit)
			continue
		case edit.IsJoined() && edit.Late:
			from = s.config.Creation().At
		case edit.IsJoined(): // any time since the record
			from = w.Record.Written
		}
		note(names.Sighting{At: edit.At, Seen: edit.Seen}, from)
	}
	for i := range past {
		switch p := &past[i]; {
		case !p.ConcernsAny(s.references):
		case p.IsAbsence(): // no record includes it, so it counts if it outlasted the record
			from, _ := since(p, w)
			note(p.Until, from)
		case p.Mixed || p.Vague: // the last of the contents may be the recorded one
			from, _ := since(p, w)
			note(p.LastFrom, from)
		default:
			note(p.From, p.From.At)
		}
	}
	return found && !isUnseen
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

// Mark returns annotations with the same record, marked as contradicted since the given time, and whether no watch showed how
// all of that began. It returns false if part of the record cannot be read, if there is no trusted record to mark, or if its mark stays.
// An own mark that proves to be too late gets the time of the record, and stays from then on: otherwise whoever edits a config, and
// forges dates, could have it written again with each edit. Whoever wrote another one may have verified the pods.
func Mark(v *catalog.View, since time.Time, unseen bool) (map[string]string, bool, error) {
	w := v.Workload
	r := &w.Record
	if !r.Trusted || r.Key != "" && r.Key != v.Key.ID() {
		return nil, false, nil
	}
	if r.Marked {
		isTooLate := names.IsAfter(r.Contradicted, since, false) && !since.Equal(r.Written) // that is any time since the record, in doubt
		if !r.MarkOwn || !isTooLate || !r.Contradicted.After(r.Written) {
			return nil, false, nil
		}
		since = names.Earliest(since, r.Written)
	}
	timestamp := w.Timestamp
	if r.Reverted != nil {
		timestamp = r.Reverted.Restart
	}
	annotations, err := r.Checksums.Annotations(record.Basis{
		Template: w.Template, Key: v.Key, Budget: r.Budget, Written: r.Written, Timestamp: timestamp, Contradicted: since, Unseen: unseen, OptedIn: w.OptedIn, Ran: r.Ran,
		RestartedFor: r.RestartedFor, Without: r.Uncovered(), Evict: w.Record.EvictMember(),
	})
	return annotations, err == nil, err
}
