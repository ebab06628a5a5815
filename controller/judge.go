package controller

import (
	"time"

	"kubernetes-deployment-restart-controller/catalog"
	"kubernetes-deployment-restart-controller/catalog/decide"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/workload"
	"kubernetes-deployment-restart-controller/internal/quarantine"
	"kubernetes-deployment-restart-controller/internal/status"
)

// resting is how the workloads are for which nothing is under way.
type resting struct {
	catalog *catalog.Catalog
	history *restartHistory
	role    *role
	// unsettled are the enabled workloads that are left alone, or not all of whose pods run, whatever else they wait for.
	unsettled noted[names.WorkloadRef, unsettled]
}

func newResting(known *catalog.Catalog, history *restartHistory, role *role) *resting {
	return &resting{catalog: known, history: history, role: role, unsettled: noted[names.WorkloadRef, unsettled]{countsAll: true}}
}

// unsettled is since when a workload at rest is in a state.
type unsettled struct {
	state status.State
	status.Beginning
}

// judge notes since when a workload is left alone, or not all of its pods run.
func (r *resting) judge(w *workload.Workload, now time.Time) {
	state := r.standingOf(w.Ref).state
	if state == status.Settled {
		r.unsettled.drop(w.Ref.Namespace, w.Ref)
	} else if known, _ := r.unsettled.find(w.Ref.Namespace, w.Ref); known.state != state {
		r.unsettled.put(w.Ref.Namespace, w.Ref, unsettled{state, r.role.beginning(now)})
	}
}

// standingOf returns how a workload is for which nothing is under way, with what became of its last restart if that is
// not known to be good.
func (r *resting) standingOf(ref names.WorkloadRef) standing {
	last := r.history.of(ref)
	isOpen := last != nil && last.Why != "" && (last.Outcome == status.Unknown || last.Outcome == status.Broken)
	w := r.catalog.Workload(ref)
	switch {
	case w != nil && w.Excess != workload.NoExcess:
		return standing{ref: ref, state: status.LeftAlone}
	case w == nil, !w.LacksPods() && (!w.Rollout.ByPods || !isOpen):
		return standing{ref: ref, state: status.Settled}
	case isOpen:
		return standing{ref: ref, state: status.Unready, since: last.Time, by: waitedFor{text: "not all of its pods were seen to run since it restarted: " + last.Why}}
	}
	began, _ := r.unsettled.find(ref.Namespace, ref)
	return standing{ref: ref, state: status.Unready, since: began.Since, atLeast: began.AtLeast, by: waitedFor{text: "not all of its pods run, and why is not known here"}}
}

// judge finds out what is wrong with workloads. Nothing is done about that here.
type judge struct {
	catalog    *catalog.Catalog
	changes    *changeQueue
	restarter  *restarter
	absences   *absences
	resting    *resting
	role       *role
	quarantine *quarantine.Set
}

// tryOne returns the verdict of one, or fresh if that panics.
func (j *judge) tryOne(ref names.WorkloadRef) verdict {
	v := fresh
	j.quarantine.Try(quarantine.Metrics, nameOfWorkload(ref), func() { v = j.one(ref) })
	return v
}

// one decides whether a workload is stale: its record differs from the catalog, or its pods
// need a restart that has not been possible yet.
func (j *judge) one(ref names.WorkloadRef) verdict {
	view, found := j.catalog.View(ref)
	if !found {
		j.absences.put(ref, "", time.Now())
		j.resting.unsettled.drop(ref.Namespace, ref)
		return fresh
	}
	j.resting.judge(view.Workload, time.Now())
	if j.restarter.knowsConfigs(ref.Namespace) {
		j.absences.put(ref, describeMissing(&view, anyConfig), time.Now())
	}
	held := j.changes.HoldsAny(ref) // before the change moves on to the backlogs
	due, waits := j.restarter.State(ref)
	switch {
	case !due && decide.Decide(view).Outcome != decide.Restart:
		return fresh
	case j.restarter.backlogs.isHeld(ref):
		return fresh // deliberately; see the metric of held workloads
	case held || waits || !j.role.acts():
		return stale
	}
	return forgotten
}
