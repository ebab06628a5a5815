package catalog

import "slices"

// A change of a filter restarts nothing: it changes what is compared, so the workload is only recorded again. Until then, the
// record is compared by the filter that made it. Of everything else, those edits count that a watch showed after the filter
// first changed since the record. Without a record that is trusted, all edits of what counts now do.

// Filtering is what is known of the filters of a workload that has one, or had one when its record was made.
type Filtering struct {
	present Filter
	// isOther means that a trusted record was made by another filter than the present one, and recorded are the references
	// that it covers.
	isOther  bool
	recorded []Reference
	// changed is the moment at which the watch first showed another filter since the record, 0 if it showed none. While no
	// record is trusted, it may be a moment before that.
	changed Sequence
}

// Filter returns the present filter.
func (w *Workload) Filter() Filter {
	if w.Filtering == nil {
		return Filter{}
	}
	return w.Filtering.present
}

// newFiltering returns what is known of the filters of a workload with this filter and this record. The function references
// returns the references that count by a filter.
func newFiltering(present Filter, record *AppliedState, references func(by Filter) []Reference) *Filtering {
	f := Filtering{present: present}
	if f.isOther = record.Trusted && record.filter() != present; f.isOther {
		f.recorded = references(record.filter())
	}
	if present == (Filter{}) && !f.isOther {
		return nil
	}
	return &f
}

// filter returns the filter by which the checksums were made.
func (r *AppliedState) filter() Filter { return r.without().Filter }

// followFilters notes when the filter first changed since the record. What is known of the previous state of the workload
// may be nil.
func (w *Workload) followFilters(previous *Workload, moment Sequence) {
	first := w.firstOtherFilter(previous, moment)
	if first == 0 {
		return
	}
	var followed Filtering
	if w.Filtering != nil {
		followed = *w.Filtering
	}
	followed.changed = first
	w.Filtering = &followed
}

// firstOtherFilter returns the moment at which the watch first showed another filter since the record, or earlier; 0 if it
// showed none.
func (w *Workload) firstOtherFilter(previous *Workload, moment Sequence) (first Sequence) {
	switch {
	case previous != nil && previous.filterChanged() > 0:
		first = previous.filterChanged()
	case w.hasOtherFilter(), previous != nil && previous.Filter() != w.Filter():
		first = moment
	}
	if w.coversSince(first) {
		return 0
	}
	return first
}

// hasOtherFilter reports whether a trusted record was made by another filter than the present one.
func (w *Workload) hasOtherFilter() bool { return w.Filtering != nil && w.Filtering.isOther }

// hadOtherFilter reports whether the workload had another filter since a trusted record, and has that of the record again. What
// happened in between is forgotten once the workload is recorded anew.
func (w *Workload) hadOtherFilter() bool {
	return w.Applied.Trusted && !w.hasOtherFilter() && w.filterChanged() > 0
}

// filterChanged returns [Filtering.changed], or 0 if the record has what counts since then.
func (w *Workload) filterChanged() Sequence {
	if w.Filtering == nil || w.coversSince(w.Filtering.changed) {
		return 0
	}
	return w.Filtering.changed
}

// coversSince reports whether a trusted record was made by the present filter, and not before a moment.
func (w *Workload) coversSince(moment Sequence) bool {
	return w.Applied.Trusted && !w.hasOtherFilter() && w.RecordSeen >= moment
}

// recordedReferences returns the references to a config that counted when the record was made.
func (w *Workload) recordedReferences(ref ConfigRef) []Reference {
	if w.hasOtherFilter() {
		return referencesTo(w.Filtering.recorded, ref)
	}
	return referencesTo(w.References, ref)
}

// narrowing is what a trusted record that another filter made says about a config.
type narrowing struct {
	// recorded selects the keys that the record covers. It is empty if the record does not cover the config.
	recorded []Selection
	// isRecorded means that the record has the config, and differs that it has other content of it than
	// the present one, and that the workload sees the difference.
	isRecorded, differs bool
	// since is the moment after which edits of other keys count.
	since Sequence
	// present is the checksum of what counts now.
	present Checksum
}

// narrowing returns what the workload's record says about a config, which may be nil, by the references to it: nil if the
// record covers the same.
func (w *Workload) narrowing(references []Reference, config *Config) *narrowing {
	if !w.hasOtherFilter() {
		return nil
	}
	ref := references[0].Config
	recorded, since := referencesTo(w.Filtering.recorded, ref), w.Filtering.changed
	if slices.EqualFunc(recorded, references, isSameReference) {
		return nil
	}
	if len(recorded) > 0 && recorded[0].NeedsMark && w.Applied.saysIgnored(ref) {
		recorded, since = nil, w.countedSince(config, since)
	}
	n := narrowing{recorded: selections(recorded), since: since}
	_, n.isRecorded = w.Applied.Checksums[ref]
	return &n
}

// countedSince returns the moment from which on a config counted that the record lacks for want of a mark, as far as that is
// known; otherwise the given moment.
func (w *Workload) countedSince(config *Config, otherwise Sequence) Sequence {
	switch marked := config.markedAfter(); {
	case config.isMarked(): // it may have ignored itself, too; 0 is before the first list
		return min(otherwise, max(marked, config.countsAfter()))
	case marked > 0 && (marked >= w.RecordSeen || !w.OwnRecord): // what began at that moment came after the record
		return min(otherwise, marked)
	}
	return otherwise
}

func isSameReference(a, b Reference) bool {
	return compareWays(&a, &b) == 0 && a.Container == b.Container && a.NeedsMark == b.NeedsMark && a.Keys.DataOnly == b.Keys.DataOnly &&
		a.Keys.ByRules == b.Keys.ByRules && a.Keys.HasAll() == b.Keys.HasAll() && slices.Equal(a.Keys.Names, b.Keys.Names)
}

// isCovered reports whether the record covers the key of an edit.
func (n *narrowing) isCovered(edit Edit) bool {
	return slices.ContainsFunc(n.recorded, edit.concerns)
}

// isReason reports whether an edit can be a reason to restart that the record does not know. An edit of a key that the
// record covers is none unless the content differs.
func (n *narrowing) isReason(edit Edit) bool {
	if n == nil {
		return true
	}
	isCovered := n.isCovered(edit)
	if isCovered && (!n.isRecorded || n.differs) {
		return true
	}
	return (!isCovered || edit.isJoined()) && edit.Seen > n.since
}

// isCause reports whether an edit can be what makes the content differ from the record, or a reason
// besides that.
func (n *narrowing) isCause(edit Edit) bool {
	return n == nil || n.isCovered(edit) || n.isReason(edit)
}

// shows reports whether the workload sees a difference of a config from a record that covers other
// keys of it. If no edit since the record is known, any key may be different.
func (n *narrowing) shows(w *Workload, s *sight) bool {
	isKnown, present := false, selections(s.references)
	for _, edit := range append(slices.Clone(s.config.Edits), s.config.creation()) {
		if !n.isCovered(edit) || !w.lacks(edit) {
			continue
		}
		if isKnown = true; edit.creation || slices.ContainsFunc(present, edit.concerns) {
			return true
		}
	}
	return !isKnown
}

// compare makes a sight compare the config with a record that was made by another filter: with the
// keys that the record covers. A difference that does not count is none.
func (n *narrowing) compare(v *View, s *sight) {
	n.present = s.checksum
	recorded, found := v.Workload.Applied.Checksums[s.ref]
	if !found {
		return
	}
	s.seen = s.config.seen(n.recorded)
	s.checksum = s.config.checksumOf(s.seen, v.Key)
	if n.differs = s.checksum != recorded && n.shows(v.Workload, s); !n.differs {
		s.checksum = recorded
	}
}
