// Package quarantine keeps one object that makes the program panic from ending it for all
// others. Both engines use it, and the watches; it knows none of them.
//
// Whoever takes in an object, or decides about one, does so with [Ward.Try]. If that
// panics, the ward holds the object: it is named in the log and in /readyz, its owner is
// told, and it is left alone until it changes. Everything else goes on.
//
// What it guarantees:
//
//   - The log has no content of objects. Of what the panic was about it shows the type, and
//     the text only if it is the Go runtime's own. The stack has functions and lines, but no
//     arguments, among which a digest of a Secret could be.
//   - Memory is bounded, however many objects there are to hold.
//
// What no recovery can help against ends the process still: running out of memory or stack,
// and concurrent writes to a map.
package quarantine
