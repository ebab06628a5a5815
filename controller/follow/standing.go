package follow

import (
	"cmp"

	"kubernetes-deployment-restart-controller/catalog/decide"
	"kubernetes-deployment-restart-controller/catalog/record"
	"kubernetes-deployment-restart-controller/catalog/workload"
	"kubernetes-deployment-restart-controller/controller/gate"
)

// What a workload has to lose by a restart, and by what the restart is judged.

// RanAfter returns how many pods ran before the last restart, which may be this one.
func (d *Deliveries) RanAfter(w *workload.Workload, decision *decide.Decision) record.Ran {
	switch {
	case decision.Outcome == decide.Restart:
		return d.ranBefore(w, decision)
	case w.Record.Trusted:
		return w.Record.Ran
	}
	return 0
}

// ranBefore returns how many pods run before a restart, or would but for content that it replaces. If they are still being
// replaced for a restart before, as many did as before that.
func (d *Deliveries) ranBefore(w *workload.Workload, decision *decide.Decision) record.Ran {
	rolling, ran := d.Of(w.Ref), ranNow(w)
	switch {
	case rolling == nil, ran == record.AllRan:
		return ran
	case rolling.IsMendedBy(decision):
		return cmp.Or(rolling.RanBeforeFailure(), record.AllRan)
	case rolling.HasFailed: // which is why pods are missing
		return 0
	}
	return max(ran, rolling.Ran)
}

// ranNow returns how many pods of a workload run. An earlier pod that cannot go does not mean that others are being replaced, if the
// last restart left it behind.
func ranNow(w *workload.Workload) record.Ran {
	if ran := w.Record.Ran; ran != record.AllRan && w.Record.Trusted && w.Record.Reverted == nil && w.Rollout.Outdated > 0 && w.Rollout.MayRun(ran.Of(w.Rollout.Wanted)) {
		return ran
	}
	return w.Rollout.Ran()
}

// StandingOf returns how a workload is before a restart.
func (d *Deliveries) StandingOf(w *workload.Workload, decision *decide.Decision) gate.Standing {
	rolling := d.Of(w.Ref)
	switch {
	case rolling != nil && rolling.IsMendedBy(decision):
		return gate.Failed
	case rolling != nil && rolling.MayBeMendedBy(decision):
		return gate.Exposed
	case rolling != nil && rolling.HasFailed && !w.Rollout.IsWhole():
		return gate.Unwell
	}
	return standingBefore(w, d.ranBefore(w, decision))
}

// hasPods reports whether a workload has pods to lose if so many ran. While they are being replaced, it does, although a failure says
// nothing.
func hasPods(w *workload.Workload, ran record.Ran) bool { return ran > 0 || w.Rollout.Available > 0 }

// standingBefore returns how a workload is before a restart if so many pods ran.
func standingBefore(w *workload.Workload, ran record.Ran) gate.Standing {
	switch {
	case ran == record.AllRan:
		return gate.Well
	case hasPods(w, ran):
		return gate.Lacking
	}
	return gate.Unwell
}
