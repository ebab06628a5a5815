package catalog

import "time"

// discardForgedTimes drops times that no clock shows. Anybody can write a basis, and a year
// that has no four digits, as the last day of 9999 is in UTC with the right offset, could be
// read but never be written again.
func (b *basis) discardForgedTimes() {
	for _, at := range []*time.Time{&b.Written, &b.Contradicted, &b.Last} {
		if year := at.UTC().Year(); year < 1970 || year > 9998 {
			*at = time.Time{}
		}
	}
}
