// Package store keeps what must outlive a process, in objects of the controller's own, and a bounded number of notes in
// memory.
package store
