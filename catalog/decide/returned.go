package decide

import (
	"slices"
	"time"

	"kubernetes-deployment-restart-controller/catalog"
	"kubernetes-deployment-restart-controller/catalog/annotation"
	"kubernetes-deployment-restart-controller/catalog/content"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/template"
	"kubernetes-deployment-restart-controller/catalog/workload"
)

// The content of a config can change and return to the recorded content before the restart for the
// change happens: within the grace period, or while the restart is put off or its patch fails. The
// record is then correct again, but pods that started in between have read the other content. The
// controller may know two things about such an interval: what the watch showed (see [content.Past]), and
// since when a process that could not restart the pods knew about it (see
// [record.Contradiction.Contradicted]).

// span is an interval in which readers could read content other than the recorded one.
type span struct {
	// seen is the config, and past is the content that it had, or nil if that is not known.
	seen  *seenConfig
	past  *content.Past
	from  time.Time
	until names.Sighting // zero if it is not known when it ended
}

// concerns reports whether a reference to the config could read the other content.
func (s *span) concerns(reference *template.Reference) bool {
	return s.past == nil || s.past.IsOther(s.seen.config, reference)
}

// concernsRecord reports whether past content concerns a key that the record covers.
func (s *seenConfig) concernsRecord(p *content.Past) bool {
	return s.narrowing == nil || p.Key == "" || s.narrowing.isCovered(annotation.Edit{Key: p.Key})
}

// maxSpans is the number of intervals of one workload after which the intervals of each further
// config count as one.
const maxSpans = 1000

// spans returns the intervals since the record in which a config had other content than the
// recorded one, although it has the recorded content now.
func spans(v *catalog.View, seenConfigs []seenConfig) []span {
	w := v.Workload
	var found []span
	for i := range seenConfigs {
		if s := &seenConfigs[i]; s.standing == asRecorded {
			known := len(found)
			found = s.appendPastSpans(found, w, v.Past[s.ref])
			if known > maxSpans {
				found = joinSpans(found, known)
			}
		}
	}
	return append(found, markedSpans(v, seenConfigs, found)...)
}

// joinSpans joins the spans from an index on, which belong to one config, into one.
func joinSpans(all []span, from int) []span {
	if len(all) < from+2 {
		return all
	}
	joined := content.Past{From: names.Sighting{At: all[from].from}, Until: all[from].until}
	for _, s := range all[from+1:] {
		joined = content.Mix("", joined, content.Past{From: names.Sighting{At: s.from}, Until: s.until})
	}
	return append(all[:from], span{seen: all[from].seen, past: &joined, from: joined.From.At, until: joined.Until})
}

// appendPastSpans appends the spans of one config that the watch showed.
func (s *seenConfig) appendPastSpans(found []span, w *workload.Workload, past []content.Past) []span {
	if absence := s.unseenAbsence(w, past); absence != nil {
		found = s.appendSpan(found, w, absence)
	}
	for i := range past {
		found = s.appendSpan(found, w, &past[i])
	}
	return found
}

func (s *seenConfig) appendSpan(found []span, w *workload.Workload, p *content.Past) []span {
	from, isLater := since(p, w)
	if isLater && !p.IsOpen() && s.concernsRecord(p) && slices.ContainsFunc(s.references, func(r template.Reference) bool { return p.IsOther(s.config, &r) }) {
		return append(found, span{seen: s, past: p, from: from, until: p.Until})
	}
	return found
}

// unseenAbsence returns the absence of a recorded config until the watch showed its creation, if no watch showed how it went. It
// is nil if that cannot matter: pods need the config to start, or the record or the opt-in is younger.
func (s *seenConfig) unseenAbsence(w *workload.Workload, past []content.Past) *content.Past {
	created := s.config.Creation()
	isRequired := func(r template.Reference) bool { return !r.Optional }
	isYounger := created.Seen > w.EnabledSeen && (w.OwnRecord || names.IsAfter(created.At, w.Record.Written, false))
	if !isYounger || slices.ContainsFunc(s.references, isRequired) {
		return nil
	}
	return s.config.UnseenAbsence(past)
}

// lastOfKey returns the last edit of a key, or the one that may stand for it, or the zero Edit if no edit is known.
func lastOfKey(edits []annotation.Edit, key string) annotation.Edit {
	for _, edit := range slices.Backward(edits) { // one that stands for others comes first
		if edit.Key == key || edit.Key == "" {
			return edit
		}
	}
	return annotation.Edit{}
}

// markedSpans returns the interval that began when the record was known to be contradicted, once
// for each recorded config. The interval ended when the watch showed the last edit; if the watch
// has shown no edit since, the end is unknown. There is no such interval if this process knows all that the mark tells of. It does if
// watches have shown how all of it began, to this process when it wrote the mark, or to another one. But then this one must have
// watched, too: its watch showed in time the beginning of an interval that it knows, no later than that of the mark.
func markedSpans(v *catalog.View, seenConfigs []seenConfig, known []span) []span {
	r, since := &v.Workload.Record, v.Workload.ContradictedSince()
	begun := max(v.Complete, v.Workload.EnabledSeen) // before, pasts may not have been kept
	hasWatched := func(s span) bool {
		from := s.past.From
		return from.Seen > begun && !s.past.Late && !s.past.Vague && names.IsAfter(since, from.At, true) && s.until.At.After(since)
	}
	isKnown := !r.Unseen && (r.MarkOwn || slices.ContainsFunc(known, hasWatched))
	if since.IsZero() || isKnown {
		return nil
	}
	var marked []span
	until := lastSeen(v, seenConfigs, since)
	for i := range seenConfigs {
		if seenConfigs[i].standing == asRecorded {
			marked = append(marked, span{seen: &seenConfigs[i], from: since, until: until})
		}
	}
	return marked
}

// lastSeen returns when the watch showed the last edit or creation that concerns the workload and is
// not older than the given time. It is zero if there is none. What the watch showed before the
// catalog knew all configs does not count: another config may have changed after that.
func lastSeen(v *catalog.View, seenConfigs []seenConfig, since time.Time) names.Sighting {
	last := names.Sighting{At: since}
	for i := range seenConfigs {
		for edit := range seenConfigs[i].edits() {
			if edit.Seen > v.Complete && !edit.At.Before(last.At) {
				last = names.Sighting{At: edit.At, Seen: edit.Seen}
			}
		}
	}
	if last.Seen == 0 {
		return names.Sighting{}
	}
	return last
}

// isRead reports whether a pod read the config within the interval, or so close to it that the clocks cannot decide. A close
// read does not count if the watch showed the pods' template after the end of the interval.
func (s *span) isRead(reads *reads, templateSeen names.Sequence) bool {
	in := names.Interval{From: s.from, Until: s.until.At}
	if s.until.Seen == 0 || s.until.Seen >= templateSeen {
		in = names.Before(in.Until, true).After(in.From, true)
	}
	if s.until.At.IsZero() {
		in.Until = names.Always.Until
	}
	return slices.ContainsFunc(s.seen.references, func(reader template.Reference) bool { return reads.isAnyIn(in, &reader) && s.concerns(&reader) })
}

// addReturned adds the configs whose content has returned to the recorded one and that pods read in between. It reports whether
// there are such pods.
func (d *Decision) addReturned(w *workload.Workload, spans []span, reads *reads) bool {
	found := false
	for i := range spans {
		s := &spans[i]
		if !s.isRead(reads, w.PodTemplateSeen) {
			continue
		}
		found = true
		if s.past != nil {
			d.addCause(s.seen.ref, []annotation.Edit{lastOfKey(s.seen.config.Edits, s.past.Key)})
		}
	}
	if found {
		d.joinCauses()
	}
	return found
}

// joinCauses sorts the causes by config, and joins those of one config.
func (d *Decision) joinCauses() {
	slices.SortStableFunc(d.Causes, func(a, b Cause) int { return names.CompareConfigRefs(a.Config, b.Config) })
	joined := d.Causes[:0]
	for same := range names.Runs(d.Causes, func(a, b *Cause) bool { return a.Config == b.Config }) {
		cause := same[0]
		for _, other := range same[1:] {
			cause.Keys, cause.Writers = append(cause.Keys, other.Keys...), append(cause.Writers, other.Writers...)
			cause.Moments, cause.Unnamed = append(cause.Moments, other.Moments...), cause.Unnamed || other.Unnamed
		}
		joined = append(joined, cause)
	}
	d.Causes = joined
}
