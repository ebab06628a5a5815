package controller

import (
	"fmt"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"kubernetes-deployment-restart-controller/catalog"
)

func TestPodsOfAnEarlierRevisionDoNotCountAndThoseOfAnUnknownOneDo(t *testing.T) {
	set := &appsv1.DaemonSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "agent", UID: "u"},
		Spec: appsv1.DaemonSetSpec{Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
			Containers: []corev1.Container{{Name: "main", Image: "agent:2"}},
		}}},
	}
	w, err := catalog.NewDaemonSet(set)
	if err != nil {
		t.Fatal(err)
	}
	meta := func(owner types.UID, hash string) metav1.ObjectMeta {
		controller := set.DeepCopy()
		controller.UID = owner
		return metav1.ObjectMeta{
			Name: "agent-" + hash, Labels: map[string]string{appsv1.ControllerRevisionHashLabelKey: hash},
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(controller, appsv1.SchemeGroupVersion.WithKind("DaemonSet"))},
		}
	}
	revision := func(owner types.UID, hash, image string) appsv1.ControllerRevision {
		r := appsv1.ControllerRevision{ObjectMeta: meta(owner, hash)}
		r.Data.Raw = fmt.Appendf(nil, `{"spec":{"template":{"$patch":"replace","spec":{"containers":[{"name":"main","image":%q}]}}}}`, image)
		return r
	}
	earlier, present := revision("u", "a", "agent:1"), revision("u", "b", "agent:2")
	for name, test := range map[string]struct {
		revisions []appsv1.ControllerRevision
		pod       metav1.ObjectMeta
		want      bool
	}{
		"of the present template":                   {[]appsv1.ControllerRevision{earlier, present}, meta("u", "b"), true},
		"of an earlier one":                         {[]appsv1.ControllerRevision{earlier, present}, meta("u", "a"), false},
		"the revision is gone":                      {nil, meta("u", "b"), true},
		"the revision is that of a former workload": {[]appsv1.ControllerRevision{revision("former", "b", "agent:2")}, meta("u", "b"), true},
		"the pod is a former workload's":            {[]appsv1.ControllerRevision{present}, meta("former", "b"), false},
		"the pod has no label":                      {[]appsv1.ControllerRevision{earlier}, metav1.ObjectMeta{OwnerReferences: meta("u", "").OwnerReferences}, true},
		"the revision of a StatefulSet, which has no hash": {[]appsv1.ControllerRevision{{
			ObjectMeta: metav1.ObjectMeta{Name: "a", OwnerReferences: earlier.OwnerReferences}, Data: earlier.Data,
		}}, meta("u", "a"), false},
	} {
		t.Run(name, func(t *testing.T) {
			counts, err := ofNoEarlierRevision(&w, test.revisions)
			if err != nil {
				t.Fatal(err)
			}
			if got := counts(&corev1.Pod{ObjectMeta: test.pod}); got != test.want {
				t.Errorf("counts: %t", got)
			}
		})
	}
	if _, err := ofNoEarlierRevision(&w, []appsv1.ControllerRevision{{}}); err == nil {
		t.Error("a revision that cannot be read is no error")
	}
}
