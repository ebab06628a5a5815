package judge

import (
	"time"

	"kubernetes-deployment-restart-controller/catalog"
	"kubernetes-deployment-restart-controller/catalog/decide"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/controller/kinds"
	"kubernetes-deployment-restart-controller/controller/pending"
	"kubernetes-deployment-restart-controller/controller/restart"
	"kubernetes-deployment-restart-controller/controller/run"
	"kubernetes-deployment-restart-controller/controller/wording"
	"kubernetes-deployment-restart-controller/internal/quarantine"
)

// Verdict is the result of judging a workload.
type Verdict int

const (
	// Fresh workloads run with the present content, as far as the catalog knows.
	Fresh Verdict = iota
	// Stale workloads run with earlier content.
	Stale
	// Forgotten workloads are stale too, and nothing is under way that would restart them.
	// That should never happen.
	Forgotten
)

// Judge finds out what is wrong with workloads. Nothing is done about that here.
type Judge struct {
	Catalog    *catalog.Catalog
	Changes    *pending.ChangeQueue
	Restarter  *restart.Restarter
	Absences   *Absences
	Resting    *Resting
	Role       *run.Role
	Quarantine *quarantine.Set
}

// Judge returns the verdict of one, or fresh if that panics.
func (j *Judge) Judge(ref names.WorkloadRef) Verdict {
	v := Fresh
	j.Quarantine.Try(quarantine.Metrics, kinds.NameOfWorkload(ref), func() { v = j.judge(ref) })
	return v
}

// judge decides whether a workload is stale: its record differs from the catalog, or its pods
// need a restart that has not been possible yet.
func (j *Judge) judge(ref names.WorkloadRef) Verdict {
	view, found := j.Catalog.View(ref)
	if !found {
		j.Absences.Put(ref, "", time.Now())
		j.Resting.Unsettled.Drop(ref.Namespace, ref)
		return Fresh
	}
	j.Resting.Judge(view.Workload, time.Now())
	if j.Restarter.KnowsConfigs(ref.Namespace) {
		j.Absences.Put(ref, wording.Missing(&view, anyConfig), time.Now())
	}
	held := j.Changes.HoldsAny(ref) // before the change moves on to the backlogs
	due, waits := j.Restarter.Backlogs.State(ref)
	switch {
	case !due && decide.Decide(view).Outcome != decide.Restart:
		return Fresh
	case j.Restarter.Backlogs.Of(ref).IsDeliberate():
		return Fresh // deliberately; see the metric of held workloads
	case held || waits || !j.Role.Acts():
		return Stale
	}
	return Forgotten
}
