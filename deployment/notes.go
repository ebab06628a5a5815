package deployment

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"kubernetes-deployment-restart-controller/deployment/rollout"
)

// note is what the engine remembers about its last writes for a Deployment, because the API
// does not show it.
type note struct {
	creation                 rollout.CreationFailure
	statusWritten, stepTaken time.Time
	// created names the ReplicaSet that was created since the last write of the status.
	created string
	// unsure names the ReplicaSet that must be read before the next plan, because the
	// result of its last write is not known.
	unsure string
	// ineffective is the reported error of a write without effect, empty if there was no
	// such write since the last plan that was carried out.
	ineffective string
}

// account notes which actions have been carried out. It reports whether one of them was a
// step of the rollout, and whether one was the status.
func (n *note) account(actions []rollout.Action, now time.Time) (step, reported bool) {
	for _, action := range actions {
		switch a := action.(type) {
		case rollout.UpdateStatus:
			reported, n.statusWritten, n.created = true, now, ""
		case rollout.RecordEvent:
		case rollout.CreateReplicaSet:
			step, n.stepTaken, n.created = true, now, a.Name
		default:
			step, n.stepTaken = true, now
		}
	}
	return step, reported
}

// notes holds the notes of all Deployments. It may be used concurrently.
type notes struct {
	mu    sync.Mutex
	notes map[types.NamespacedName]note
}

func (n *notes) of(key types.NamespacedName) note {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.notes[key]
}

func (n *notes) keep(key types.NamespacedName, kept note) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if kept == (note{}) {
		delete(n.notes, key)
		return
	}
	n.notes[key] = kept
}

// clear forgets all notes.
func (n *notes) clear() {
	n.mu.Lock()
	defer n.mu.Unlock()
	clear(n.notes)
}
