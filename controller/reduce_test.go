package controller

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
	"kubernetes-deployment-restart-controller/catalog/workload"
)

func TestAConfigIsReducedToItsChecksums(t *testing.T) {
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "tls", ResourceVersion: "7", Annotations: map[string]string{"a": "copy of canary"}},
		Data:       map[string][]byte{"key": []byte("canary")},
	}
	want := content.NewSecret(secret)
	got, err := reduce(secret, &optin.Rules{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(&observation{resourceVersion: "7", config: &want}, got, cmp.AllowUnexported(observation{}), cmpopts.IgnoreUnexported(annotation.Edit{})); diff != "" {
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
	want := &observation{resourceVersion: "7", workload: &workloadObservation{ref: web, optIn: "disabled", lastWriter: "kubectl-edit", choice: annotation.OptsOut}}
	got, err := reduce(deployment, &optin.Rules{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(observation{}, workloadObservation{})); diff != "" {
		t.Error(diff)
	}
}

func TestALongValueThatDoesNotOptInIsShortened(t *testing.T) {
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{
		Namespace: "ns", Name: "web", Annotations: map[string]string{annotation.EnabledAnnotation: strings.Repeat("ä", 100<<10)},
	}}
	o, err := reduce(d, &optin.Rules{})
	if err != nil || len(o.workload.optIn) > longestExcerpt+len("…") || !utf8.ValidString(o.workload.optIn) {
		t.Errorf("%q, %v", o.workload.optIn, err)
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
			o, err := reduce(object, &optin.Rules{})
			if err != nil {
				t.Fatal(err)
			}
			problem := o.workload.problem
			if isUsable := o.workload.workload != nil; isUsable != (c.want == "") || problem == nil != isUsable || problem != nil && problem.text != c.want {
				t.Errorf("a %T with %d values: usable %t, with the problem %+v", object, c.values, isUsable, problem)
			}
		}
	}
}

// Requirements without values make the text long, too.
func TestEachRequirementCountsAsPartOfALongSelector(t *testing.T) {
	for count, isUsable := range map[int]bool{800: true, 2000: false} {
		exists := metav1.LabelSelectorRequirement{Key: "a", Operator: metav1.LabelSelectorOpExists}
		selector := &metav1.LabelSelector{MatchExpressions: slices.Repeat([]metav1.LabelSelectorRequirement{exists}, count)}
		if problem := workload.SelectorProblem(selector); (problem == "") != isUsable {
			t.Errorf("with %d requirements, the problem is %q", count, problem)
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
		if o, err := reduce(object, &optin.Rules{}); err == nil || o != nil {
			t.Errorf("%T: got %+v, %v", object, o, err)
		}
	}
}

func TestEachResourceVersionIsCountedOnce(t *testing.T) {
	count := 0
	counter := versionCounter{inc: func() { count++ }}
	see := func(versions ...string) {
		for _, version := range versions {
			counter.count(version)
		}
	}
	see("5", "3", "4") // a list is in no order
	counter.advance("5")
	see("6")
	counter.advance("6")
	see("3", "4", "5", "6", "7") // listed again
	if count != 5 {
		t.Errorf("counted %d distinct versions, want 5", count)
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
	w := workloadOf(t, set)
	revision := &appsv1.ControllerRevision{}
	for patch, want := range map[string]bool{
		`{"spec":{"template":{"$patch":"replace","metadata":{"creationTimestamp":null,"labels":{"app":"db"}},"spec":{"containers":[{"name":"db","image":"db:1","resources":{}}]}}}}`: true,
		`{"spec":{"template":{"$patch":"replace","metadata":{"creationTimestamp":null,"labels":{"app":"db"}},"spec":{"containers":[{"name":"db","image":"db:2","resources":{}}]}}}}`: false,
	} {
		revision.Data.Raw = []byte(patch)
		got, err := templateOf(revision)
		if err != nil {
			t.Fatal(err)
		}
		if isMadeFrom(&w, got) != want {
			t.Errorf("%s: want %v", patch, want)
		}
	}
	revision.Data.Raw = []byte("{")
	if _, err := templateOf(revision); err == nil || !strings.Contains(err.Error(), "controllerrevision") || errors.Unwrap(err) == nil {
		t.Errorf("broken revision: %v", err)
	}
	revision.Data.Raw = []byte(`{"spec":{"template":{"spec":{"containers":[{"resources":{"limits":{"cpu":"1e-2147483648"}}}]}}}}`)
	if _, err := templateOf(revision); err == nil || !strings.Contains(err.Error(), "quantity") {
		t.Errorf("revision that takes long to decode: %v", err)
	}
}
