//go:build race

package deployment

// defaultRollouts are few under the race detector: the simulation has one
// goroutine, and takes six times as long.
const defaultRollouts = 2_000
