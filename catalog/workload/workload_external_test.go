package workload_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubernetes-deployment-restart-controller/catalog/annotation"
	"kubernetes-deployment-restart-controller/catalog/catalogtest"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/objecttest"
	"kubernetes-deployment-restart-controller/catalog/workload"
)

func TestAWorkloadMayHaveAGracePeriodOfItsOwn(t *testing.T) {
	for text, want := range map[string]*time.Duration{
		"2m": objecttest.Pointer(2 * time.Minute), "0s": objecttest.Pointer(time.Duration(0)), "0": objecttest.Pointer(time.Duration(0)), "1h1.5s": objecttest.Pointer(time.Hour + 1500*time.Millisecond),
		"90": objecttest.Pointer(90 * time.Second), "": nil, "-1s": nil, "-1": nil, "soon": nil, "2 m": nil, "9999999999h": nil,
	} {
		t.Run(text, func(t *testing.T) {
			d := objecttest.Deployment(objecttest.ReadsAll("web", false))
			d.Annotations[annotation.GracePeriodAnnotation] = text
			w := catalogtest.MustWorkload(d)
			var got *time.Duration
			if own, isOwn := w.GracePeriod.Own(); isOwn {
				got = &own
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("grace period (-want +got):\n%s", diff)
			}
			if (w.GracePeriod.Problem != "") != (want == nil) {
				t.Errorf("problem: %q", w.GracePeriod.Problem)
			}
		})
	}
	if w := catalogtest.MustWorkload(objecttest.Deployment(objecttest.ReadsAll("web", false))); w.GracePeriod != nil {
		t.Errorf("without the annotation: %+v", w.GracePeriod)
	}
}

func TestAGracePeriodOfMoreThanADayIsADayAndSaysSo(t *testing.T) {
	for text, isTooLong := range map[string]bool{"24h": false, "86400": false, "24h1s": true, "876000h": true} {
		d := objecttest.Deployment(objecttest.ReadsAll("web", false))
		d.Annotations[annotation.GracePeriodAnnotation] = text
		w := catalogtest.MustWorkload(d)
		if got := w.GracePeriod.Or(time.Second); got != 24*time.Hour || (w.GracePeriod.Problem != "") != isTooLong {
			t.Errorf("%s: %s, problem %q", text, got, w.GracePeriod.Problem)
		}
	}
}

func TestAWorkloadWithAnInvalidSelectorCannotBeRead(t *testing.T) {
	d := objecttest.Deployment(objecttest.ReadsAll("web", false))
	d.Spec.Selector.MatchExpressions = []metav1.LabelSelectorRequirement{{Key: "a", Operator: "Like"}}
	if w, err := workload.NewWorkload(names.Deployment, catalogtest.PartsOf(d)); err == nil {
		t.Errorf("selector %q", w.Selector)
	}
}

func TestAWorkloadNamesEachConfigOnce(t *testing.T) {
	d := objecttest.Deployment(corev1.Container{
		Name: "app", EnvFrom: append(objecttest.ReadsAll("b", false).EnvFrom, objecttest.ReadsAll("a", false).EnvFrom...), Env: objecttest.ReadsKey("b", "k", true).Env,
	})
	w := catalogtest.MustWorkload(d)
	want := []names.ConfigRef{objecttest.ConfigMapRef("a"), objecttest.ConfigMapRef("b")}
	if diff := cmp.Diff(want, w.Configs()); diff != "" {
		t.Errorf("configs (-want +got):\n%s", diff)
	}
	if w.Ref.String() != "deployment/ns/web" {
		t.Errorf("name %s", w.Ref)
	}
}
