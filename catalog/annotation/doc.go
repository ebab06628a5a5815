// Package annotation has the annotations that people and the controller write, on which objects each counts, and who
// wrote them and when.
//
// The last comes from the managedFields of an object. What they show has limits:
//
//   - They date the last write of a manager, not that of each of its fields. So a date may be too late, but not too
//     early.
//   - A field that was removed leaves no trace.
//   - A field changes its owner only if a write changes its value. So whatever must show who wrote it has to contain
//     something that is new each time.
//   - Times have whole seconds. A time in the future is ignored.
//   - For a Secret that was written by server-side apply, the owner of stringData counts as well, because the API
//     server moves the values but not the ownership.
//
// A write counts as the controller's own if its field manager has the controller's name and made an update: kubectl
// rollout undo, backups and copied manifests restore the controller's annotations under other names. The original
// controller uses the same name.
package annotation
