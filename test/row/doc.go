// Package row is a model of the rules by which one bad content breaks one workload: who is exposed to which content, what
// has failed, and whose turn it is. Its tests search all histories of a few events for one that breaks them. The controller
// keeps to these rules as far as docs/fan-out.md promises; controller/pairs_test.go plays its own parts.
package row
