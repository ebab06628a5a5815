// Package workload reduces a workload to what matters, and carries over what is known of its former state.
//
// Vocabulary:
//
//   - Parts are what all kinds have in common: metadata, pod template, selector, status.
//   - A rollout is what the status says about the pods of the present template. A workload is whole if it runs with
//     all pods that it wants, all of that template. It is idle if it wants none.
//   - A hold is what keeps a patched workload from restarting its pods by itself: a pause, OnDelete, a partition, a
//     missing trigger, or pods that are updated in place. The last prevents the restart: such pods would get the
//     timestamp, but no container would restart.
//
// # How a state follows another
//
// What the API does not show is carried over from the former state:
//
//   - The moment of the record, as long as it has the same written: a mark, or a release that is taken back, makes no
//     other record.
//   - The budget, if another client removes the record and leaves the pod template alone, or reverts a restart.
//   - A revert that the annotations do not show, such as an undo that replaced them.
//   - Since when pods are evicted, and since when rotations count, if another client removes the record.
//   - RecordUndone: a record for the present template was trusted and no longer is. Writes of such records are spaced
//     out.
//
// # Filters
//
// A change of a filter changes checksums, and must not restart anything. So a record that another filter made is
// compared by its own. Of the moments at which the filter changed, only the first since the record is remembered:
// edits of keys that the record does not cover count after it. So if the filter changes twice, an edit in between
// counts as well, even of a key that counts only after the second change. A new record, once the watch has shown it,
// ends that.
//
// # Reverts
//
// If the template has another restart timestamp than the basis says, the restart was reverted. Its manager is the
// owner of the timestamp, or without one the last writer other than this controller, because a removal leaves no
// trace.
//
// # Restarts by eviction
//
// The record says since when a restart by eviction runs, by the clock of the API server, because that dates pods, too.
// The managedFields date only the last write. So the basis says "evict":"now" in the write that begins the restart,
// and each later write names the time that it had.
//
// A pod is earlier if it was created up to a second after the record: both times are truncated, and several API
// servers may differ by a second.  So that no replacement is in doubt, nothing is evicted before [EvictionDelay] has
// passed.
package workload
