// Package facts holds what the commands know about a cluster, as values.
package facts
