package overview

import (
	"strings"

	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/kubectl-restarts/internal/facts"
)

// Standing is how one enabled workload stands.
type Standing struct {
	State State
	// Why is empty for a settled one, and may be for others.
	Why string
	// ByLeader means that the leader says so, which knows the contents of Secrets.
	ByLeader bool
}

// StandingOf returns how an enabled workload stands. The lists of the leader are cut; if a workload may be in what was left out, the
// cluster says how it stands.
func (r *Report) StandingOf(ref names.WorkloadRef) Standing {
	if r.Leader != nil {
		isWhole := len(r.Leader.Gaps) == 0 && !r.Leader.DryRun
		for _, list := range r.Leader.lists() {
			for i := range list.Items {
				if e := &list.Items[i]; e.Workload == ref.String() {
					return Standing{State(e.State), strings.Join(why(e), "; "), true}
				}
			}
			isWhole = isWhole && list.More() == 0
		}
		if isWhole {
			return Standing{State: Settled, ByLeader: true}
		}
	}
	for i := range r.Workloads {
		if row := &r.Workloads[i]; row.Namespace == ref.Namespace && row.Workload == facts.WorkloadName(ref) {
			return Standing{State: row.State, Why: row.Why}
		}
	}
	return Standing{State: Settled}
}
