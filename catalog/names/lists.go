package names

import "iter"

// Runs returns the longest runs of a list in which neighbors are the same, in order.
func Runs[T any](list []T, same func(a, b *T) bool) iter.Seq[[]T] {
	return func(yield func([]T) bool) {
		for start := 0; start < len(list); {
			end := start + 1
			for end < len(list) && same(&list[end-1], &list[end]) {
				end++
			}
			if !yield(list[start:end:end]) {
				return
			}
			start = end
		}
	}
}

// MaxNamed is the highest number of configs, keys and writers that a decision names. Decisions
// appear in logs and Events, and stay in memory while a restart is put off or unanswered;
// nothing limits the number of a config's keys and writers.
const MaxNamed = 10

// UnknownNumber stands for the number of others where it is not known whether there are any.
const UnknownNumber = -1
