package deployment

import (
	"maps"

	"kubernetes-deployment-restart-controller/deployment/digest"
	"kubernetes-deployment-restart-controller/deployment/rollout"
)

// statusWrites notices when others write the status of Deployments. It holds the last
// such write of each Deployment that a watch has shown. Writes before the first
// observation do not count, and neither does a write of the engine that leaves an entry
// of another manager unchanged or takes it over.
type statusWrites map[digest.Digest]lastWrite

type lastWrite struct {
	uid  digest.Digest
	time int64
}

// isNews takes in a version of a Deployment, and reports whether another field manager
// has written its status since the previous version.
func (w statusWrites) isNews(d *rollout.Deployment) bool {
	present := lastWrite{uid: digest.Of(string(d.UID)), time: d.StatusBy.Time}
	before, isKnown := w[keyDigest(&d.Meta)]
	isKnown = isKnown && before.uid == present.uid
	if isKnown && before.time >= present.time {
		return false
	}
	w[keyDigest(&d.Meta)] = present
	return isKnown
}

func (w statusWrites) forget(d *rollout.Deployment) { delete(w, keyDigest(&d.Meta)) }

// retain forgets the Deployments that are no longer listed.
func (w statusWrites) retain(listed map[digest.Digest]struct{}) {
	maps.DeleteFunc(w, func(key digest.Digest, _ lastWrite) bool {
		_, found := listed[key]
		return !found
	})
}
