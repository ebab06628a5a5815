//go:build !race

package controller

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/record"
	"kubernetes-deployment-restart-controller/catalog/template"
	"kubernetes-deployment-restart-controller/internal/apiclient"
)

func TestRevisionsAreReadInPagesOfWhichOnlyNamesAreKept(t *testing.T) {
	controller := true
	w := agentReadingItsEnvironment()
	w.Ref.Kind = names.Deployment
	present := corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "agent:2"}}}}
	w.PodTemplate = record.RevisionFingerprint(&present)
	const sets = 300
	server := &listServer{lists: map[string]madeList{"replicasets": {sets, func(from, to int) apiclient.Page {
		list := &appsv1.ReplicaSetList{TypeMeta: metav1.TypeMeta{Kind: "ReplicaSetList", APIVersion: "apps/v1"}}
		for i := from; i < to; i++ {
			rs := appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{
				Name: fmt.Sprint(i), UID: uidOf(i), OwnerReferences: []metav1.OwnerReference{{UID: agent, Controller: &controller}},
			}}
			rs.Spec.Template = *present.DeepCopy()
			if i != 7 {
				rs.Spec.Template.Annotations = map[string]string{"padding": strings.Repeat("x", 250*kibibyte)}
			}
			list.Items = append(list.Items, rs)
		}
		return list
	}}}}
	reader := server.reader(t)
	before := heapInUse()
	isPresent, err := kindOfWorkload(w.Ref.Kind).revisions.present(reader, t.Context(), w)
	if err != nil {
		t.Fatal(err)
	}
	if kept := heapInUse() - before; kept > 64*kibibyte {
		t.Errorf("%d bytes are kept", kept)
	}
	if largest := server.largest(); largest > apiclient.MaxPageBytes+1 {
		t.Errorf("a page of %d bytes was taken in", largest)
	}
	if isPresent(origin{controller: uidOf(6)}) || !isPresent(origin{controller: uidOf(7)}) {
		t.Error("another ReplicaSet than the one of the present template is taken for it")
	}
}

func TestThousandsOfPodsAreReadInPagesAndLittleOfThemIsKept(t *testing.T) {
	const pods = 5000
	server := &listServer{lists: map[string]madeList{"pods": daemonPods(pods, 20*kibibyte, secondOf)}}
	reader := server.reader(t)
	before := heapInUse()
	live, err := reader.list(t.Context(), agentReadingItsEnvironment())
	if err != nil {
		t.Fatal(err)
	}
	kept := heapInUse() - before
	if len(live) != pods || len(live[pods-1].Started) != 1 || live[pods-1].controller != agent || live[pods-1].revision != "b" {
		t.Fatalf("%d pods, the last one is %+v", len(live), live[len(live)-1])
	}
	if kept > 2<<20 {
		t.Errorf("%d bytes are kept", kept)
	}
	if largest := server.largest(); largest > apiclient.MaxPageBytes+1 {
		t.Errorf("a page of %d bytes was taken in", largest)
	}
	if len(server.answers) > 160 {
		t.Errorf("%d requests", len(server.answers))
	}
	t.Logf("%d requests, %d bytes are kept", len(server.answers), kept)
	runtime.KeepAlive(live)
}

// A user who creates pods can make the first ones small and the others as large as possible.
func TestAPageIsBoundInBytesWhateverTheObjectsAre(t *testing.T) {
	const small, large = 1000, 40
	tiny, huge := daemonPods(small, 0, secondOf), daemonPods(large, 1400*kibibyte, secondOf)
	server := &listServer{lists: map[string]madeList{"pods": {small + large, func(from, to int) apiclient.Page {
		list := tiny.make(from, min(to, small)).(*corev1.PodList)
		more := huge.make(max(from-small, 0), max(to-small, 0)).(*corev1.PodList)
		list.Items = append(list.Items, more.Items...)
		return list
	}}}}
	live, err := server.reader(t).list(t.Context(), agentReadingItsEnvironment())
	if err != nil || len(live) != small+large {
		t.Fatalf("%d pods, %v", len(live), err)
	}
	if largest := server.largest(); largest > apiclient.MaxPageBytes+1 {
		t.Errorf("a page of %d bytes was taken in", largest)
	}
	if len(server.answers) > 60 {
		t.Errorf("%d requests: %+v", len(server.answers), server.answers)
	}
}

// A user who may create pods can give each of them a thousand containers that read their
// environment.
func TestLittleIsKeptOfPodsWithVeryManyContainers(t *testing.T) {
	const pods, containers = 200, 1000
	w, names := agentReadingItsEnvironment(), make([]string, containers)
	for i := range containers {
		names[i] = fmt.Sprintf("c%03d", i)
		w.References = append(w.References, template.Reference{Container: names[i], Channel: template.Environment})
	}
	few := daemonPods(pods, 0, secondOf)
	server := &listServer{lists: map[string]madeList{"pods": {pods, func(from, to int) apiclient.Page {
		list := few.make(from, to).(*corev1.PodList)
		for i := range list.Items {
			status := &list.Items[i].Status
			running := status.ContainerStatuses[0].State
			for _, name := range names {
				status.ContainerStatuses = append(status.ContainerStatuses, corev1.ContainerStatus{Name: name, State: running})
			}
		}
		return list
	}}}}
	reader := server.reader(t)
	before := heapInUse()
	live, err := reader.list(t.Context(), w)
	if err != nil || len(live) != pods {
		t.Fatalf("%d pods, %v", len(live), err)
	}
	kept := heapInUse() - before
	if kept > pods*kibibyte {
		t.Errorf("%d bytes are kept", kept)
	}
	t.Logf("%d bytes are kept", kept)
	runtime.KeepAlive(live)
}
