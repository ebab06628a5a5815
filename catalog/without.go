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
