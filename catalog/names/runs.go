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
