package handover

import (
	"iter"
	"maps"

	"kubernetes-deployment-restart-controller/deployment/digest"
	"kubernetes-deployment-restart-controller/deployment/rollout"
)

// StatusObserver notices when other field managers write the status of Deployments, and
// reports that to a [Monitor]. It is for one watch, and shall see everything that the watch
// shows except the probe. It must not be used concurrently.
//
// Writes before the first observation do not count, and neither does a write of the engine
// that leaves an entry of another manager unchanged or takes it over.
type StatusObserver struct {
	monitor *Monitor
	writes  statusWrites
}

// NewStatusObserver returns an observer that has not seen any Deployment.
func (m *Monitor) NewStatusObserver() *StatusObserver { return &StatusObserver{m, statusWrites{}} }

// Observe takes in a Deployment that was added or modified.
func (o *StatusObserver) Observe(d *rollout.Deployment) {
	if o.writes.isNews(d) {
		o.monitor.foreignWrite(d)
	}
}

// Forget takes in a deleted Deployment.
func (o *StatusObserver) Forget(d *rollout.Deployment) { o.writes.forget(d) }

// Replace takes in all Deployments of the watch.
func (o *StatusObserver) Replace(all iter.Seq[*rollout.Deployment]) {
	listed := map[digest.Digest]struct{}{}
	for d := range all {
		listed[keyOf(d)] = struct{}{}
		o.Observe(d)
	}
	o.writes.retain(listed)
}

// statusWrites holds the last write of the status by another field manager, of each
// Deployment that the watch has shown.
type statusWrites map[digest.Digest]lastWrite

type lastWrite struct {
	uid  digest.Digest
	time int64
}

func keyOf(d *rollout.Deployment) digest.Digest { return digest.Of(d.Namespace, d.Name) }

// isNews takes in a version of a Deployment, and reports whether another field manager
// has written its status since the previous version.
func (w statusWrites) isNews(d *rollout.Deployment) bool {
	key, present := keyOf(d), lastWrite{uid: digest.Of(string(d.UID)), time: d.StatusBy.Time}
	before, isKnown := w[key]
	isKnown = isKnown && before.uid == present.uid
	if isKnown && before.time >= present.time {
		return false
	}
	w[key] = present
	return isKnown
}

func (w statusWrites) forget(d *rollout.Deployment) { delete(w, keyOf(d)) }

// retain forgets the Deployments that are no longer listed.
func (w statusWrites) retain(listed map[digest.Digest]struct{}) {
	maps.DeleteFunc(w, func(key digest.Digest, _ lastWrite) bool {
		_, found := listed[key]
		return !found
	})
}
