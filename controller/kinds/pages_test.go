package kinds_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubernetes-deployment-restart-controller/controller/controllertest"
	"kubernetes-deployment-restart-controller/controller/kinds"
	"kubernetes-deployment-restart-controller/controller/objecttest"
	"kubernetes-deployment-restart-controller/internal/apiclient"
)

const kibibyte = 1 << 10

// daemonPods is a list of pods of a DaemonSet, each of about so many bytes.
func daemonPods(total, size int, starts func(i int) metav1.Time) objecttest.MadeList {
	controller := true
	padding := strings.Repeat("x", size)
	return objecttest.MadeList{Total: total, Make: func(from, to int) apiclient.Page {
		list := &corev1.PodList{TypeMeta: metav1.TypeMeta{Kind: "PodList", APIVersion: "v1"}}
		for i := from; i < to; i++ {
			start := starts(i)
			list.Items = append(list.Items, corev1.Pod{
				ObjectMeta: metav1.ObjectMeta{
					Name: fmt.Sprintf("agent-%05d", i), Namespace: "ns", Annotations: map[string]string{"padding": padding},
					Labels:          map[string]string{appsv1.ControllerRevisionHashLabelKey: "b"},
					OwnerReferences: []metav1.OwnerReference{{Kind: "DaemonSet", Name: "agent", UID: objecttest.Agent, Controller: &controller}},
				},
				Status: corev1.PodStatus{
					Phase: corev1.PodRunning, StartTime: &start,
					ContainerStatuses: []corev1.ContainerStatus{
						{Name: "main", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: start}}},
						{Name: "sidecar", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: start}}},
					},
				},
			})
		}
		return list
	}}
}

func TestAListWhoseTokenExpiresStartsOverButNotForever(t *testing.T) {
	for expired, want := range map[int]int{0: 1200, 2: 1200, 3: 0} {
		server := &controllertest.ListServer{Lists: map[string]objecttest.MadeList{"pods": daemonPods(1200, 0, secondOf)}, Expired: expired}
		live, err := server.Reader(t).List(t.Context(), objecttest.AgentReadingItsEnvironment())
		if want > 0 && (err != nil || len(live) != want) {
			t.Errorf("%d tokens expire: %d pods, %v", expired, len(live), err)
		}
		if want == 0 && !apierrors.IsResourceExpired(err) {
			t.Errorf("%d tokens expire: %v", expired, err)
		}
	}
}

func TestAListThatIsCutFails(t *testing.T) {
	cut := errors.New("cut")
	server := &controllertest.ListServer{Lists: map[string]objecttest.MadeList{"pods": daemonPods(10, kibibyte, secondOf)}, Cut: cut}
	if live, err := server.Reader(t).List(t.Context(), objecttest.AgentReadingItsEnvironment()); !errors.Is(err, cut) {
		t.Errorf("%d pods, %v", len(live), err)
	}
}

func BenchmarkAskingADaemonSetFor5000Pods(b *testing.B) {
	server := &controllertest.ListServer{Lists: map[string]objecttest.MadeList{"pods": daemonPods(5000, 20*kibibyte, secondOf)}}
	reader, w := server.Reader(b), objecttest.AgentReadingItsEnvironment()
	var live []kinds.LivePod
	before := objecttest.HeapInUse()
	for b.Loop() {
		server.Answers = nil
		var err error
		if live, err = reader.List(b.Context(), w); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(objecttest.HeapInUse()-before), "B-kept")
	b.ReportMetric(float64(len(server.Answers)), "requests/op")
	b.ReportMetric(float64(server.Largest()), "B-page")
	slices.Reverse(live) // still in use
}
