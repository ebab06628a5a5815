package series

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
