package restart

import (
	"cmp"
	"time"

	corev1 "k8s.io/api/core/v1"

	"kubernetes-deployment-restart-controller/catalog/decide"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/workload"
	"kubernetes-deployment-restart-controller/controller/events"
	"kubernetes-deployment-restart-controller/controller/failures"
	"kubernetes-deployment-restart-controller/controller/gate"
	"kubernetes-deployment-restart-controller/controller/kinds"
	"kubernetes-deployment-restart-controller/controller/tracker"
	"kubernetes-deployment-restart-controller/controller/wording"
)

// putOff puts a restart off until the gate lets it begin, and reports whether that may take long. The
// controller decides again when the restart may begin.
func (r *Restarter) putOff(w *workload.Workload, decision decide.Decision, answer gate.Answer, now time.Time) (lasts bool) {
	since, isNews := r.Backlogs.PutOff(w.Ref, decision.Causes, answer, now)
	again := tracker.LongestWait
	switch isLong := answer.Reason.NeedsPerson() || now.Sub(since) >= tracker.LastingWait; {
	case answer.Until.IsZero() && !isLong:
		again = tracker.LastingWait
	case answer.Until.IsZero() || answer.Reason == gate.SlowStart:
		lasts = isLong
	default:
		lasts = answer.Until.Sub(now) > r.GracePeriod(w)
	}
	if !answer.Until.IsZero() {
		again = min(again, answer.Until.Sub(now))
	}
	r.Queue.AddAfter(w.Ref, again)
	if isNews {
		r.reportPutOff(w, decision, answer)
	}
	return lasts
}

// reportPutOff reports why a restart waits. Waiting for other restarts is no news to the owner of a
// workload; the Events on the config show how far its content has come.
func (r *Restarter) reportPutOff(w *workload.Workload, decision decide.Decision, answer gate.Answer) {
	switch answer.Reason {
	case gate.Backoff:
		r.Metrics.Slowdowns.Inc()
		causes, next := wording.CausesWithWriters(decision), answer.Until.UTC().Format(time.RFC3339)
		r.Log.Warn("restart put off, the configs keep changing", "workload", w.Ref, "causes", causes, "restarts", w.Record.Budget.Restarts, "until", next)
		r.Events.Eventf(kinds.ObjectReference(w), corev1.EventTypeWarning, events.Backoff,
			"restart put off until %s after %d restarts in a row: %s", next, w.Record.Budget.Restarts, causes)
	case gate.Hold, gate.Halted, gate.Missing, gate.Window, gate.Wave:
		why, release := wording.Wait(answer), ""
		switch answer.Reason {
		case gate.Wave:
			why = wording.EarlierWave(r.Gate.EarlierWave(w.Ref.Namespace))
		case gate.Hold:
			release = r.Gate.Release(w, &decision) // far from the text of people, which could name another command
		default:
		}
		r.Log.Info("restart is held", "workload", w.Ref, "reason", answer.Reason, "why", why, "causes", wording.Causes(decision))
		r.Events.Eventf(kinds.ObjectReference(w), corev1.EventTypeNormal, events.Held, "restart is held: %s. It is due because %s%s", why, wording.Causes(decision), release)
	default:
		r.Log.Debug("restart waits", "workload", w.Ref, "reason", answer.Reason, "fan_out", answer.FanOut.Config)
	}
}

// NextWaitsFor begins what is said of pods that may not be evicted because of what a later restart brings.
const NextWaitsFor = "its next restart waits for: "

// NextWaits returns why the next restart of a workload waits, or may have to, empty if it does not: a pod that was evicted
// meanwhile would read what that restart is to bring. Its budget is no such reason, because the pods that are left restart
// once in any case.
func (r *Restarter) NextWaits(ref names.WorkloadRef) string {
	next := r.Backlogs.Of(ref)
	switch {
	case next.IsDeliberate():
		return NextWaitsFor + cmp.Or(next.PutOffBy.Text, string(next.PutOff))
	case next != nil && next.PutOff == "" && next.Changed:
		return "it is being decided whether it restarts again"
	case next == nil && r.Changes.HoldsAny(ref): // also a change of the workload itself: a new process sees edits by that
		return "a config has changed, for which it may have to restart again"
	}
	return ""
}

// KnowsWhatHolds returns nil if all is known that may hold a restart, as it is some time after a process begins to lead.
func (r *Restarter) KnowsWhatHolds(request *gate.Request) error {
	if !r.KnowsConfigsOf(request.Workload) {
		return failures.ErrConfigsUnknown // nor are their holds
	}
	return r.Gate.KnowsEnough(request)
}
