//go:build !race

package gate

// defaultFleets are enough to find what happens once in some thousands.
const defaultFleets = 20_000
