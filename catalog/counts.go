package catalog

// Counts count by key. Those that are 0 take no memory.
type Counts[K comparable] map[K]int

// Add adds to a count; n may be negative.
func (c Counts[K]) Add(key K, n int) {
	if c[key] += n; c[key] == 0 {
		delete(c, key)
	}
}
