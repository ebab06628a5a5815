package workload

import (
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/record"
	"kubernetes-deployment-restart-controller/catalog/template"
)

// A change of a filter restarts nothing: it changes what is compared, so the workload is only recorded again. Until then, the
// record is compared by the filter that made it. Of everything else, those edits count that a watch showed after the filter
// first changed since the record. Without a record that is trusted, all edits of what counts now do.

// Filtering is what is known of the filters of a workload that has one, or had one when its record was made.
type Filtering struct {
	present template.Filter
	// isOther means that a trusted record was made by another filter than the present one, and recorded are the references
	// that it covers.
	isOther  bool
	Recorded []template.Reference
	// Changed is the moment at which the watch first showed another filter since the record, 0 if it showed none. While no
	// record is trusted, it may be a moment before that.
	Changed names.Sequence
}

// Filter returns the present filter.
func (w *Workload) Filter() template.Filter {
	if w.Filtering == nil {
		return template.Filter{}
	}
	return w.Filtering.present
}

// NewFiltering returns what is known of the filters of a workload with this filter and this record. The function references
// returns the references that count by a filter.
func NewFiltering(present template.Filter, record *record.Record, references func(by template.Filter) []template.Reference) *Filtering {
	f := Filtering{present: present}
	if f.isOther = record.Trusted && record.Filter() != present; f.isOther {
		f.Recorded = references(record.Filter())
	}
	if present == (template.Filter{}) && !f.isOther {
		return nil
	}
	return &f
}

// FollowFilters notes when the filter first changed since the record. What is known of the previous state of the workload
// may be nil.
func (w *Workload) FollowFilters(previous *Workload, moment names.Sequence) {
	first := w.firstOtherFilter(previous, moment)
	if first == 0 {
		return
	}
	var followed Filtering
	if w.Filtering != nil {
		followed = *w.Filtering
	}
	followed.Changed = first
	w.Filtering = &followed
}

// firstOtherFilter returns the moment at which the watch first showed another filter since the record, or earlier; 0 if it
// showed none.
func (w *Workload) firstOtherFilter(previous *Workload, moment names.Sequence) (first names.Sequence) {
	switch {
	case previous != nil && previous.FilterChanged() > 0:
		first = previous.FilterChanged()
	case w.HasOtherFilter(), previous != nil && previous.Filter() != w.Filter():
		first = moment
	}
	if w.coversSince(first) {
		return 0
	}
	return first
}

// HasOtherFilter reports whether a trusted record was made by another filter than the present one.
func (w *Workload) HasOtherFilter() bool { return w.Filtering != nil && w.Filtering.isOther }

// FilterChanged returns [Filtering.Changed], or 0 if the record has what counts since then.
func (w *Workload) FilterChanged() names.Sequence {
	if w.Filtering == nil || w.coversSince(w.Filtering.Changed) {
		return 0
	}
	return w.Filtering.Changed
}

// coversSince reports whether a trusted record was made by the present filter, and not before a moment.
func (w *Workload) coversSince(moment names.Sequence) bool {
	return w.Record.Trusted && !w.HasOtherFilter() && w.RecordSeen >= moment
}

// RecordedReferences returns the references to a config that counted when the record was made.
func (w *Workload) RecordedReferences(ref names.ConfigRef) []template.Reference {
	if w.HasOtherFilter() {
		return template.ReferencesTo(w.Filtering.Recorded, ref)
	}
	return template.ReferencesTo(w.References, ref)
}
