package decide

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"kubernetes-deployment-restart-controller/catalog/objecttest"
)

// podSince is a pod that was accepted at a time, and whose container was started at another.
func podSince(accepted, started float64) *corev1.Pod {
	return &corev1.Pod{Status: corev1.PodStatus{
		Phase: corev1.PodRunning, StartTime: objecttest.Stamp(objecttest.NoonPlus(accepted)),
		ContainerStatuses: []corev1.ContainerStatus{{Name: "app", State: corev1.ContainerState{
			Running: &corev1.ContainerStateRunning{StartedAt: metav1.Time{Time: objecttest.NoonPlus(started)}},
		}}},
	}}
}

// crashLooping is a pod whose container was last started at a time, and waits to be started again.
func crashLooping(accepted, started float64) *corev1.Pod {
	pod := podSince(accepted, started)
	pod.Status.ContainerStatuses[0].State = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}}
	pod.Status.ContainerStatuses[0].LastTerminationState = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
		ExitCode: 1, StartedAt: metav1.Time{Time: objecttest.NoonPlus(started)},
	}}
	return pod
}

func (s *story) isExposed(t rapid.TB, pods ...*corev1.Pod) bool {
	t.Helper()
	view, found := s.catalog.View(objecttest.DeploymentRef("web"))
	if !found {
		t.Fatal("the workload is not in the catalog")
	}
	e := NewExposure(view)
	for _, pod := range pods {
		e.Add(pod)
	}
	return e.Found()
}

func TestAWorkloadIsExposedIfAPodHasReadWhatItsRestartHasYetToBring(t *testing.T) {
	terminating, done := podSince(50, 50), podSince(50, 50)
	terminating.DeletionTimestamp, done.Status.Phase = objecttest.Stamp(objecttest.NoonPlus(60)), corev1.PodSucceeded
	unready := podSince(50, 50)
	unready.Status.ContainerStatuses[0].State = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ContainerCreating"}}
	for name, test := range map[string]struct {
		pods    []*corev1.Pod
		env     bool
		mounted bool
	}{
		"no pods":                            {nil, false, false},
		"older than the edit":                {[]*corev1.Pod{podSince(5, 5)}, false, false},
		"one of them is younger":             {[]*corev1.Pod{podSince(5, 5), podSince(50, 50)}, true, true},
		"all are":                            {[]*corev1.Pod{podSince(50, 50), podSince(60, 60)}, true, true},
		"its container was started again":    {[]*corev1.Pod{podSince(5, 50)}, true, false},
		"its container crashes since then":   {[]*corev1.Pod{crashLooping(5, 50)}, true, false},
		"its container crashed before":       {[]*corev1.Pod{crashLooping(5, 5)}, false, false},
		"too close to the edit for clocks":   {[]*corev1.Pod{podSince(40.5, 40.5)}, false, false},
		"it is terminating":                  {[]*corev1.Pod{terminating}, false, false},
		"it has finished":                    {[]*corev1.Pod{done}, false, false},
		"it has mounted but not started yet": {[]*corev1.Pod{unready}, false, true},
	} {
		for channel, container := range map[string]struct {
			corev1.Container
			volumes []corev1.Volume
			want    bool
		}{
			"environment": {objecttest.ReadsKey("web", "a", false), nil, test.env},
			"volume":      {objecttest.Mounts(corev1.VolumeMount{Name: "v"}), []corev1.Volume{objecttest.VolumeOf("web", false)}, test.mounted},
		} {
			t.Run(fmt.Sprintf("%s, %s", name, channel), func(t *testing.T) {
				s := begin(objecttest.Deployment(container.Container, container.volumes...))
				s.listed(objecttest.ConfigMap("web", objecttest.Data{"a": "1", "b": "1"}))
				s.recorded(10)
				s.config("web", objecttest.Data{"a": "2", "b": "1"}, 40)
				if got := s.isExposed(t, test.pods...); got != container.want {
					t.Errorf("exposed: %t, want %t", got, container.want)
				}
				s.config("web", objecttest.Data{"a": "1", "b": "1"}, 80)
				if s.isExposed(t, test.pods...) {
					t.Error("exposed to a content that is gone")
				}
			})
		}
	}
}

func TestAWorkloadWithManyContainersIsExposedOnlyIfAllOfAPodsWereStartedAfterTheEdit(t *testing.T) {
	d := objecttest.Deployment(objecttest.ReadsAll("web", false))
	statuses := func(first, others float64) *corev1.Pod {
		pod := podSince(5, first)
		for i := range maxStarts {
			status := podSince(5, others).Status.ContainerStatuses[0]
			status.Name = fmt.Sprint("more-", i)
			pod.Status.ContainerStatuses = append(pod.Status.ContainerStatuses, status)
		}
		return pod
	}
	for i := range maxStarts {
		more := objecttest.ReadsAll("web", false)
		more.Name = fmt.Sprint("more-", i)
		d.Spec.Template.Spec.Containers = append(d.Spec.Template.Spec.Containers, more)
	}
	s := begin(d)
	s.listed(objecttest.ConfigMap("web", objecttest.Data{"a": "1"}))
	s.recorded(10)
	s.config("web", objecttest.Data{"a": "2"}, 40)
	if s.isExposed(t, statuses(50, 5)) || !s.isExposed(t, statuses(60, 50)) {
		t.Error("one of its containers decides")
	}
}
