//go:build race

package decide

// isRaced says that there is a race detector, which has nothing to find in simulations of one goroutine.
const isRaced = true
