//go:build !race

package catalog

const isRaced = false
