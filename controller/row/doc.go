// Package row is the state of each restart, as far as contents are concerned: who is exposed to which, what has failed, and
// whose turn it is. Nothing uses it yet.
package row
