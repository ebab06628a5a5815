package custom

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"kubernetes-deployment-restart-controller/catalog/workload"
)

func TestAPresetReadsTheStatusOfItsKind(t *testing.T) {
	const (
		rollouts  = "rollouts.v1alpha1.argoproj.io"
		cloneSets = "clonesets.v1alpha1.apps.kruise.io"
		advanced  = "statefulsets.v1beta1.apps.kruise.io"
		configs   = "deploymentconfigs.v1.apps.openshift.io"
	)
	whole := `"replicas": 3, "updatedReplicas": 3, "availableReplicas": 3,`
	for _, c := range []struct {
		name, kind, status string
		want               workload.Rollout
	}{
		{
			"a Rollout that is promoted", rollouts, whole + `"observedGeneration": "2", "currentPodHash": "a", "stableRS": "a", "phase": "Healthy"`,
			workload.Rollout{Wanted: 3, Updated: 3, Available: 3, Observed: true, Completed: true, Deadline: 120, OwnRestart: workload.ReplacesPods},
		},
		{
			"one whose last version runs on for a while", rollouts, `"replicas": 6, "updatedReplicas": 3, "availableReplicas": 3, "observedGeneration": "2", "currentPodHash": "a", "stableRS": "a", "phase": "Healthy"`,
			workload.Rollout{Wanted: 3, Updated: 3, Available: 3, Observed: true, Completed: true, Deadline: 120, OwnRestart: workload.ReplacesPods},
		},
		{
			"one that has all its pods but not taken its last step", rollouts, whole + `"observedGeneration": "2", "currentPodHash": "b", "stableRS": "a", "phase": "Progressing"`,
			workload.Rollout{Wanted: 3, Updated: 3, Outdated: 1, Available: 3, Observed: true, Deadline: 120, OwnRestart: workload.ReplacesPods},
		},
		{
			"one that waits between two steps", rollouts, `"replicas": 3, "updatedReplicas": 1, "availableReplicas": 3, "observedGeneration": "2", "currentPodHash": "b", "stableRS": "a", "phase": "Paused", "pauseConditions": [{"reason": "CanaryPauseStep"}]`,
			workload.Rollout{Wanted: 3, Updated: 1, Outdated: 2, Available: 3, Observed: true, Waits: true, Deadline: 120, OwnRestart: workload.ReplacesPods},
		},
		{
			"one that was aborted", rollouts, `"replicas": 3, "updatedReplicas": 0, "availableReplicas": 3, "observedGeneration": "2", "currentPodHash": "b", "stableRS": "a", "phase": "Degraded", "abort": true`,
			workload.Rollout{Wanted: 3, Outdated: 3, Available: 3, Observed: true, GaveUp: true, Course: workload.Aborted, Deadline: 120, OwnRestart: workload.ReplacesPods},
		},
		{
			"one whose status is about an earlier generation", rollouts, whole + `"observedGeneration": "1", "currentPodHash": "a", "stableRS": "a", "phase": "Healthy"`,
			workload.Rollout{Wanted: 3, Updated: 3, Available: 3, Completed: true, Deadline: 120, OwnRestart: workload.ReplacesPods},
		},
		{
			"a CloneSet", cloneSets, whole + `"observedGeneration": 2, "updateRevision": "web-a", "currentRevision": "web-a"`,
			workload.Rollout{Wanted: 3, Updated: 3, Available: 3, Observed: true, Completed: true, Deadline: 120},
		},
		{
			"a StatefulSet of OpenKruise that rolls", advanced, `"replicas": 3, "updatedReplicas": 1, "availableReplicas": 2, "observedGeneration": 2, "updateRevision": "web-b", "currentRevision": "web-a"`,
			workload.Rollout{Wanted: 3, Updated: 1, Outdated: 2, Available: 2, Observed: true, Deadline: 120},
		},
		{
			"a DeploymentConfig, whose status may be about an earlier rollout", configs, whole + `"observedGeneration": 2, "conditions": [{"type": "Progressing", "status": "False", "reason": "ProgressDeadlineExceeded"}]`,
			workload.Rollout{ByPods: true, Wanted: 3, GaveUp: true, Course: workload.Aborted, Deadline: 120},
		},
		{
			"a DeploymentConfig whose rollout somebody has canceled", configs, whole + `"observedGeneration": 2, "conditions": [{"type": "Progressing", "status": "False", "reason": "RolloutCancelled"}]`,
			workload.Rollout{ByPods: true, Wanted: 3, Deadline: 120},
		},
		{
			"a status that cannot be read", cloneSets, `"replicas": "many"`,
			workload.Rollout{Wanted: 3, Deadline: 120},
		},
	} {
		spec := selector + "," + template + `, "replicas": 3`
		got := kindOf(t, c.kind).Parts(object(t, spec, c.status))
		if diff := cmp.Diff(c.want, got.Rollout); diff != "" || got.Problem != "" {
			t.Errorf("%s: %s (-want +got):\n%s", c.name, got.Problem, diff)
		}
	}
}

func TestAPresetKnowsWhatKeepsPodsFromRestarting(t *testing.T) {
	strategy := func(text string) string { return `"updateStrategy": {` + text + `}` }
	for _, c := range []struct {
		kind, spec string
		want       workload.Hold
	}{
		{"rollouts.v1alpha1.argoproj.io", `"strategy": {"canary": {}}`, workload.NoHold},
		{"rollouts.v1alpha1.argoproj.io", `"paused": true`, workload.Paused},
		{"clonesets.v1alpha1.apps.kruise.io", strategy(""), workload.NoHold},
		{"clonesets.v1alpha1.apps.kruise.io", strategy(`"type": "ReCreate", "partition": 0`), workload.NoHold},
		{"clonesets.v1alpha1.apps.kruise.io", strategy(`"type": "ReCreate", "partition": "0%"`), workload.NoHold},
		{"clonesets.v1alpha1.apps.kruise.io", strategy(`"partition": "20%"`), workload.Partitioned},
		{"clonesets.v1alpha1.apps.kruise.io", strategy(`"partition": 2`), workload.Partitioned},
		{"clonesets.v1alpha1.apps.kruise.io", strategy(`"paused": true, "partition": 2`), workload.Paused},
		{"clonesets.v1beta1.apps.kruise.io", strategy(`"type": "InPlaceIfPossible", "paused": true`), workload.InPlace},
		{"clonesets.v1beta1.apps.kruise.io", strategy(`"type": "InPlaceOnly"`), workload.InPlace},
		{"statefulsets.v1beta1.apps.kruise.io", strategy(`"type": "RollingUpdate", "rollingUpdate": {"podUpdatePolicy": "ReCreate", "partition": 0}`), workload.NoHold},
		{"statefulsets.v1beta1.apps.kruise.io", strategy(`"rollingUpdate": {"podUpdatePolicy": "InPlaceIfPossible"}`), workload.InPlace},
		{"statefulsets.v1beta1.apps.kruise.io", strategy(`"rollingUpdate": {"partition": 1}`), workload.Partitioned},
		{"statefulsets.v1beta1.apps.kruise.io", strategy(`"rollingUpdate": {"paused": true}`), workload.Paused},
		{"statefulsets.v1beta1.apps.kruise.io", strategy(`"type": "OnDelete"`), workload.OnDelete},
		{"deploymentconfigs.v1.apps.openshift.io", `"test": false`, workload.NoHold},
		{"deploymentconfigs.v1.apps.openshift.io", `"triggers": [{"type": "ImageChange"}, {"type": "ConfigChange"}]`, workload.NoHold},
		{"deploymentconfigs.v1.apps.openshift.io", `"triggers": [{"type": "ImageChange"}]`, workload.Untriggered},
		{"deploymentconfigs.v1.apps.openshift.io", `"triggers": []`, workload.Untriggered},
		{"deploymentconfigs.v1.apps.openshift.io", `"triggers": [], "paused": true`, workload.Paused},
	} {
		got := kindOf(t, c.kind).Parts(object(t, selector+","+template+","+c.spec, ""))
		if got.Hold != c.want || got.Problem != "" {
			t.Errorf("%s with %s: hold %d (%s), want %d", c.kind, c.spec, got.Hold, got.Problem, c.want)
		}
	}
}

func TestARolloutOfAnotherObjectsTemplateIsNotSupported(t *testing.T) {
	kind := kindOf(t, "rollouts.v1alpha1.argoproj.io")
	got := kind.Parts(object(t, selector+`, "workloadRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}`, ""))
	if !strings.Contains(got.Problem, ".spec.workloadRef") || !strings.Contains(got.Problem, "move the template") {
		t.Errorf("problem: %q", got.Problem)
	}
}

func TestThePodsOfThePresentTemplateAreRecognizedByALabel(t *testing.T) {
	for _, c := range []struct{ kind, label, status, revision string }{
		{"rollouts.v1alpha1.argoproj.io", "rollouts-pod-template-hash", `"observedGeneration": "2", "currentPodHash": "b"`, "b"},
		{"rollouts.v1alpha1.argoproj.io", "rollouts-pod-template-hash", `"observedGeneration": "1", "currentPodHash": "a"`, ""},
		{"clonesets.v1alpha1.apps.kruise.io", "controller-revision-hash", `"observedGeneration": 2, "updateRevision": "web-b"`, "web-b"},
		{"statefulsets.v1beta1.apps.kruise.io", "controller-revision-hash", `"observedGeneration": 1, "updateRevision": "web-a"`, ""},
		{"deploymentconfigs.v1.apps.openshift.io", "", `"observedGeneration": 2, "latestVersion": 4`, ""},
		{"gadgets.v1.example.com", "", `"observedGeneration": 2, "currentPodHash": "b"`, ""},
	} {
		kind := kindOf(t, c.kind)
		got := fmt.Sprint(kind.RevisionLabel(), "=", kind.Revision(object(t, "", c.status)))
		if want := c.label + "=" + c.revision; got != want {
			t.Errorf("%s with %s: %s, want %s", c.kind, c.status, got, want)
		}
	}
	for label, want := range map[string]bool{"web-b": true, "b": true, "web-a": false, "a": false, "": false, "eb-b": false} {
		if got := IsRevision(label, "web-b"); got != want {
			t.Errorf("the label %q is that of web-b: %t, want %t", label, got, want)
		}
	}
}

func TestARolloutSaysHowItsRestartWithoutATemplateGoes(t *testing.T) {
	at := func(second string) string { return `"2026-11-24T06:00:` + second + `Z"` }
	for _, c := range []struct {
		name, spec, status string
		at                 string // empty for none
		want               workload.OwnRestart
	}{
		{"one that never restarted", "", "", "", workload.ReplacesPods},
		{"one that restarts", `, "restartAt": ` + at("05"), `"restartedAt": ` + at("03"), "05", workload.ReplacesPods},
		{"one that restarts for the first time", `, "restartAt": ` + at("05"), "", "05", workload.ReplacesPods},
		{"one that has restarted", `, "restartAt": ` + at("05"), `"restartedAt": ` + at("05"), "05", workload.HasReplacedPods},
		{"one whose time was removed", "", `"restartedAt": ` + at("05"), "", workload.ReplacesPods},
		{"one that is paused", `, "paused": true, "restartAt": ` + at("05"), "", "05", workload.ReplacesNothing},
		{"one that is paused and has restarted", `, "paused": true, "restartAt": ` + at("05"), `"restartedAt": ` + at("05"), "05", workload.ReplacesNothing},
		{"one that waits between two steps", `, "restartAt": ` + at("05"), `"pauseConditions": [{"reason": "CanaryPauseStep"}]`, "05", workload.ReplacesPods},
		{"one without a result of an analysis", "", `"pauseConditions": [{"reason": "CanaryPauseStep"}, {"reason": "InconclusiveAnalysisRun"}]`, "", workload.ReplacesNothing},
		{"one in another form", `, "restartAt": "soon"`, `"restartedAt": 5, "pauseConditions": [5]`, "", workload.ReplacesPods},
	} {
		got := kindOf(t, "rollouts.v1alpha1.argoproj.io").Parts(object(t, selector+","+template+c.spec, c.status))
		var want time.Time
		if c.at != "" {
			want, _ = time.Parse(time.RFC3339, strings.Trim(at(c.at), `"`))
		}
		if got.Problem != "" || got.Rollout.OwnRestart != c.want || !got.RestartAt.Equal(want) {
			t.Errorf("%s: %d at %v (%s), want %d at %v", c.name, got.Rollout.OwnRestart, got.RestartAt, got.Problem, c.want, want)
		}
	}
	for kind, want := range map[string]string{"rollouts.v1alpha1.argoproj.io": "replicasets", "clonesets.v1alpha1.apps.kruise.io": "", "gadgets.v1.example.com": ""} {
		parts := kindOf(t, kind).Parts(object(t, selector+","+template+`, "restartAt": `+at("05"), ""))
		if got := kindOf(t, kind).PodOwner(); got != want || (parts.Rollout.OwnRestart != workload.NoOwnRestart) != (want != "") {
			t.Errorf("%s: %q own the pods, and own restarts go %d", kind, got, parts.Rollout.OwnRestart)
		}
	}
}
