package series

import (
	"cmp"
	"slices"
)

// Sample is the value of a gauge for one value of its label.
type Sample struct {
	Label string
	Value float64
}

// Limit returns the first samples, at most as many as the limit, and one of [Other] into
// which all the rest are joined, beginning with 0. That one is always there, so that a
// metric of which there is nothing to report can be told from one that is missing. It
// modifies the slice.
func Limit(samples []Sample, limit int, join func(a, b float64) float64) []Sample {
	other := Sample{Label: Other}
	named := samples[:0]
	for _, s := range samples {
		if len(named) < limit && s.Label != Other { // which can be a name as well
			named = append(named, s)
		} else {
			other.Value = join(other.Value, s.Value)
		}
	}
	return append(named, other)
}

// Largest is [Limit] of the samples with the largest values; of equal ones, those whose
// labels come first. It does not sort what it leaves out, of which there may be much.
func Largest(samples []Sample, limit int, join func(a, b float64) float64) []Sample {
	other := Sample{Label: Other}
	largest := make([]Sample, 0, limit+1)
	for _, s := range samples {
		place, _ := slices.BinarySearchFunc(largest, s, largestFirst)
		if place == limit || s.Label == Other {
			other.Value = join(other.Value, s.Value)
			continue
		}
		if largest = slices.Insert(largest, place, s); len(largest) > limit {
			other.Value = join(other.Value, largest[limit].Value)
			largest = largest[:limit]
		}
	}
	return append(largest, other)
}

func largestFirst(a, b Sample) int {
	return cmp.Or(cmp.Compare(b.Value, a.Value), cmp.Compare(a.Label, b.Label))
}
