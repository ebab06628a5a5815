// Package store reads and writes the objects in which the controller keeps what must outlive a process: the Secret
// with the key of Secrets' checksums, and the ConfigMap of halts. Without a place to keep them, a process uses a key
// of its own, and halts end with it.
//
//   - The key is created once, by the leader. A standby has none until it leads, so its counts leave out Secrets. At a
//     refusal, the leader goes on trying for half a minute, because the API server may not know all Roles yet.
//   - A malformed key is not replaced: the person who put it there may want it back. Without it, the pods decide about
//     workloads with Secrets, which restarts only those for whose Secrets they are not conclusive.
package store
