package explain

import (
	"fmt"
	"slices"

	"kubernetes-deployment-restart-controller/catalog/content"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/policy"
	"kubernetes-deployment-restart-controller/controller/gate"
	"kubernetes-deployment-restart-controller/kubectl-restarts/internal/facts"
)

func (in *Input) holds() []string {
	holds := []string{}
	for hold := range in.Workload.Wishes(in.Configs, in.Halts.Hold).Holds() {
		holds = append(holds, by(hold)+" ("+facts.Release(hold, &in.Workload)+"): "+hold.Text+in.heldSince(hold))
	}
	return holds
}

// HeldBesides describes what holds restarts of the workload besides its own hold: other holds, and halts.
func (in *Input) HeldBesides() (others []string) {
	for hold := range in.Workload.Wishes(in.Configs, in.Halts.Hold).Holds() {
		if hold.By != policy.ByWorkload {
			others = append(others, facts.DescribeHold(hold, &in.Workload))
		}
	}
	for _, halt := range in.halts() {
		others = append(others, "halted: "+facts.DescribeHalt(&halt))
	}
	return others
}

// heldSince says since when a hold is known to the leader or, without it, since when the annotation is there; empty if neither
// is known.
func (in *Input) heldSince(hold policy.Wish) string {
	switch {
	case in.Leader == nil && hold.By == policy.ByWorkload:
		return facts.SetAt(in.Workload.Policy.HoldSet)
	case in.Leader == nil && hold.By == policy.ByConfig:
		return facts.SetAt(in.config(hold.Config).Policy.HoldSet)
	case in.Leader == nil:
		return ""
	case hold.By == policy.ByConfig:
		return facts.HeldSince(&in.Leader.Holds, hold.Config)
	case hold.By == policy.ByWorkload:
		return facts.HeldSince(&in.Leader.Holds, in.Workload.Ref)
	}
	return ""
}

func (in *Input) windows() []string {
	windows := []string{}
	for window := range in.Workload.Wishes(in.Configs, "").Windows() {
		if window.By == policy.ByController {
			continue
		}
		state := "open now"
		switch isClosed, opens, err := facts.Closed(window, in.Now); {
		case err != nil:
			state = "cannot be read: " + err.Error()
		case isClosed && opens.IsZero():
			state = "does not open within five years"
		case isClosed:
			state = facts.Opening("it", opens)
		}
		windows = append(windows, fmt.Sprintf("%s: %s (%s)", by(window), window.Text, state))
	}
	return windows
}

// by says who has a wish.
func by(wish policy.Wish) string {
	switch wish.By {
	case policy.ByWorkload:
		return "the workload"
	case policy.ByConfig:
		return facts.ConfigName(wish.Config)
	case policy.ByController:
	}
	return "everything"
}

// halts returns the halts of the configs that the workload reads.
func (in *Input) halts() []gate.Halt {
	configs := in.Workload.Configs()
	return slices.DeleteFunc(slices.Clone(in.Halts.Active), func(h gate.Halt) bool {
		isOver := slices.ContainsFunc(in.Configs, func(c *content.Config) bool { return facts.IsOver(&h, c, true) })
		return isOver || !slices.ContainsFunc(configs, func(ref names.ConfigRef) bool { return facts.Concerns(&h, ref) })
	})
}
