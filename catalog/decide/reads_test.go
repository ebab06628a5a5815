package decide

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"kubernetes-deployment-restart-controller/catalog/objecttest"
	"kubernetes-deployment-restart-controller/catalog/template"
	"kubernetes-deployment-restart-controller/catalog/workload"
)

func TestAPodIsReducedToWhenItReadItsConfigs(t *testing.T) {
	running := func(name string, at time.Time) corev1.ContainerStatus {
		return corev1.ContainerStatus{Name: name, State: corev1.ContainerState{
			Running: &corev1.ContainerStateRunning{StartedAt: metav1.Time{Time: at}},
		}}
	}
	ended := func(name string, at time.Time, code int32) corev1.ContainerStatus {
		return corev1.ContainerStatus{Name: name, State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
			ExitCode: code, StartedAt: metav1.Time{Time: at}, FinishedAt: metav1.Time{Time: at.Add(time.Minute)},
		}}}
	}
	waiting := func(name string) corev1.ContainerStatus {
		return corev1.ContainerStatus{Name: name, State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "x"}}}
	}
	crashed := func(name string, at time.Time) corev1.ContainerStatus {
		status := waiting(name)
		status.LastTerminationState = ended(name, at, 1).State
		return status
	}
	ready := func(status corev1.ConditionStatus) []corev1.PodCondition {
		return []corev1.PodCondition{
			{Type: corev1.PodScheduled, Status: corev1.ConditionTrue},
			{Type: corev1.PodReadyToStartContainers, Status: status},
		}
	}
	start := objecttest.Stamp(objecttest.Noon)
	for name, test := range map[string]struct {
		status corev1.PodStatus
		want   Pod
	}{
		"not scheduled": {corev1.PodStatus{Phase: corev1.PodPending}, Pod{}},
		"the runtime has forgotten a container that ended": {
			corev1.PodStatus{
				Phase: corev1.PodRunning, StartTime: start,
				InitContainerStatuses: []corev1.ContainerStatus{{Name: "init", State: corev1.ContainerState{
					Terminated: &corev1.ContainerStateTerminated{Reason: "Completed"},
				}}},
				ContainerStatuses: []corev1.ContainerStatus{running("app", objecttest.NoonPlus(10))},
			}, Pod{Mounted: objecttest.Noon, Started: []Start{{"init", objecttest.Noon}, {"app", objecttest.NoonPlus(10)}}},
		},
		"waiting for its volumes": {
			corev1.PodStatus{
				Phase: corev1.PodPending, StartTime: start, Conditions: ready(corev1.ConditionFalse),
				InitContainerStatuses: []corev1.ContainerStatus{waiting("init")}, ContainerStatuses: []corev1.ContainerStatus{waiting("app")},
			}, Pod{},
		},
		"just taken on by the kubelet": {
			corev1.PodStatus{Phase: corev1.PodPending, StartTime: start, Conditions: ready(corev1.ConditionFalse)}, Pod{},
		},
		"waiting for a config of its environment": {
			corev1.PodStatus{
				Phase: corev1.PodPending, StartTime: start, Conditions: ready(corev1.ConditionTrue),
				ContainerStatuses: []corev1.ContainerStatus{waiting("app")},
			}, Pod{Mounted: objecttest.Noon},
		},
		"waiting, on a kubelet that does not say for what": {
			corev1.PodStatus{Phase: corev1.PodPending, StartTime: start, ContainerStatuses: []corev1.ContainerStatus{waiting("app")}},
			Pod{Mounted: objecttest.Noon},
		},
		"init container running": {
			corev1.PodStatus{
				Phase: corev1.PodPending, StartTime: start, Conditions: ready(corev1.ConditionTrue),
				InitContainerStatuses: []corev1.ContainerStatus{running("init", objecttest.NoonPlus(2))}, ContainerStatuses: []corev1.ContainerStatus{waiting("app")},
			}, Pod{Mounted: objecttest.Noon, Started: []Start{{"init", objecttest.NoonPlus(2)}}},
		},
		"init container failed, to be run again": {
			corev1.PodStatus{
				Phase: corev1.PodPending, StartTime: start, Conditions: ready(corev1.ConditionTrue),
				InitContainerStatuses: []corev1.ContainerStatus{ended("init", objecttest.NoonPlus(2), 1)}, ContainerStatuses: []corev1.ContainerStatus{waiting("app")},
			}, Pod{Mounted: objecttest.Noon},
		},
		"running, with a sidecar": {
			corev1.PodStatus{
				Phase: corev1.PodRunning, StartTime: start, Conditions: ready(corev1.ConditionTrue),
				InitContainerStatuses: []corev1.ContainerStatus{ended("init", objecttest.NoonPlus(2), 0), running("sidecar", objecttest.NoonPlus(4))},
				ContainerStatuses:     []corev1.ContainerStatus{running("app", objecttest.NoonPlus(5)), running("other", objecttest.NoonPlus(6))},
			},
			Pod{Mounted: objecttest.Noon, Started: []Start{
				{"init", objecttest.NoonPlus(2)}, {"sidecar", objecttest.NoonPlus(4)}, {"app", objecttest.NoonPlus(5)}, {"other", objecttest.NoonPlus(6)},
			}},
		},
		"one container ended, to be started again": {
			corev1.PodStatus{
				Phase: corev1.PodRunning, StartTime: start,
				ContainerStatuses: []corev1.ContainerStatus{ended("app", objecttest.NoonPlus(2), 0), running("other", objecttest.NoonPlus(3))},
			}, Pod{Mounted: objecttest.Noon, Started: []Start{{"other", objecttest.NoonPlus(3)}}},
		},
		"one container crashed and backs off; its volumes stay": {
			corev1.PodStatus{
				Phase: corev1.PodRunning, StartTime: start, Conditions: ready(corev1.ConditionFalse),
				ContainerStatuses: []corev1.ContainerStatus{crashed("app", objecttest.NoonPlus(2))},
			}, Pod{Mounted: objecttest.Noon},
		},
		"its sandbox is recreated, but a container runs": {
			corev1.PodStatus{
				Phase: corev1.PodRunning, StartTime: start, Conditions: ready(corev1.ConditionFalse),
				ContainerStatuses: []corev1.ContainerStatus{waiting("app"), running("other", objecttest.NoonPlus(3))},
			}, Pod{Mounted: objecttest.Noon, Started: []Start{{"other", objecttest.NoonPlus(3)}}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, matters := NewPod(&corev1.Pod{Status: test.status}, []string{"app", "init", "other", "sidecar"})
			if diff := cmp.Diff(test.want, got, cmpopts.EquateEmpty()); diff != "" || !matters {
				t.Errorf("matters: %v, pod (-want +got):\n%s", matters, diff)
			}
		})
	}
}

func TestATerminatingPodDoesNotMatter(t *testing.T) {
	for name, pod := range map[string]corev1.Pod{
		"deleted":   {ObjectMeta: metav1.ObjectMeta{DeletionTimestamp: objecttest.Stamp(objecttest.Noon)}, Status: corev1.PodStatus{Phase: corev1.PodRunning}},
		"failed":    {Status: corev1.PodStatus{Phase: corev1.PodFailed, StartTime: objecttest.Stamp(objecttest.Noon)}},
		"succeeded": {Status: corev1.PodStatus{Phase: corev1.PodSucceeded, StartTime: objecttest.Stamp(objecttest.Noon)}},
	} {
		if got, matters := NewPod(&pod, nil); matters {
			t.Errorf("%s: %+v matters", name, got)
		}
	}
}

func TestOnlyTheStartsOfContainersThatReadTheirEnvironmentAreKept(t *testing.T) {
	pod := corev1.Pod{Status: corev1.PodStatus{StartTime: objecttest.Stamp(objecttest.Noon)}}
	for i := range 1000 {
		pod.Status.ContainerStatuses = append(pod.Status.ContainerStatuses, corev1.ContainerStatus{
			Name: fmt.Sprintf("c%d", i), State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: *objecttest.Stamp(objecttest.NoonPlus(1))}},
		})
	}
	w := workload.Workload{Object: workload.Object{References: []template.Reference{
		{Container: "c7", Channel: template.Environment}, {Container: "c7", Channel: template.Environment}, {Container: "c5", Channel: template.Environment},
		{Container: "c3", Channel: template.Volume},
	}}}
	got, _ := NewPod(&pod, w.Readers())
	if diff := cmp.Diff(Pod{Mounted: objecttest.Noon, Started: []Start{{"c5", objecttest.NoonPlus(1)}, {"c7", objecttest.NoonPlus(1)}}}, got); diff != "" {
		t.Errorf("pod (-want +got):\n%s", diff)
	}
}

func TestOnlyTheFirstAndLastStartOfTooManyContainersAreKept(t *testing.T) {
	w, pod := workload.Workload{}, corev1.Pod{Status: corev1.PodStatus{StartTime: objecttest.Stamp(objecttest.Noon)}}
	add := func(at float64) {
		name := fmt.Sprintf("c%d", len(pod.Status.ContainerStatuses))
		w.References = append(w.References, template.Reference{Container: name, Channel: template.Environment})
		pod.Status.ContainerStatuses = append(pod.Status.ContainerStatuses, corev1.ContainerStatus{
			Name: name, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: *objecttest.Stamp(objecttest.NoonPlus(at))}},
		})
	}
	for i := range maxStarts {
		add(float64(20 + i%7))
	}
	if got, _ := NewPod(&pod, w.Readers()); len(got.Started) != maxStarts || got.Started[0].Container == anyContainer {
		t.Errorf("of as many as are kept: %+v", got)
	}
	add(10)
	got, _ := NewPod(&pod, w.Readers())
	want := Pod{Mounted: objecttest.Noon, Started: []Start{{anyContainer, objecttest.NoonPlus(10)}, {anyContainer, objecttest.NoonPlus(26)}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("of one more (-want +got):\n%s", diff)
	}
}

func TestOneStaleContainerAmongTooManyIsEnough(t *testing.T) {
	app := Start{"app", objecttest.NoonPlus(50)}
	for name, test := range map[string]struct {
		starts []Start
		edits  []float64 // of the key, the last one back to what is recorded if there are two
		want   Outcome
	}{
		"all after the edit":               {[]Start{{"other", objecttest.NoonPlus(40)}, app}, []float64{30}, RecordOnly},
		"the first before the edit":        {[]Start{{"other", objecttest.NoonPlus(20)}, app}, []float64{30}, Restart},
		"all before the edit":              {[]Start{{"other", objecttest.NoonPlus(20)}, app}, []float64{60}, Restart},
		"all before it, and it came back":  {[]Start{{"other", objecttest.NoonPlus(20)}, app}, []float64{60, 70}, RecordOnly},
		"all after it, and it came back":   {[]Start{{"other", objecttest.NoonPlus(40)}, app}, []float64{20, 30}, RecordOnly},
		"one in between, and it came back": {[]Start{{"other", objecttest.NoonPlus(25)}, app}, []float64{20, 30}, Restart},
		"around it, and it came back":      {[]Start{{"other", objecttest.NoonPlus(10)}, app}, []float64{20, 30}, Restart},
	} {
		t.Run(name, func(t *testing.T) {
			s := begin(objecttest.Deployment(objecttest.ReadsAll("web", false)))
			s.listed(objecttest.ConfigMap("web", objecttest.Data{"a": "1"}))
			if len(test.edits) > 1 {
				s.recorded(5)
			}
			for i, at := range test.edits {
				s.config("web", objecttest.Data{"a": []string{"2", "1"}[i]}, at)
			}
			view, _ := s.catalog.View(objecttest.DeploymentRef("web"))
			if outcome := Decide(view).Outcome; outcome != AskPods {
				t.Fatalf("without the pods: %s", outcome)
			}
			if got := ByPods(view, []Pod{{Mounted: objecttest.Noon, Started: firstAndLast(test.starts)}}); got.Outcome != test.want && !(test.want == RecordOnly && got.Outcome == Keep) {
				t.Errorf("got %s: %s", got.Outcome, got.Reason)
			}
		})
	}
}

func TestNoRestartIsLostOfPodsWithTooManyContainers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t)
		view, pods := w.view(), w.drawPods()
		exact := ByPods(view, pods)
		for i := range pods {
			if len(pods[i].Started) > 0 && rapid.Bool().Draw(t, "too many") {
				pods[i].Started = firstAndLast(pods[i].Started)
			}
		}
		if got := ByPods(view, pods); exact.Outcome == Restart && got.Outcome != Restart {
			t.Fatalf("%s: %s; of fewer containers %s", got.Outcome, got.Reason, exact.Reason)
		}
	})
}
