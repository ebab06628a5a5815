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

// Limit returns the first samples, up to the limit, and a sample of [Other] that joins
// all the rest, starting from 0. The sample of Other is always present, so that a metric
// with nothing to report differs from a missing metric. Limit modifies the slice.
func Limit(samples []Sample, limit int, join func(a, b float64) float64) []Sample {
	other := Sample{Label: Other}
	named := samples[:0]
	for _, s := range samples {
		if len(named) < limit && s.Label != Other { // a name can also be Other
			named = append(named, s)
		} else {
			other.Value = join(other.Value, s.Value)
		}
	}
	return append(named, other)
}

// Largest is like [Limit], for the samples with the largest values; among equal values,
// labels that sort first win. It does not sort the samples that it leaves out, of which
// there may be many.
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
