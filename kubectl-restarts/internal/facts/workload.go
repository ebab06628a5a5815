package facts

import (
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"kubernetes-deployment-restart-controller/catalog/annotation"
	"kubernetes-deployment-restart-controller/catalog/content"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/optin"
	"kubernetes-deployment-restart-controller/catalog/policy"
	"kubernetes-deployment-restart-controller/catalog/template"
	"kubernetes-deployment-restart-controller/catalog/workload"
	"kubernetes-deployment-restart-controller/controller/window"
	"kubernetes-deployment-restart-controller/internal/status"
	"kubernetes-deployment-restart-controller/kubectl-restarts/internal/text"
)

// Workload is a workload as the catalog would keep it, whether or not it is enabled.
type Workload struct {
	workload.Workload
	// Choice is what its own annotations say, or those of the Tools, which are named as by [policy.Understood].
	Choice annotation.Choice
	Tools  string
	// Enabled reports whether it counts, and Ground why it does or does not, as far as is known.
	Enabled bool
	Ground  optin.Ground
	// EnabledUnknown means that it may be enabled although it does not seem to be: the caller may not read what decides.
	EnabledUnknown bool
	// Cause is what the pod template says about the last restart.
	Cause string
	// Unsupported is why the workload cannot be restarted, empty if it can. Little else is known of it then.
	Unsupported string
	// Mistakes describes annotations and labels that have no effect, empty if there are none. Mistyped are those by which a
	// person means to enable the workload.
	Mistakes string
	Mistyped string
	// FellBack says why it runs an earlier release, if it does, and how to go on, in the words of the deployment engine.
	FellBack string
	// AtStep says at which step its rollout waits, if it does, and how to go on, in the same words.
	AtStep string
	// HeldBy is the field manager that has set its hold, empty if that is not known.
	HeldBy string
}

// Wrong describes annotations and labels that have no effect, and values that cannot be used, empty if there are none. Which
// flags the controller has is not known here.
func (w *Workload) Wrong() string {
	return text.Join("; ", w.Mistakes, text.Join("; ", w.WrongValues(UnknownGrace)...))
}

// UnknownGrace stands for the grace period that workloads have by default.
const UnknownGrace = "--restart-grace-period of the controller"

// WrongValues describes the values that cannot be used, as the leader does; some of the texts are empty. The grace period is
// that which the workload has otherwise.
func (w *Workload) WrongValues(grace string) []string {
	wrong := []string{w.GracePeriod.ProblemWith(grace)}
	if w.Policy != nil {
		wrong = append(wrong, w.Policy.Problem, windowProblem(w.Policy.Window))
	}
	return wrong
}

func windowProblem(schedule string) string {
	if _, err := window.Parse(schedule); schedule != "" && err != nil {
		return policy.WindowProblem(err)
	}
	return ""
}

// LeftAlone says why no config change restarts the workload, as far as it and the last Event [TooManyReferences] on it show,
// which is nil if there is none; empty if nothing does. A record that is later than the Event shows that this is over, of
// which a new leader says nothing.
func (w *Workload) LeftAlone(last *Event) string {
	switch {
	case w.Unsupported != "":
		return w.Unsupported
	case w.Excess != workload.NoExcess:
		return fmt.Sprintf("its pod template has more than %d references to ConfigMaps and Secrets", template.MaxReferences)
	case last != nil && last.Type == corev1.EventTypeWarning && !(w.Record.Trusted && w.Record.Written.After(last.At)):
		return strings.TrimSuffix(strings.TrimPrefix(last.Message, status.NotRestarted), ".")
	}
	return ""
}

// Why says by what the workload is enabled, or why it is not.
func (w *Workload) Why() string {
	if !w.Ground.Counts() && w.Mistyped != "" {
		return w.Mistyped
	}
	return w.Ground.Describe(w.Tools)
}

// Wave returns the wave of the workload.
func (w *Workload) Wave() int16 {
	if w.Policy == nil {
		return 0
	}
	return w.Policy.Wave
}

// Restarted returns when the workload last restarted, empty if it never did, and what that was for. The record of a
// restart by eviction shows it only as long as it is the last write of the record, or pods may be left.
func (w *Workload) Restarted() (at, cause string) {
	began, isUnderWay := w.Record.EvictedAt()
	switch {
	case isUnderWay:
	case w.Method() == policy.ByEviction && w.Record.Trusted && len(w.Record.RestartedFor) > 0:
		began = w.Record.Written
	default:
		return w.Timestamp, w.Cause
	}
	causes := make([]string, 0, len(w.Record.RestartedFor))
	for _, r := range w.Record.RestartedFor {
		causes = append(causes, ConfigName(r.Config))
	}
	return began.UTC().Format(time.RFC3339), strings.Join(causes, "; ")
}

// ByEviction says how the workload restarts, empty if its pod template restarts it.
func (w *Workload) ByEviction() string {
	switch {
	case w.RestartsItself():
		return "by Argo Rollouts, which replaces its pods (.spec.restartAt)"
	case w.Method() == policy.ByEviction:
		return "by eviction, one pod after the other"
	}
	return ""
}

// Name names the workload as kubectl does.
func (w *Workload) Name() string { return WorkloadName(w.Ref) }

// WorkloadName names a workload as kubectl does.
func WorkloadName(ref names.WorkloadRef) string {
	return strings.ToLower(string(ref.Kind)) + "/" + ref.Name
}

// Lacks says which config that new pods need does not exist, empty if all do. IsMissing reports whether a config is known not
// to exist.
func (w *Workload) Lacks(isMissing func(names.ConfigRef) bool) string {
	for i := range w.References {
		if r := &w.References[i]; r.IsRequired() && isMissing(r.Config) && !w.Record.MayBeUnwatched(r.Config) {
			return ConfigName(r.Config) + " does not exist: no new pod can start"
		}
	}
	return ""
}

// EditedAfterRecord returns when a key of a config that the workload reads was edited after its record was made, zero if none
// was, or if there is no record to compare with.
func (w *Workload) EditedAfterRecord(config *content.Config) time.Time {
	if !w.Enabled || !w.Record.Trusted || w.Ignores(config) {
		return time.Time{}
	}
	selects := w.KeySelector(config.Ref)
	return config.LastEdit(func(edit annotation.Edit) bool {
		return edit.At.After(w.Record.Written) && selects != nil && selects(edit.Key)
	})
}
