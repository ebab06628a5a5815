package judge

import (
	"time"

	"kubernetes-deployment-restart-controller/catalog"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/workload"
	"kubernetes-deployment-restart-controller/controller/follow"
	"kubernetes-deployment-restart-controller/controller/run"
	"kubernetes-deployment-restart-controller/controller/tracker"
	"kubernetes-deployment-restart-controller/internal/notes"
	"kubernetes-deployment-restart-controller/internal/status"
)

// Resting is how the workloads are for which nothing is under way.
type Resting struct {
	catalog *catalog.Catalog
	History *follow.History
	role    *run.Role
	// Unsettled are the enabled workloads that are left alone, or not all of whose pods run, whatever else they wait for.
	Unsettled notes.Notes[names.WorkloadRef, Unsettled]
}

// NewResting returns what is known of workloads at rest.
func NewResting(known *catalog.Catalog, history *follow.History, role *run.Role) *Resting {
	return &Resting{catalog: known, History: history, role: role, Unsettled: notes.Notes[names.WorkloadRef, Unsettled]{CountsAll: true}}
}

// Unsettled is since when a workload at rest is in a state.
type Unsettled struct {
	state status.State
	status.Beginning
}

// Judge notes since when a workload is left alone, or not all of its pods run.
func (r *Resting) Judge(w *workload.Workload, now time.Time) {
	state := r.StandingOf(w.Ref).State
	if state == status.Settled {
		r.Unsettled.Drop(w.Ref.Namespace, w.Ref)
	} else if known, _ := r.Unsettled.Find(w.Ref.Namespace, w.Ref); known.state != state {
		r.Unsettled.Put(w.Ref.Namespace, w.Ref, Unsettled{state, r.role.Beginning(now)})
	}
}

// StandingOf returns how a workload is for which nothing is under way, with what became of its last restart if that is
// not known to be good.
func (r *Resting) StandingOf(ref names.WorkloadRef) tracker.Standing {
	last := r.History.Of(ref)
	isOpen := last != nil && last.Why != "" && (last.Outcome == status.Unknown || last.Outcome == status.Broken)
	w := r.catalog.Workload(ref)
	switch {
	case w != nil && w.Excess != workload.NoExcess:
		return tracker.Standing{Ref: ref, State: status.LeftAlone}
	case w == nil, !w.LacksPods() && (!w.Rollout.ByPods || !isOpen):
		return tracker.Standing{Ref: ref, State: status.Settled}
	case isOpen:
		return tracker.Standing{Ref: ref, State: status.Unready, Since: last.Time, By: tracker.WaitedFor{Text: "not all of its pods were seen to run since it restarted: " + last.Why}}
	}
	began, _ := r.Unsettled.Find(ref.Namespace, ref)
	return tracker.Standing{Ref: ref, State: status.Unready, Since: began.Since, AtLeast: began.AtLeast, By: tracker.WaitedFor{Text: "not all of its pods run, and why is not known here"}}
}
