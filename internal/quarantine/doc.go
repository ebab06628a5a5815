// Package quarantine prevents one object that causes a panic from ending the program for
// all others. Both engines and the watches use it; it depends on none of them.
//
// Code that takes in an object, or decides about one, runs in [Set.Try]. If that panics,
// the object is left alone until it changes: the log and /readyz name it, and an Event
// informs its owner. Everything else continues.
//
// What it guarantees:
//
//   - The log has no content of objects. It shows the type of the panic's value, and the
//     text only if it is the Go runtime's own. The stack has functions and lines, but no
//     arguments, since these could include a digest of a Secret.
//   - Memory is bounded, however many objects cause panics.
//
// Failures that cannot be recovered from still end the process: running out of memory or
// stack, and concurrent writes to a map.
package quarantine
