package controller

import (
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"kubernetes-deployment-restart-controller/catalog/decide"
	"kubernetes-deployment-restart-controller/catalog/workload"
	"kubernetes-deployment-restart-controller/controller/gate"
	"kubernetes-deployment-restart-controller/internal/status"
)

const (
	// lastingWait is how long a restart must have waited until its record is marked as contradicted.
	// Most waits are shorter, and each mark is a write.
	lastingWait = 10 * time.Second
	// longestWait is after how long a restart that waits asks again in any case.
	longestWait = 5 * time.Minute
)

// putOff puts a restart off until the gate lets it begin, and reports whether that may take long. The
// controller decides again when the restart may begin.
func (r *restarter) putOff(w *workload.Workload, decision decide.Decision, answer gate.Answer, now time.Time) (lasts bool) {
	since, isNews := r.backlogs.putOff(w.Ref, decision.Causes, answer, now)
	again := longestWait
	switch {
	case !answer.Until.IsZero():
		again = min(again, answer.Until.Sub(now))
		lasts = answer.Until.Sub(now) > r.gracePeriod(w)
	case answer.Reason.NeedsPerson() || now.Sub(since) >= lastingWait:
		lasts = true
	default:
		again = lastingWait
	}
	r.queue.AddAfter(w.Ref, again)
	if isNews {
		r.reportPutOff(w, decision, answer)
	}
	return lasts
}

// reportPutOff reports why a restart waits. Waiting for other restarts is no news to the owner of a
// workload; the Events on the config show how far its content has come.
func (r *restarter) reportPutOff(w *workload.Workload, decision decide.Decision, answer gate.Answer) {
	switch answer.Reason {
	case gate.Backoff:
		r.metrics.slowdowns.Inc()
		causes, next := describeWithWriters(decision), answer.Until.UTC().Format(time.RFC3339)
		r.log.Warn("restart put off, the configs keep changing", "workload", w.Ref, "causes", causes, "restarts", w.Applied.Budget.Restarts, "until", next)
		r.events.Eventf(objectReference(w), corev1.EventTypeWarning, reasonBackoff,
			"restart put off until %s after %d restarts in a row: %s", next, w.Applied.Budget.Restarts, causes)
	case gate.Hold, gate.Halted, gate.Missing, gate.Window, gate.Wave:
		why, release := describeWait(answer), ""
		switch answer.Reason {
		case gate.Wave:
			why = describeEarlierWave(r.gate.earlierWave(w.Ref.Namespace))
		case gate.Hold:
			release = r.gate.release(w, &decision) // far from the text of people, which could name another command
		default:
		}
		r.log.Info("restart is held", "workload", w.Ref, "reason", answer.Reason, "why", why, "causes", describe(decision))
		r.events.Eventf(objectReference(w), corev1.EventTypeNormal, reasonHeld, "restart is held: %s. It is due because %s%s", why, describe(decision), release)
	default:
		r.log.Debug("restart waits", "workload", w.Ref, "reason", answer.Reason, "fan_out", answer.FanOut.Config)
	}
}

// describeWait says what a restart waits for, and who can end that.
func describeWait(answer gate.Answer) string {
	switch {
	case answer.Reason == gate.Hold:
		return answer.Text
	case answer.Reason == gate.Missing:
		return answer.Text + ", which new pods need to start; create it, or make the reference optional"
	case answer.Reason == gate.Halted && answer.Halt.ID == "":
		return fmt.Sprintf("too many configs of namespace %s have broken workloads", answer.Halt.Config.Namespace)
	case answer.Reason == gate.Halted:
		return fmt.Sprintf("%s has broken %s%s; revert it, or resume with: %s", configName(answer.Halt.Config), brokenBy(answer.Halt), status.LookWith(answer.Halt.Command()),
			gate.ResumeCommand(answer.Halt.Config, answer.Halt.ID))
	case answer.Until.IsZero():
		return answer.Text
	}
	return answer.Text + " opens at " + answer.Until.UTC().Format(time.RFC3339)
}

// brokenBy names the workloads that failed, unless whoever reads it may not see their namespaces.
func brokenBy(halt *gate.Halt) string {
	if gate.IsGroup(halt.Config) {
		return "workloads in several namespaces"
	}
	return workloadNames(halt.Failed)
}

// describeEarlierWave says which wave has not ended, and names one workload of it.
func describeEarlierWave(b gate.Blocker) string {
	switch name := workloadName(b.Workload); {
	case b.Workload.Name == "":
		return "an earlier wave was not over"
	case b.Reason != "":
		return fmt.Sprintf("wave %d is not over: %s waits for its %s", b.Wave, name, waitName(b.Reason))
	case b.IsFailing:
		return fmt.Sprintf("wave %d is not over: %s could not be restarted yet, and its Events say why", b.Wave, name)
	default:
		return fmt.Sprintf("wave %d is not over: %s rolls, or is about to", b.Wave, name)
	}
}

// waitName names what a restart waits for, behind "its".
func waitName(reason gate.Reason) string { return strings.ReplaceAll(string(reason), "-", " ") }
