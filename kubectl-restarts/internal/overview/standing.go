package overview

import (
	"strings"
	"time"

	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/internal/status"
	"kubernetes-deployment-restart-controller/kubectl-restarts/internal/facts"
)

// Standing is how one enabled workload stands.
type Standing struct {
	State State
	// Why is empty for a settled one, and may be for others.
	Why string
	// Until is when the leader takes the next step, zero if that is not known or it only tries again.
	Until time.Time
	// Unlisted means that the leader lists all that is under way, and nothing of this workload. It may not know the workload.
	Unlisted bool
	// IsDryRun means that the leader restarts nothing.
	IsDryRun bool
}

// Standings is how the enabled workloads of a report stand.
type Standings struct {
	told map[string]Standing // by the leader, by the names of the workloads
	seen map[string]Standing // as the cluster shows, by namespaces and names as kubectl names them
	rest Standing            // of those that are in no list
}

// Standings returns how the enabled workloads stand. The lists of the leader are cut; if a workload may be in what was left out, the
// cluster says how it stands.
func (r *Report) Standings() *Standings {
	s := &Standings{told: make(map[string]Standing), seen: make(map[string]Standing), rest: Standing{State: Settled}}
	for i := range r.Workloads {
		row := &r.Workloads[i]
		s.seen[row.Namespace+"/"+row.Workload] = Standing{State: row.State, Why: row.Why}
	}
	if r.Leader == nil {
		return s
	}
	isWhole := len(r.Leader.Gaps) == 0
	for _, list := range r.Leader.lists() {
		for i := range list.Items {
			e := &list.Items[i]
			if _, isKnown := s.told[e.Workload]; !isKnown { // those that need attention come first
				s.told[e.Workload] = Standing{State: State(e.State), Why: strings.Join(why(e), "; "), Until: until(e)}
			}
		}
		isWhole = isWhole && list.More() == 0
	}
	if isWhole {
		s.seen, s.rest.Unlisted = nil, true
	}
	if r.Leader.DryRun {
		s.told, s.seen, s.rest = nil, nil, Standing{State: Settled, IsDryRun: true}
	}
	return s
}

// until returns when the next step of a workload is due, zero if that is the next of many attempts.
func until(e *status.Entry) time.Time {
	if e.State == status.Retrying {
		return time.Time{}
	}
	return e.Until
}

// Of returns how an enabled workload stands.
func (s *Standings) Of(ref names.WorkloadRef) Standing {
	if told, is := s.told[ref.String()]; is {
		return told
	}
	if seen, is := s.seen[ref.Namespace+"/"+facts.WorkloadName(ref)]; is {
		return seen
	}
	return s.rest
}
