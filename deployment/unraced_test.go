//go:build !race

package deployment

// defaultRollouts are enough to find what happens once in some ten thousand.
const defaultRollouts = 11_000
