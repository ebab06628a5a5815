//go:build race

package row

// defaultEvents are few under the race detector: the search has one goroutine.
const defaultEvents = 2
