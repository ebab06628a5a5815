// Package quarantine prevents one object that causes a panic from ending the program for all others.
//
// Code that takes in an object, or decides about one, runs in [Set.Try]. If it panics, the object is left alone until
// it changes; the log and /readyz name it, and an Event informs its owner. A decision is tried again when one of the
// workload's configs changes.
//
//   - The log shows the type of the panic's value, and its text only if it is the Go runtime's own. The stack is
//     without arguments, which could include a digest of a Secret.
//   - 200 objects of a namespace are remembered, and 1,000 in all, but at least 5 of each namespace.
//
// Running out of memory or stack, and concurrent writes to a map, still end the process.
package quarantine
