package wording

import (
	"fmt"
	"strings"
	"time"

	"kubernetes-deployment-restart-controller/controller/gate"
	"kubernetes-deployment-restart-controller/internal/status"
)

// Wait says what a restart waits for, and who can end that.
func Wait(answer gate.Answer) string {
	switch {
	case answer.Reason == gate.Hold:
		return answer.Text
	case answer.Reason == gate.Missing:
		return answer.Text + ", which new pods need to start; create it, or make the reference optional"
	case answer.Reason == gate.Halted && answer.Halt.ID == "":
		return fmt.Sprintf("too many configs of namespace %s have broken workloads", answer.Halt.Config.Namespace)
	case answer.Reason == gate.Halted:
		return fmt.Sprintf("%s has broken %s%s; revert it, or resume with: %s", ConfigName(answer.Halt.Config), BrokenBy(answer.Halt), status.LookWith(answer.Halt.Command()),
			gate.ResumeCommand(answer.Halt.Config, answer.Halt.ID))
	case answer.Until.IsZero():
		return answer.Text
	}
	return answer.Text + " opens at " + answer.Until.UTC().Format(time.RFC3339)
}

// BrokenBy names the workloads that failed, unless whoever reads it may not see their namespaces.
func BrokenBy(halt *gate.Halt) string {
	if gate.IsGroup(halt.Config) {
		return "workloads in several namespaces"
	}
	return WorkloadNames(halt.Failed)
}

// EarlierWave says which wave has not ended, and names one workload of it.
func EarlierWave(b gate.Blocker) string {
	switch name := WorkloadName(b.Workload); {
	case b.Workload.Name == "":
		return "an earlier wave was not over"
	case b.Reason != "":
		return fmt.Sprintf("wave %d is not over: %s waits for its %s", b.Wave, name, WaitName(b.Reason))
	case b.IsFailing:
		return fmt.Sprintf("wave %d is not over: %s could not be restarted yet, and its Events say why", b.Wave, name)
	default:
		return fmt.Sprintf("wave %d is not over: %s rolls, or is about to", b.Wave, name)
	}
}

// WaitName names what a restart waits for, behind "its".
func WaitName(reason gate.Reason) string { return strings.ReplaceAll(string(reason), "-", " ") }
