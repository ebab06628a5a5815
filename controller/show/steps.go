package show

import (
	"fmt"

	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/controller/gate"
	"kubernetes-deployment-restart-controller/controller/tracker"
	"kubernetes-deployment-restart-controller/controller/wording"
)

// reasonStep says that a restart is under way, and that its rollout waits at a step for people.
const reasonStep gate.Reason = "step"

// promoteCommand returns the command that lets the rollout of a workload go on.
func promoteCommand(ref names.WorkloadRef) string {
	return fmt.Sprintf("kubectl restarts promote %s -n %s", wording.WorkloadName(ref), ref.Namespace)
}

// behindStep says which restart in the same fan-out and namespace waits at a step, so that one that waits for the slow start does
// not begin; empty if none is found.
func (b *Board) behindStep(s *tracker.Standing) string {
	if s.Reason != gate.SlowStart {
		return ""
	}
	for _, other := range b.Table.AtStep(s.Ref.Namespace) {
		if b.Gate.IsPartOf(other, s.By.Config) {
			return fmt.Sprintf("%s, whose rollout waits at a step; to go on: %s", wording.WorkloadName(other), promoteCommand(other))
		}
	}
	return ""
}
