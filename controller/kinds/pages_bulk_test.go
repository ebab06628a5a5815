//go:build !race

package kinds_test

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
	"kubernetes-deployment-restart-controller/controller/controllertest"
	"kubernetes-deployment-restart-controller/controller/kinds"
	"kubernetes-deployment-restart-controller/controller/objecttest"
	"kubernetes-deployment-restart-controller/internal/apiclient"
)

func TestRevisionsAreReadInPagesOfWhichOnlyNamesAreKept(t *testing.T) {
	controller := true
	w := objecttest.AgentReadingItsEnvironment()
	w.Ref.Kind = names.Deployment
	present := corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "agent:2"}}}}
	w.PodTemplate = record.RevisionFingerprint(&present)
	const sets = 300
	server := &controllertest.ListServer{Lists: map[string]objecttest.MadeList{"replicasets": {Total: sets, Make: func(from, to int) apiclient.Page {
		list := &appsv1.ReplicaSetList{TypeMeta: metav1.TypeMeta{Kind: "ReplicaSetList", APIVersion: "apps/v1"}}
		for i := from; i < to; i++ {
			rs := appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{
				Name: fmt.Sprint(i), UID: objecttest.UIDOf(i), OwnerReferences: []metav1.OwnerReference{{UID: objecttest.Agent, Controller: &controller}},
			}}
			rs.Spec.Template = *present.DeepCopy()
			if i != 7 {
				rs.Spec.Template.Annotations = map[string]string{"padding": strings.Repeat("x", 250*kibibyte)}
			}
			list.Items = append(list.Items, rs)
		}
		return list
	}}}}
	reader := server.Reader(t)
	before := objecttest.HeapInUse()
	isPresent, err := kinds.KindOfWorkload(w.Ref.Kind).Revisions.Present(reader, t.Context(), w)
	if err != nil {
		t.Fatal(err)
	}
	if kept := objecttest.HeapInUse() - before; kept > 64*kibibyte {
		t.Errorf("%d bytes are kept", kept)
	}
	if largest := server.Largest(); largest > apiclient.MaxPageBytes+1 {
		t.Errorf("a page of %d bytes was taken in", largest)
	}
	if isPresent(kinds.Origin{Controller: objecttest.UIDOf(6)}) || !isPresent(kinds.Origin{Controller: objecttest.UIDOf(7)}) {
		t.Error("another ReplicaSet than the one of the present template is taken for it")
	}
}

func TestThousandsOfPodsAreReadInPagesAndLittleOfThemIsKept(t *testing.T) {
	const pods = 5000
	server := &controllertest.ListServer{Lists: map[string]objecttest.MadeList{"pods": daemonPods(pods, 20*kibibyte, secondOf)}}
	reader := server.Reader(t)
	before := objecttest.HeapInUse()
	live, err := reader.List(t.Context(), objecttest.AgentReadingItsEnvironment())
	if err != nil {
		t.Fatal(err)
	}
	kept := objecttest.HeapInUse() - before
	if len(live) != pods || len(live[pods-1].Started) != 1 || live[pods-1].Controller != objecttest.Agent || live[pods-1].Revision != "b" {
		t.Fatalf("%d pods, the last one is %+v", len(live), live[len(live)-1])
	}
	if kept > 2<<20 {
		t.Errorf("%d bytes are kept", kept)
	}
	if largest := server.Largest(); largest > apiclient.MaxPageBytes+1 {
		t.Errorf("a page of %d bytes was taken in", largest)
	}
	if len(server.Answers) > 160 {
		t.Errorf("%d requests", len(server.Answers))
	}
	t.Logf("%d requests, %d bytes are kept", len(server.Answers), kept)
	runtime.KeepAlive(live)
}

// A user who creates pods can make the first ones small and the others as large as possible.
func TestAPageIsBoundInBytesWhateverTheObjectsAre(t *testing.T) {
	const small, large = 1000, 40
	tiny, huge := daemonPods(small, 0, secondOf), daemonPods(large, 1400*kibibyte, secondOf)
	server := &controllertest.ListServer{Lists: map[string]objecttest.MadeList{"pods": {Total: small + large, Make: func(from, to int) apiclient.Page {
		list := tiny.Make(from, min(to, small)).(*corev1.PodList)
		more := huge.Make(max(from-small, 0), max(to-small, 0)).(*corev1.PodList)
		list.Items = append(list.Items, more.Items...)
		return list
	}}}}
	live, err := server.Reader(t).List(t.Context(), objecttest.AgentReadingItsEnvironment())
	if err != nil || len(live) != small+large {
		t.Fatalf("%d pods, %v", len(live), err)
	}
	if largest := server.Largest(); largest > apiclient.MaxPageBytes+1 {
		t.Errorf("a page of %d bytes was taken in", largest)
	}
	if len(server.Answers) > 60 {
		t.Errorf("%d requests: %+v", len(server.Answers), server.Answers)
	}
}

// A user who may create pods can give each of them a thousand containers that read their
// environment.
func TestLittleIsKeptOfPodsWithVeryManyContainers(t *testing.T) {
	const pods, containers = 200, 1000
	w, names := objecttest.AgentReadingItsEnvironment(), make([]string, containers)
	for i := range containers {
		names[i] = fmt.Sprintf("c%03d", i)
		w.References = append(w.References, template.Reference{Container: names[i], Channel: template.Environment})
	}
	few := daemonPods(pods, 0, secondOf)
	server := &controllertest.ListServer{Lists: map[string]objecttest.MadeList{"pods": {Total: pods, Make: func(from, to int) apiclient.Page {
		list := few.Make(from, to).(*corev1.PodList)
		for i := range list.Items {
			status := &list.Items[i].Status
			running := status.ContainerStatuses[0].State
			for _, name := range names {
				status.ContainerStatuses = append(status.ContainerStatuses, corev1.ContainerStatus{Name: name, State: running})
			}
		}
		return list
	}}}}
	reader := server.Reader(t)
	before := objecttest.HeapInUse()
	live, err := reader.List(t.Context(), w)
	if err != nil || len(live) != pods {
		t.Fatalf("%d pods, %v", len(live), err)
	}
	kept := objecttest.HeapInUse() - before
	if kept > pods*kibibyte {
		t.Errorf("%d bytes are kept", kept)
	}
	t.Logf("%d bytes are kept", kept)
	runtime.KeepAlive(live)
}
