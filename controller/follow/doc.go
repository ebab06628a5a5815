// Package follow follows restarts until it is known what became of them, also those of former leaders and those by eviction.
package follow
