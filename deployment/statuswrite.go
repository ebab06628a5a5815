package deployment

import (
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// statusSubresource is the part of a Deployment that its controller writes.
const statusSubresource = "status"

// StatusWrite is a write of a Deployment's status, as the API server has noted it.
type StatusWrite struct {
	Manager string // the field manager, empty for none
	Time    int64  // in seconds since the epoch, as precise as the API is
}

// lastStatusWrite returns the latest write of an object's status by anyone but a
// manager. Entries of those who have gone stay for ever, with their time.
func lastStatusWrite(entries []metav1.ManagedFieldsEntry, except string) (last StatusWrite) {
	for i := range entries {
		entry := &entries[i]
		if entry.Subresource != statusSubresource || entry.Manager == except || entry.Time == nil {
			continue
		}
		if at := entry.Time.Unix(); at > last.Time {
			last = StatusWrite{Manager: entry.Manager, Time: at}
		}
	}
	return last
}

// statusWrites notices when others write the status of Deployments. It knows the
// last such write of each Deployment that a watch has shown. What was there before the
// first look does not count, nor does a write of its own that leaves an entry of others
// as it was or takes it over. It may be used concurrently.
type statusWrites struct {
	mu   sync.Mutex
	last map[types.NamespacedName]lastWrite
}

type lastWrite struct {
	uid  types.UID
	time int64
}

// isNews takes in a version of a Deployment, and tells whether somebody else has
// written its status since the one before.
func (w *statusWrites) isNews(d *Deployment) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	before, isKnown := w.last[d.key()]
	isKnown = isKnown && before.uid == d.UID
	if isKnown && before.time >= d.StatusBy.Time {
		return false
	}
	w.last[d.key()] = lastWrite{uid: d.UID, time: d.StatusBy.Time}
	return isKnown
}

func (w *statusWrites) forget(d *Deployment) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.last, d.key())
}

// retain forgets the Deployments of a namespace, or of all if that is empty, that are
// not listed any more.
func (w *statusWrites) retain(namespace string, listed []*Deployment) {
	keys := make(map[types.NamespacedName]struct{}, len(listed))
	for _, d := range listed {
		keys[d.key()] = struct{}{}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for key := range w.last {
		if _, found := keys[key]; !found && (namespace == "" || namespace == key.Namespace) {
			delete(w.last, key)
		}
	}
}
