package deployment

import (
	"maps"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
// as it was or takes it over.
type statusWrites map[digest]lastWrite

type lastWrite struct {
	uid  digest
	time int64
}

// isNews takes in a version of a Deployment, and tells whether somebody else has
// written its status since the one before.
func (w statusWrites) isNews(d *Deployment) bool {
	present := lastWrite{uid: digestOf(string(d.UID)), time: d.StatusBy.Time}
	before, isKnown := w[d.digest()]
	isKnown = isKnown && before.uid == present.uid
	if isKnown && before.time >= present.time {
		return false
	}
	w[d.digest()] = present
	return isKnown
}

func (w statusWrites) forget(d *Deployment) { delete(w, d.digest()) }

// retain forgets the Deployments that are not listed any more.
func (w statusWrites) retain(listed map[digest]struct{}) {
	maps.DeleteFunc(w, func(key digest, _ lastWrite) bool {
		_, found := listed[key]
		return !found
	})
}
