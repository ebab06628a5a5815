package catalog

import (
	"slices"
	"time"
)

// The content of a config can change and return to the recorded content before the restart for the
// change happens: within the grace period, or while the restart is put off or its patch fails. The
// record is then correct again, but pods that started in between have read the other content. The
// controller may know two things about such an interval: what the watch showed (see [Past]), and
// since when a process that could not restart the pods knew about it (see
// [AppliedState.Contradicted]).

// span is an interval in which readers could read content other than the recorded one.
type span struct {
	// sight is the config, and past is the content that it had, or nil if that is not known.
	sight *sight
	past  *Past
	from  Sighting
	until Sighting // zero if it is not known when it ended
}

// concerns reports whether a reference to the config could read the other content.
func (s *span) concerns(reference *Reference) bool {
	return s.past == nil || s.past.isOther(s.sight.config, reference)
}

// concernsRecord reports whether past content concerns a key that the record covers.
func (s *sight) concernsRecord(p *Past) bool {
	return s.narrowing == nil || p.Key == "" || s.narrowing.isCovered(Edit{Key: p.Key})
}

// maxSpans is the number of intervals of one workload after which the intervals of each further
// config count as one.
const maxSpans = 1000

// spans returns the intervals since the record in which a config had other content than the
// recorded one, although it has the recorded content now.
func (v *View) spans(sights []sight) []span {
	w := v.Workload
	if len(v.Past) == 0 && w.Applied.Contradicted.IsZero() {
		return nil
	}
	var found []span
	for i := range sights {
		if s := &sights[i]; v.isRecordedSame(s) {
			known := len(found)
			found = s.appendPastSpans(found, w, v.Past[s.ref])
			if known > maxSpans {
				found = joinSpans(found, known)
			}
		}
	}
	return append(found, v.markedSpans(sights, found)...)
}

// joinSpans joins the spans from an index on, which belong to one config, into one.
func joinSpans(all []span, from int) []span {
	if len(all) < from+2 {
		return all
	}
	joined := Past{From: all[from].from, Until: all[from].until}
	for _, s := range all[from+1:] {
		joined = mix("", joined, Past{From: s.from, Until: s.until})
	}
	return append(all[:from], span{sight: all[from].sight, past: &joined, from: joined.From, until: joined.Until})
}

// appendPastSpans appends the spans of one config that the watch showed.
func (s *sight) appendPastSpans(found []span, w *Workload, past []Past) []span {
	for i := range past {
		p := &past[i]
		from, isLater := p.since(w)
		if isLater && !p.isOpen() && s.concernsRecord(p) && slices.ContainsFunc(s.references, func(r Reference) bool { return p.isOther(s.config, &r) }) {
			found = append(found, span{sight: s, past: p, from: from, until: p.Until})
		}
	}
	return found
}

// since returns when the content came, and false if it went before the record, or before the pods
// were found to have what the record says. Content that was there at that moment counts: either it
// is the recorded content, or the config was gone, or the process that wrote the record knew other
// content than this catalog. In a mixture, some contents came later than the first one; if in
// doubt, any time since the record counts. The returned moment is that of the end, because content
// that outlasted the record began to matter with the record.
func (p *Past) since(w *Workload) (Sighting, bool) {
	from := Sighting{At: p.From.At, Seen: p.Until.Seen}
	if (p.Mixed || p.Vague) && p.From.Seen <= w.lastRight() {
		from.At = w.Applied.Written
	}
	return from, w.isLater(p.Until) && !p.isGoneBefore(w)
}

// isGoneBefore reports whether the content had gone before another process made the record, so that
// no pod has read it: the record was made with a restart, after which all pods of the template were
// created. The clocks decide if the watches showed first that the content had gone, and then the
// record. Otherwise they must be apart by more than they may differ. If the times are too close, the
// record itself decides: had the content still been there, the record would say so, provided that it
// came early enough for the other process to know it.
func (p *Past) isGoneBefore(w *Workload) bool {
	if w.OwnRecord || w.PodsSeen > 0 || !w.Applied.WithRestart {
		return false
	}
	written, until := w.Applied.Written, p.Until.At
	isClear := !until.After(written)
	if p.Until.Seen > w.RecordSeen {
		isClear = !until.Add(clockTolerance).After(written)
	}
	wasKnown := !p.Mixed && !p.Vague && !p.isAbsence() && !p.From.At.Add(clockTolerance).After(written)
	return isClear || wasKnown && !until.After(written.Add(clockTolerance))
}

// lastRight returns the moment at which the pods were last known to have, or to be about to get,
// the recorded content.
func (w *Workload) lastRight() Sequence { return max(w.RecordSeen, w.PodsSeen) }

// isLater reports whether the watch showed something after the pods were last known to have, or to
// be about to get, the recorded content. The watch of workloads may be behind and show another
// process's record long after it was written, so anything dated after the write counts too.
func (w *Workload) isLater(shown Sighting) bool {
	isWrittenBefore := shown.Seen > 0 && shown.At.Sub(w.Applied.Written) > -clockTolerance
	return shown.Seen > w.lastRight() || isWrittenBefore && !w.OwnRecord && w.PodsSeen == 0
}

// contradictedSince returns [AppliedState.Contradicted] if it matters to the pods of the present
// template. It does not matter if they were found to be up to date since then, unless the record
// itself is marked.
func (w *Workload) contradictedSince() time.Time {
	if isVerified := w.PodsSeen > 0; isVerified && !w.Applied.Marked {
		return time.Time{}
	}
	return w.Applied.Contradicted
}

const reasonLacking = "a config is gone whose content differed from the record for a while"

// lacksContradicted reports whether a recorded config that had other content for a while is gone.
// The config may come back, so that knowledge must not be lost.
func (v *View) lacksContradicted(sights []sight) bool {
	w := v.Workload
	return w.Applied.Trusted && slices.ContainsFunc(sights, func(s sight) bool {
		return w.hasLost(&s) && (w.Applied.Marked || slices.ContainsFunc(v.Past[s.ref], func(p Past) bool {
			_, isLater := p.since(w)
			return isLater && !p.isOpen() && p.concernsAny(s.references)
		}))
	})
}

// isRecordedSame reports whether the record is trusted and has the present checksum of a config.
func (v *View) isRecordedSame(s *sight) bool {
	recorded, found := v.Workload.Applied.Checksums[s.ref]
	return s.config != nil && found && v.Workload.Applied.Trusted && recorded == s.checksum
}

// lastOfKey returns the last edit of a key, or the one that may stand for it, or the zero Edit if no edit is known.
func lastOfKey(edits []Edit, key string) Edit {
	for _, edit := range slices.Backward(edits) { // one that stands for others comes first
		if edit.Key == key || edit.Key == "" {
			return edit
		}
	}
	return Edit{}
}

// markedSpans returns the interval that began when the record was known to be contradicted, once
// for each recorded config. The interval ended when the watch showed the last edit; if the watch
// has shown no edit since, the end is unknown. There is no such interval if the watch showed a known
// one that covers its beginning.
func (v *View) markedSpans(sights []sight, known []span) []span {
	w := v.Workload
	since := w.contradictedSince()
	covers := func(s span) bool {
		return !s.from.At.After(since.Add(clockTolerance)) && (s.until.Seen == 0 || s.until.At.After(since))
	}
	if since.IsZero() || w.Applied.MarkSeen || slices.ContainsFunc(known, covers) {
		return nil
	}
	var marked []span
	until := v.lastSeen(sights, since)
	for i := range sights {
		if v.isRecordedSame(&sights[i]) {
			marked = append(marked, span{sight: &sights[i], from: Sighting{At: since}, until: until})
		}
	}
	return marked
}

// lastSeen returns when the watch showed the last edit or creation that concerns the workload and is
// not older than the given time. It is zero if there is none. What the watch showed before the
// catalog knew all configs does not count: another config may have changed after that.
func (v *View) lastSeen(sights []sight, since time.Time) Sighting {
	last := Sighting{At: since}
	note := func(edit Edit) {
		if edit.Seen > v.Complete && !edit.At.Before(last.At) {
			last = Sighting{edit.At, edit.Seen}
		}
	}
	for i := range sights {
		if sights[i].config == nil {
			continue
		}
		note(sights[i].config.creation())
		selected := selections(sights[i].references)
		for _, edit := range sights[i].config.Edits {
			if sights[i].config.isSeen(edit, selected) {
				note(edit)
			}
		}
	}
	if last.Seen == 0 {
		return Sighting{}
	}
	return last
}

// noteContradiction notes whether the record is contradicted, and since when.
func (d *Decision) noteContradiction(view *View, sights []sight, spans []span) {
	first := Sighting{At: view.Workload.contradictedSince()}
	note := func(from Sighting) {
		if first.At.IsZero() || !from.At.After(first.At) {
			first = from
		}
	}
	for i := range sights {
		if s := &sights[i]; view.isRecordedOtherwise(s) {
			d.Contradicts = true
			s.eachChange(view.Workload, view.Past[s.ref], note)
		}
	}
	for _, s := range spans {
		d.Contradicts = true
		if s.from.Seen > 0 {
			note(s.from)
		}
	}
	if d.Contradicts {
		view.eachOpenAbsence(sights, note)
		d.Contradicted = first
	}
}

// eachOpenAbsence calls a function with the moment since which a recorded config is gone. Containers
// that start without it have other content than the record says.
func (v *View) eachOpenAbsence(sights []sight, gone func(Sighting)) {
	for i := range sights {
		s := &sights[i]
		if !v.Workload.hasLost(s) {
			continue
		}
		for _, p := range v.Past[s.ref] {
			if p.isOpen() && p.concernsAny(s.references) {
				gone(p.From)
			}
		}
	}
}

// eachChange calls a function with each known change since the record of what the workload sees of
// a config.
func (s *sight) eachChange(w *Workload, past []Past, change func(Sighting)) {
	note := func(from Sighting) {
		if w.isLater(from) {
			change(from)
		}
	}
	creation := s.config.creation()
	note(Sighting{creation.At, creation.Seen})
	selected := selections(s.references)
	for _, edit := range s.config.Edits {
		shown := Sighting{edit.At, edit.Seen}
		switch {
		case !s.config.isSeen(edit, selected):
		case !edit.isJoined():
			note(shown)
		case w.isLater(shown): // any time since the record
			change(Sighting{w.Applied.Written, edit.Seen})
		}
	}
	for i := range past {
		switch p := &past[i]; {
		case !p.concernsAny(s.references):
		case !p.isAbsence():
			note(p.From)
		case w.isLater(p.Until): // no record includes it, so it counts if it outlasted the record
			change(Sighting{p.From.At, p.Until.Seen})
		}
	}
}

// Mark returns annotations with the same record, marked as contradicted since the given time. It
// returns false if part of the record cannot be read, or if there is no trusted record to mark.
func (v *View) Mark(since time.Time) (map[string]string, bool, error) {
	w := v.Workload
	r := &w.Applied
	if !r.Trusted || r.Key != "" && r.Key != v.Key.ID() {
		return nil, false, nil
	}
	timestamp := w.Timestamp
	if r.Reverted != nil {
		timestamp = r.Reverted.Restart
	}
	annotations, err := r.Checksums.Annotations(Basis{
		Template: w.Template, Key: v.Key, Budget: r.Budget, Written: r.Written, Timestamp: timestamp, Contradicted: since, WasWhole: r.WasWhole,
		RestartedFor: r.RestartedFor, Without: r.without(), Evict: w.evictMember(),
	})
	return annotations, err == nil, err
}

// isRead reports whether a pod read the config within the interval, or so close to it that the
// clocks cannot decide. A close read does not count if the watch showed the pods' template after
// the end of the interval.
func (s *span) isRead(at *allReads, templateSeen Sequence) bool {
	from, until := s.from.At, s.until.At
	if s.until.Seen == 0 || s.until.Seen >= templateSeen {
		from, until = from.Add(-clockTolerance), until.Add(clockTolerance)
	}
	if s.until.At.IsZero() {
		until = endOfTime
	}
	return slices.ContainsFunc(s.sight.references, func(reader Reference) bool {
		return at.isAny(&reader, from, until) && s.concerns(&reader)
	})
}

// addReturned adds the configs whose content has returned to the recorded one and that pods read
// in between. It reports whether there are such pods.
func (d *Decision) addReturned(w *Workload, spans []span, pods []Pod) bool {
	if len(spans) == 0 {
		return false
	}
	found, at, returned := false, newAllReads(pods), Decision{}
	for i := range spans {
		s := &spans[i]
		if !s.isRead(at, w.PodTemplateSeen) {
			continue
		}
		found = true
		if s.past != nil {
			returned.addCause(s.sight.ref, []Edit{lastOfKey(s.sight.config.Edits, s.past.Key)})
		}
	}
	d.Causes = joinCauses(d.Causes, returned.Causes)
	return found
}

// joinCauses joins two lists of causes, each of them sorted by config.
func joinCauses(a, b []Cause) []Cause {
	if len(b) == 0 {
		return a
	}
	all := slices.Concat(a, b)
	slices.SortStableFunc(all, func(a, b Cause) int { return compareConfigRefs(a.Config, b.Config) })
	joined := all[:0]
	for same := range runs(all, func(a, b *Cause) bool { return a.Config == b.Config }) {
		cause := same[0]
		for _, other := range same[1:] {
			cause.Keys, cause.Writers = append(cause.Keys, other.Keys...), append(cause.Writers, other.Writers...)
			cause.Moments, cause.Unnamed = append(cause.Moments, other.Moments...), cause.Unnamed || other.Unnamed
		}
		joined = append(joined, cause)
	}
	return joined
}
