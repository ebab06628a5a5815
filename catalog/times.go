package catalog

import "time"

// discardForgedTimes drops times that no clock shows. Anyone can write a basis, and a year
// without exactly four digits could be read but never written again. The last day of 9999
// has such a year in UTC with the right offset.
func (b *basis) discardForgedTimes() {
	for _, at := range []*time.Time{&b.Written, &b.Contradicted, &b.Last} {
		if year := at.UTC().Year(); year < 1970 || year > 9998 {
			*at = time.Time{}
		}
	}
}
