package rollout

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// FieldManager is the name under which the engine writes.
const FieldManager = "deployment-engine"

// StatusWrite is a write of a Deployment's status, as the API server has noted it.
type StatusWrite struct {
	Manager string // the field manager, empty for none
	Time    int64  // in seconds since the epoch, as precise as the API is
}

// LastStatusWrite returns the latest write of an object's status by anyone but a
// manager. Entries of those who have gone stay for ever, with their time.
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
