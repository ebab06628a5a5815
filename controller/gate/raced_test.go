//go:build race

package gate

// defaultFleets are few under the race detector: the simulation has one goroutine.
const defaultFleets = 500
