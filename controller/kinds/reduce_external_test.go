package kinds_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubernetes-deployment-restart-controller/catalog/annotation"
	"kubernetes-deployment-restart-controller/catalog/content"
	"kubernetes-deployment-restart-controller/catalog/optin"
	"kubernetes-deployment-restart-controller/controller/controllertest"
	"kubernetes-deployment-restart-controller/controller/kinds"
	"kubernetes-deployment-restart-controller/controller/objecttest"
)

func TestAConfigIsReducedToItsChecksums(t *testing.T) {
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "tls", ResourceVersion: "7", Annotations: map[string]string{"a": "copy of canary"}},
		Data:       map[string][]byte{"key": []byte("canary")},
	}
	want := content.NewSecret(secret)
	got, err := controllertest.Reduce(secret, &optin.Rules{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(&kinds.Observation{ResourceVersion: "7", Config: &want}, got, cmp.AllowUnexported(kinds.Observation{}), cmpopts.IgnoreUnexported(annotation.Edit{})); diff != "" {
		t.Error(diff)
	}
}

func TestAWorkloadThatDidNotOptInIsReducedToItsName(t *testing.T) {
	early, late := metav1.NewTime(time.Unix(1, 0)), metav1.NewTime(time.Unix(2, 0))
	deployment := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{
		Namespace: "ns", Name: "web", ResourceVersion: "7",
		Annotations: map[string]string{annotation.EnabledAnnotation: "disabled"},
		ManagedFields: []metav1.ManagedFieldsEntry{
			{Manager: "helm", Time: &early},
			{Manager: "kubectl-edit", Time: &late},
			{Manager: "kube-controller-manager", Time: &late, Subresource: "status"},
		},
	}}
	want := &kinds.Observation{ResourceVersion: "7", Workload: &kinds.WorkloadObservation{Ref: objecttest.Web, OptIn: "disabled", LastWriter: "kubectl-edit", Choice: annotation.OptsOut}}
	got, err := controllertest.Reduce(deployment, &optin.Rules{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(kinds.Observation{}, kinds.WorkloadObservation{})); diff != "" {
		t.Error(diff)
	}
}

func TestALongValueThatDoesNotOptInIsShortened(t *testing.T) {
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{
		Namespace: "ns", Name: "web", Annotations: map[string]string{annotation.EnabledAnnotation: strings.Repeat("ä", 100<<10)},
	}}
	o, err := controllertest.Reduce(d, &optin.Rules{})
	if err != nil || len(o.Workload.OptIn) > kinds.LongestExcerpt+len("…") || !utf8.ValidString(o.Workload.OptIn) {
		t.Errorf("%q, %v", o.Workload.OptIn, err)
	}
}

func TestAWorkloadWithAVeryLongSelectorIsLeftAlone(t *testing.T) {
	meta := metav1.ObjectMeta{Namespace: "ns", Name: "web", Annotations: map[string]string{annotation.EnabledAnnotation: annotation.Enabled}}
	for _, c := range []struct {
		values int
		want   string
	}{
		{8_000, ""},
		{9_000, "its .spec.selector is longer than 16384 bytes"},
	} {
		selector := &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}, MatchExpressions: []metav1.LabelSelectorRequirement{
			{Key: "tier", Operator: metav1.LabelSelectorOpNotIn, Values: slices.Repeat([]string{"x"}, c.values)},
		}}
		for _, object := range []any{
			&appsv1.Deployment{ObjectMeta: meta, Spec: appsv1.DeploymentSpec{Selector: selector}},
			&appsv1.StatefulSet{ObjectMeta: meta, Spec: appsv1.StatefulSetSpec{Selector: selector}},
			&appsv1.DaemonSet{ObjectMeta: meta, Spec: appsv1.DaemonSetSpec{Selector: selector}},
		} {
			o, err := controllertest.Reduce(object, &optin.Rules{})
			if err != nil {
				t.Fatal(err)
			}
			problem := o.Workload.Problem
			if isUsable := o.Workload.Workload != nil; isUsable != (c.want == "") || problem == nil != isUsable || problem != nil && problem.Text != c.want {
				t.Errorf("a %T with %d values: usable %t, with the problem %+v", object, c.values, isUsable, problem)
			}
		}
	}
}

func TestAnObjectThatCannotBeReadSaysSo(t *testing.T) {
	broken := &appsv1.StatefulSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "db", Annotations: map[string]string{annotation.EnabledAnnotation: annotation.Enabled}},
		Spec: appsv1.StatefulSetSpec{Selector: &metav1.LabelSelector{
			MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "a", Operator: "Near"}},
		}},
	}
	for _, object := range []any{broken, &corev1.Pod{}} {
		if o, err := controllertest.Reduce(object, &optin.Rules{}); err == nil || o != nil {
			t.Errorf("%T: got %+v, %v", object, o, err)
		}
	}
}

func TestTheTemplateOfAControllerRevisionIsThatOfItsWorkload(t *testing.T) {
	template := corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "db"}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "db", Image: "db:1"}}},
	}
	set := &appsv1.StatefulSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "db", UID: "u", Annotations: map[string]string{annotation.EnabledAnnotation: annotation.Enabled}},
		Spec:       appsv1.StatefulSetSpec{Template: template},
	}
	w := controllertest.WorkloadOf(t, set)
	revision := &appsv1.ControllerRevision{}
	for patch, want := range map[string]bool{
		`{"spec":{"template":{"$patch":"replace","metadata":{"creationTimestamp":null,"labels":{"app":"db"}},"spec":{"containers":[{"name":"db","image":"db:1","resources":{}}]}}}}`: true,
		`{"spec":{"template":{"$patch":"replace","metadata":{"creationTimestamp":null,"labels":{"app":"db"}},"spec":{"containers":[{"name":"db","image":"db:2","resources":{}}]}}}}`: false,
	} {
		revision.Data.Raw = []byte(patch)
		got, err := kinds.TemplateOf(revision)
		if err != nil {
			t.Fatal(err)
		}
		if kinds.IsMadeFrom(&w, got) != want {
			t.Errorf("%s: want %v", patch, want)
		}
	}
	revision.Data.Raw = []byte("{")
	if _, err := kinds.TemplateOf(revision); err == nil || !strings.Contains(err.Error(), "controllerrevision") || errors.Unwrap(err) == nil {
		t.Errorf("broken revision: %v", err)
	}
	revision.Data.Raw = []byte(`{"spec":{"template":{"spec":{"containers":[{"resources":{"limits":{"cpu":"1e-2147483648"}}}]}}}}`)
	if _, err := kinds.TemplateOf(revision); err == nil || !strings.Contains(err.Error(), "quantity") {
		t.Errorf("revision that takes long to decode: %v", err)
	}
}
