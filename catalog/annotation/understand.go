package annotation

import "time"

// SinceAny returns the earliest known time by which the object had any of the annotations.
func (o *Ownership) SinceAny(names []string) (since time.Time) {
	for _, name := range names {
		if by := Earliest(o.OfAnnotation(name)); since.IsZero() || !by.IsZero() && by.Before(since) {
			since = by
		}
	}
	return since
}
