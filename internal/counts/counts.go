// Package counts has maps of counts that shrink again.
package counts

// By counts by key. Counts that are 0 take no memory.
type By[K comparable] map[K]int

// Add adds to a count; n may be negative.
func (c By[K]) Add(key K, n int) {
	if c[key] += n; c[key] == 0 {
		delete(c, key)
	}
}
