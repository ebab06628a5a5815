package catalog

import (
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestADeploymentIsReducedToWhatMatters(t *testing.T) {
	d := deployment(readsKey("web", "color", true))
	d.Spec.Selector.MatchExpressions = []metav1.LabelSelectorRequirement{
		{Key: "tier", Operator: metav1.LabelSelectorOpIn, Values: []string{"b", "a"}},
	}
	d.Spec.Paused = true
	template, _ := fingerprints(&d.Spec.Template)
	d.Spec.Template.Annotations = map[string]string{TimestampAnnotation: "now"}
	writeRecord(d, Checksums{configMapRef("web"): 1}, noonPlus(10))
	podTemplate, _ := fingerprints(&d.Spec.Template)
	want := Workload{
		Ref: deploymentRef("web"), UID: "uid-1", ResourceVersion: "1",
		Selector: "app=web,tier in (a,b)",
		Template: template, PodTemplate: podTemplate, Timestamp: "now",
		References: []Reference{{
			Config: configMapRef("web"), Keys: Selection{Names: []string{"color"}, DataOnly: true}, Container: "app", Optional: true,
		}},
		Applied: AppliedState{Checksums: Checksums{configMapRef("web"): 1}, Trusted: true},
		Room:    int32(annotationsLimit - annotationsReserve - len(EnabledAnnotation) - len(Enabled)),
		Hold:    Paused, OptedIn: noon,
	}
	if diff := cmp.Diff(want, mustWorkload(d), untimed); diff != "" {
		t.Errorf("workload (-want +got):\n%s", diff)
	}
}

func TestAWorkloadMayHaveAGracePeriodOfItsOwn(t *testing.T) {
	for text, want := range map[string]*time.Duration{
		"2m": pointer(2 * time.Minute), "0s": pointer(time.Duration(0)), "0": pointer(time.Duration(0)), "1h1.5s": pointer(time.Hour + 1500*time.Millisecond),
		"90": pointer(90 * time.Second), "": nil, "-1s": nil, "-1": nil, "soon": nil, "2 m": nil, "9999999999h": nil,
	} {
		t.Run(text, func(t *testing.T) {
			d := deployment(readsAll("web", false))
			d.Annotations[GracePeriodAnnotation] = text
			w := mustWorkload(d)
			if diff := cmp.Diff(want, w.GracePeriod); diff != "" {
				t.Errorf("grace period (-want +got):\n%s", diff)
			}
			if (w.Problem != "") != (want == nil) {
				t.Errorf("problem: %q", w.Problem)
			}
		})
	}
	if w := mustWorkload(deployment(readsAll("web", false))); w.GracePeriod != nil || w.Problem != "" {
		t.Errorf("without the annotation: %v, problem %q", w.GracePeriod, w.Problem)
	}
}

func TestAGracePeriodOfMoreThanADayIsADayAndSaysSo(t *testing.T) {
	for text, isTooLong := range map[string]bool{"24h": false, "86400": false, "24h1s": true, "876000h": true} {
		d := deployment(readsAll("web", false))
		d.Annotations[GracePeriodAnnotation] = text
		w := mustWorkload(d)
		if got := w.Grace(time.Second); got != 24*time.Hour || (w.Problem != "") != isTooLong {
			t.Errorf("%s: %s, problem %q", text, got, w.Problem)
		}
	}
}

// The owner has to learn about an invalid grace period, and waiting changes may
// wait for too long.
func TestAnotherGracePeriodCallsForADecision(t *testing.T) {
	c := New()
	d := deployment(readsAll("web", false))
	c.ObserveWorkload(mustWorkload(d))
	for i, test := range []struct {
		text string
		want bool
	}{{"soon", true}, {"soon", false}, {"later", true}, {"2m", true}, {"120s", false}, {"1m", true}, {"soon", true}} {
		d.Annotations[GracePeriodAnnotation] = test.text
		d.ResourceVersion = strconv.Itoa(i + 2)
		if got := c.ObserveWorkload(mustWorkload(d)); got != test.want {
			t.Errorf("%s: calls for a decision: %t, want %t", test.text, got, test.want)
		}
	}
}

func TestAWorkloadWithAnInvalidSelectorCannotBeRead(t *testing.T) {
	d := deployment(readsAll("web", false))
	d.Spec.Selector.MatchExpressions = []metav1.LabelSelectorRequirement{{Key: "a", Operator: "Like"}}
	if w, err := NewWorkload(Deployment, partsOf(d)); err == nil {
		t.Errorf("selector %q", w.Selector)
	}
}

func TestOnlyTheExactAnnotationOptsIn(t *testing.T) {
	for value, want := range map[string]bool{"enabled": true, "Enabled": false, "true": false, "": false, "disabled": false} {
		if got := IsEnabled(&metav1.ObjectMeta{Annotations: map[string]string{EnabledAnnotation: value}}); got != want {
			t.Errorf("%q: %v", value, got)
		}
	}
	if IsEnabled(&metav1.ObjectMeta{}) {
		t.Error("enabled without annotations")
	}
}

func TestAWorkloadNamesEachConfigOnce(t *testing.T) {
	d := deployment(corev1.Container{
		Name: "app", EnvFrom: append(readsAll("b", false).EnvFrom, readsAll("a", false).EnvFrom...), Env: readsKey("b", "k", true).Env,
	})
	w := mustWorkload(d)
	want := []ConfigRef{configMapRef("a"), configMapRef("b")}
	if diff := cmp.Diff(want, w.Configs()); diff != "" {
		t.Errorf("configs (-want +got):\n%s", diff)
	}
	if w.Ref.String() != "deployment/ns/web" {
		t.Errorf("name %s", w.Ref)
	}
}

func TestARefOfAWorkloadOfAnyKindIsReadFromItsText(t *testing.T) {
	for text, want := range map[string]WorkloadRef{
		"deployment/ns/web":           {Deployment, "ns", "web"},
		"StatefulSet/ns/web":          {StatefulSet, "ns", "web"},
		"rollouts.argoproj.io/ns/web": {"rollouts.argoproj.io", "ns", "web"},
		"Rollouts.Argoproj.io/ns/web": {"rollouts.argoproj.io", "ns", "web"},
		"a.b/ns/web":                  {"a.b", "ns", "web"},
	} {
		got, found := ParseWorkloadRef(text)
		if !found || got != want {
			t.Errorf("%q: got %v (%t), want %v", text, got, found, want)
		}
		if again, found := ParseWorkloadRef(got.String()); !found || again != want {
			t.Errorf("%q: read again as %v (%t)", text, again, found)
		}
	}
	for _, text := range []string{"", "/", "pod/ns/web", "rollouts/ns/web", "rollouts./ns/web", ".io/ns/web", "a_b.c/ns/web", "a.b/ns/", "a.b//web", "a.b/ns", "a.b/ns/web/more"} {
		if got, found := ParseWorkloadRef(text); found {
			t.Errorf("%q is read as %v", text, got)
		}
	}
}

func TestANamespaceHasWorkloadsOfAnyKind(t *testing.T) {
	for _, kind := range []WorkloadKind{Deployment, StatefulSet, DaemonSet, "rollouts.argoproj.io"} {
		c := New()
		if c.HasWorkloads("ns") {
			t.Error("an empty catalog has workloads")
		}
		c.ObserveWorkload(Workload{Ref: WorkloadRef{kind, "ns", "web"}, ResourceVersion: "1"})
		if !c.HasWorkloads("ns") || c.HasWorkloads("other") {
			t.Errorf("%s: in its namespace %t, in another one %t", kind, c.HasWorkloads("ns"), c.HasWorkloads("other"))
		}
		c.ForgetWorkload(WorkloadRef{kind, "ns", "web"})
		if c.HasWorkloads("ns") {
			t.Errorf("%s: one that is gone is still there", kind)
		}
	}
}
