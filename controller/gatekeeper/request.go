package gatekeeper

import (
	"cmp"
	"time"

	"kubernetes-deployment-restart-controller/catalog/decide"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/policy"
	"kubernetes-deployment-restart-controller/catalog/workload"
	"kubernetes-deployment-restart-controller/controller/gate"
)

// Request describes a restart that is due to the gate: how long the budget of the workload makes it wait, and
// how the workload is before it. It does not say what is missing; see [Gatekeeper.Missing].
func (g *Gatekeeper) Request(w *workload.Workload, decision *decide.Decision, wait time.Duration, standing gate.Standing, now time.Time) *gate.Request {
	r := &gate.Request{
		Workload: w.Ref, Wave: WaveOf(w), Wait: wait, Standing: standing,
		CannotRoll: w.CannotRoll(),
		Causes:     g.causes(w, decision),
	}
	wishes := g.wishes(w, r.Causes)
	r.Hold = cmp.Or(w.Hold.Prevents(), wishes.Held(), w.MethodHold(g.Evicts))
	r.Closed, r.Opens = wishes.Closed(func(window policy.Wish) (bool, time.Time, error) { return g.isClosed(window, now) })
	return r
}

// causes returns the configs that a restart delivers. If it has further causes than the decision names,
// or none that it can name, it may deliver any of the configs that the workload reads.
func (g *Gatekeeper) causes(w *workload.Workload, decision *decide.Decision) []gate.Cause {
	causes := make([]gate.Cause, 0, len(decision.Causes))
	for i := range decision.Causes {
		causes = append(causes, g.cause(&decision.Causes[i]))
	}
	if len(decision.Causes) > 0 && decision.MoreCauses == 0 {
		return causes
	}
	named := make(map[names.ConfigRef]struct{}, len(causes))
	for i := range causes {
		named[causes[i].Config] = struct{}{}
	}
	for _, config := range w.Configs() {
		_, isNamed := named[config]
		if policy := g.Catalog.PolicyOf(config); !isNamed && !w.IgnoresBy(config, &policy) {
			causes = append(causes, g.inGroup(gate.Cause{Config: config, IsGradual: g.IsGradual(policy)}))
		}
	}
	return causes
}

func (g *Gatekeeper) cause(cause *decide.Cause) gate.Cause {
	policy := g.Catalog.PolicyOf(cause.Config)
	c := gate.Cause{Config: cause.Config, Keys: cause.AllKeys(), Moments: cause.Moments, IsGradual: g.IsGradual(policy)}
	c.Moments = c.Moments[max(0, len(c.Moments)-maxFanOuts):]
	if policy.Urgent != "" {
		c.IsUrgent = policy.Urgent == g.Catalog.ContentID(cause.Config, nil)
	}
	return g.inGroup(c)
}

// maxFanOuts is in how many fan-outs of one config a restart takes part at most: in those of the last edits.
const maxFanOuts = 4

// IsGradual reports whether restarts for a config with these rules start slowly.
func (g *Gatekeeper) IsGradual(rules policy.ConfigPolicy) bool {
	switch rules.FanOut {
	case policy.Gradual:
		return true
	case policy.AllAtOnce:
		return false
	}
	return g.FanOut.Gradual
}

// wishes returns what people ask of a restart for these causes. Those without a moment may not have changed.
func (g *Gatekeeper) wishes(w *workload.Workload, causes []gate.Cause) policy.Wishes {
	return policy.Wishes{Everything: g.EverythingHeld(), Workload: w.Policy, Delivered: func(yield func(policy.Delivery) bool) {
		for i := range causes {
			c := &causes[i]
			if !yield(policy.Delivery{Config: c.Config, Policy: g.Catalog.PolicyOf(c.Config), IsUrgent: c.IsUrgent, IsUncertain: len(c.Moments) == 0}) {
				return
			}
		}
	}}
}

// isClosed reports whether a window is closed, when it opens, zero if that is not known, and why it cannot be read.
func (g *Gatekeeper) isClosed(window policy.Wish, now time.Time) (isClosed bool, opens time.Time, err error) {
	if window.By != policy.ByController {
		return g.windows.closedBy(window.Text, now)
	}
	isOpen, opens := g.FanOut.Window.At(now)
	return !isOpen, opens, nil
}
