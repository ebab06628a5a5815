// Package kinds has the tables of kinds. The controller watches, reads, patches and counts a kind, and needs
// permissions for it, because it has a row here.
//
// Guarantees:
//
//   - The data of a config is dropped as soon as it is hashed; nothing keeps, logs or exports it.
//   - A patch changes the two annotations of the record and, for a restart, the timestamp and the cause in the pod
//     template. The timestamp has nanoseconds, so that the second of two quick restarts changes something.
//
// # Pods
//
// Pods and revisions are read in pages of at most 1 MiB, or one object, and reduced at once. The pods of a Deployment
// are those of the ReplicaSet whose template has the same fingerprint. For the other kinds, pods do not count whose
// ControllerRevision has another template. If it is unreadable, they count; if it is missing, those count that are from
// the same restart as the template.
//
// # Other kinds
//
// A kind of --workload is named by its resource and group, so that no discovery is needed. Fingerprints do not work for
// its revisions, since the API server sets no defaults in templates of custom resources. So the object is read once
// more, and if its status is about the current template, the label of the pods is compared with the revision in the
// status. Without such a label, the restart timestamp on the pod decides. If the status does not show how a rollout
// goes, the pods are counted, before a restart and while it is followed.
package kinds
