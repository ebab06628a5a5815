package deployment

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"kubernetes-deployment-restart-controller/deployment/rollout"
)

// writeHistory is what the engine remembers about its last writes for a Deployment, because the
// API does not show it.
type writeHistory struct {
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
	// trial is what was seen of the present release.
	trial *rollout.Trial
	// refused is what the API server has refused to take with a status.
	refused rollout.RefusedRuns
}

// record adds the actions that have been carried out. It reports whether one of them was a
// step of the rollout, and whether one was the status.
func (h *writeHistory) record(actions []rollout.Action, now time.Time) (step, reported bool) {
	for _, action := range actions {
		switch a := action.(type) {
		case rollout.UpdateStatus:
			reported, h.statusWritten, h.created, h.trial = true, now, "", a.Trial
			if a.Runs != nil && *a.Refused {
				h.refused = rollout.RefusedRuns{UID: a.Runs.UID, At: now}
			}
		case rollout.LookAtPods:
			step, h.trial = true, h.trial.With(&a) // and plan with what it has shown
		case rollout.RecordEvent:
		case rollout.CreateReplicaSet:
			step, h.stepTaken, h.created = true, now, a.Name
		default:
			step, h.stepTaken = true, now
		}
	}
	return step, reported
}

// writeHistories holds the histories of all Deployments. It may be used concurrently.
type writeHistories struct {
	mu           sync.Mutex
	byDeployment map[types.NamespacedName]writeHistory
}

func (h *writeHistories) of(key types.NamespacedName) writeHistory {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.byDeployment[key]
}

func (h *writeHistories) keep(key types.NamespacedName, kept writeHistory) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if kept == (writeHistory{}) {
		delete(h.byDeployment, key)
		return
	}
	h.byDeployment[key] = kept
}

// clear forgets all histories.
func (h *writeHistories) clear() {
	h.mu.Lock()
	defer h.mu.Unlock()
	clear(h.byDeployment)
}
