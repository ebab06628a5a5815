package rollout

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// FieldManager is the field manager with which the engine writes.
const FieldManager = "deployment-engine"

// StatusWrite is a write of a Deployment's status, as the managedFields show it.
type StatusWrite struct {
	Manager string // the field manager, empty if there was no write
	Time    int64  // in seconds since the epoch, which is the precision of the API
}

// LastStatusWrite returns the latest write of an object's status by any manager
// except the given one. Entries of managers that no longer exist stay forever,
// with their time.
func LastStatusWrite(entries []metav1.ManagedFieldsEntry, except string) (last StatusWrite) {
	for i := range entries {
		entry := &entries[i]
		if entry.Subresource != "status" || entry.Manager == except || entry.Time == nil {
			continue
		}
		if at := entry.Time.Unix(); at > last.Time {
			last = StatusWrite{Manager: entry.Manager, Time: at}
		}
	}
	return last
}
