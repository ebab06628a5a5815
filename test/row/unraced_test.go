//go:build !race

package row

// defaultEvents take seconds; four take minutes.
const defaultEvents = 3
