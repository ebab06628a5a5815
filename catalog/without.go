package catalog

// Without is what a record does not cover.
type Without struct {
	// Filter is the filter by which the checksums were made.
	Filter Filter
	// Ignored are the configs that were ignored; see [View.ignored].
	Ignored string
	// Hidden means that the checksums leave out keys that are hidden; see [hiddenKeys].
	Hidden bool
}

// withoutHidden is what most records do not cover that do not cover everything. They share it.
var withoutHidden = Without{Hidden: true}

// readWithout notes what a trusted record does not cover.
func (r *AppliedState) readWithout(b *basis) {
	if r.Trusted {
		r.Without = unlessZero(Without{b.Filter, b.Ignored, b.Scheme == hidingScheme})
	}
	if r.Without != nil && *r.Without == withoutHidden {
		r.Without = &withoutHidden
	}
}

// without returns what the record does not cover.
func (r *AppliedState) without() Without {
	if r.Without == nil {
		return Without{}
	}
	return *r.Without
}

// scheme names the scheme of such a record.
func (w *Without) scheme() string {
	if w.Hidden {
		return hidingScheme
	}
	return keyedScheme
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
