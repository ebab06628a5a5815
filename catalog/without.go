package catalog

// Without is what a record does not cover.
type Without struct {
	// Filter is the filter by which the checksums were made.
	Filter Filter
	// Ignored are the configs that were ignored; see [View.ignored].
	Ignored string
}

// readWithout notes what a trusted record does not cover.
func (r *AppliedState) readWithout(b *basis) {
	if r.Trusted {
		r.Without = unlessZero(Without{b.Filter, b.Ignored})
	}
}

// without returns what the record does not cover.
func (r *AppliedState) without() Without {
	if r.Without == nil {
		return Without{}
	}
	return *r.Without
}

// filteredMark follows the fingerprint in the basis of a record that was made by a filter. A version
// that knows no filters finds a record for another pod template there, and does not trust it: it would
// compare the checksums with those of keys that did not count.
const filteredMark = "+filter"

// templateMember returns how the basis names a pod template.
func templateMember(fingerprint Fingerprint, filter Filter, evict string) string {
	member := fingerprint.String()
	if filter != (Filter{}) {
		member += filteredMark
	}
	if evict != "" {
		member += evictMark
	}
	return member
}
