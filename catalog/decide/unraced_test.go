//go:build !race

package decide

const isRaced = false
