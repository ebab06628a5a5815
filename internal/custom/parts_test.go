package custom

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"kubernetes-deployment-restart-controller/catalog/workload"
)

const template = `"template": {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "app", "image": "i"}]}}`

// object is one with this spec and status, in the second generation.
func object(t testing.TB, spec, status string) *Object {
	t.Helper()
	o := &Object{}
	text := `{"apiVersion": "example.com/v1", "kind": "Gadget", "metadata": {"namespace": "ns", "name": "web", "generation": 2},
		"spec": {` + spec + `}, "status": {` + status + `}}`
	if err := utiljson.Unmarshal([]byte(text), o); err != nil {
		t.Fatal(err, text)
	}
	return o
}

func kindOf(t testing.TB, text string) Kind {
	t.Helper()
	kind, err := ParseKind(text)
	if err != nil {
		t.Fatal(err)
	}
	return kind
}

const selector = `"selector": {"matchLabels": {"app": "web"}}`

func TestAKindWithoutAPresetHasThePartsThatEveryWorkloadHas(t *testing.T) {
	gadgets := kindOf(t, "gadgets.v1.example.com")
	type parts struct {
		Problem, App string
		Idle         bool
		Hold         workload.Hold
		Rollout      workload.Rollout
	}
	byPods := func(n int32) workload.Rollout { return workload.Rollout{ByPods: true, Wanted: n, Deadline: 120} }
	for name, c := range map[string]struct {
		spec string
		want parts
	}{
		"one that says nothing":         {selector + "," + template, parts{App: "web", Rollout: byPods(1)}},
		"one with replicas":             {selector + "," + template + `, "replicas": 3`, parts{App: "web", Rollout: byPods(3)}},
		"one that wants none":           {selector + "," + template + `, "replicas": 0`, parts{App: "web", Idle: true, Rollout: byPods(0)}},
		"one that is paused":            {selector + "," + template + `, "paused": true`, parts{App: "web", Hold: workload.Paused, Rollout: byPods(1)}},
		"one with replicas of its own":  {selector + "," + template + `, "replicas": "three", "paused": "no"`, parts{App: "web", Rollout: byPods(1)}},
		"one with a map as a selector":  {`"selector": {"app": "web"},` + template, parts{App: "web", Rollout: byPods(1)}},
		"one with a slow start of pods": {selector + "," + template + `, "minReadySeconds": 60`, parts{App: "web", Rollout: workload.Rollout{ByPods: true, Wanted: 1, Deadline: 180}}},
	} {
		got := gadgets.Parts(object(t, c.spec, ""))
		have := parts{Problem: got.Problem, Idle: got.Idle, Hold: got.Hold, Rollout: got.Rollout}
		if got.Template != nil && got.Selector != nil && got.Selector.MatchLabels["app"] == got.Template.Labels["app"] {
			have.App = got.Template.Labels["app"]
		}
		if diff := cmp.Diff(c.want, have); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestASelectorMayBeATextOfTheStatus(t *testing.T) {
	for _, field := range []string{"selector", "labelSelector"} {
		got := kindOf(t, "gadgets.v1.example.com").Parts(object(t, template, `"`+field+`": "app=web,tier in (a,b)"`))
		want := &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}, MatchExpressions: []metav1.LabelSelectorRequirement{
			{Key: "tier", Operator: metav1.LabelSelectorOpIn, Values: []string{"a", "b"}},
		}}
		if diff := cmp.Diff(want, got.Selector); diff != "" {
			t.Errorf("%s: %s (-want +got):\n%s", field, got.Problem, diff)
		}
	}
}

func TestATemplateIsFoundByItsPath(t *testing.T) {
	gadgets := kindOf(t, "gadgets.v1.example.com=.spec.jobTemplate.template")
	got := gadgets.Parts(object(t, selector+`, "jobTemplate": {`+template+`}`, ""))
	if got.Problem != "" || got.Template.Labels["app"] != "web" {
		t.Errorf("parts: %+v", got)
	}
	got = gadgets.Parts(object(t, selector+","+template, ""))
	if want := "it has no pod template at .spec.jobTemplate.template"; got.Problem != want {
		t.Errorf("without one there: %q, want %q", got.Problem, want)
	}
}

// No content of an object is repeated: a Secret may have been pasted into the wrong place.
func TestABadObjectIsOneClearProblem(t *testing.T) {
	const canary = "c4n4ry"
	for spec, want := range map[string]string{
		selector:                                      "it has no pod template at .spec.template",
		selector + `, "template": null`:               "it has no pod template at .spec.template",
		selector + `, "template": {}`:                 "is not a pod template: it has no containers",
		selector + `, "template": "` + canary + `"`:   ".spec.template is not a pod template: it is not an object",
		selector + `, "template": ["` + canary + `"]`: "is not a pod template",
		selector + `, "template": {"spec": {"containers": "` + canary + `"}}`:                                       `is not a pod template: its field "spec.containers" is not a list`,
		selector + `, "template": {"spec": {"containers": [{"env": [{"name": "A", "value": 45454545}]}]}}`:          `value" is not a text`,
		selector + `, "template": {"spec": {"containers": [{"resources": {"limits": {"cpu": "` + canary + `"}}}]}}`: "is not a pod template",
		selector + `, "template": {"spec": {"containers": [{"resources": {"limits": {"cpu": "1e-2147483648"}}}]}}`:  `is not a pod template: its field "limits" has a quantity`,
		selector + `, "template": {"spec": {"containers": [` + strings.Repeat("{},", 20_000) + `{}]}}`:              "it has too many values",
		selector + `, "template": ` + strings.Repeat(`{"a":`, 100) + `1` + strings.Repeat("}", 100):                 "it is nested too deeply",
		template:                      "it has no .spec.selector",
		template + `, "selector": {}`: "selects all pods of the namespace",
		template + `, "selector": {"matchExpressions": [{"key": "a", "operator": "NotIn", "values": ["b"` + strings.Repeat(`, "c"`, 10_000) + `]}]}`: "is longer than",
		template + `, "selector": []`:                                                                 "is not a label selector: it is not an object",
		template + `, "selector": "app=web"`:                                                          "is not a label selector",
		template + `, "selector": {"matchLabels": {"a b": "` + canary + `"}}`:                         "is no valid label selector",
		template + `, "selector": {"matchExpressions": [{"key": "a", "operator": "` + canary + `"}]}`: "is no valid label selector",
		template + `, "selector": {"app": "` + canary + ` ?"}`:                                        "is no valid label selector",
	} {
		got := kindOf(t, "gadgets.v1.example.com").Parts(object(t, spec, ""))
		switch {
		case !strings.Contains(got.Problem, want):
			t.Errorf("%s: got %q, want %q", spec, got.Problem, want)
		case strings.Contains(got.Problem, canary) || strings.Contains(got.Problem, "45454545") || strings.Contains(got.Problem, "\n"):
			t.Errorf("%s: the problem repeats content: %s", spec, got.Problem)
		}
	}
	if got := kindOf(t, "gadgets.v1.example.com").Parts(&Object{}); got.Problem != "it is in no namespace" {
		t.Errorf("of the cluster: %q", got.Problem)
	}
}

func FuzzNoObjectPanics(f *testing.F) {
	for _, seed := range []string{"{" + selector + "," + template + "}", "null", "[]", `{"selector": {"a": 1}, "template": {"spec": null}}`, `"x"`, "3"} {
		f.Add([]byte(seed), []byte(`{"observedGeneration": "2", "conditions": [null]}`))
	}
	kinds := []Kind{
		kindOf(f, "gadgets.v1.example.com"), kindOf(f, "gadgets.v1.example.com=.spec.a.b"), kindOf(f, "rollouts.v1alpha1.argoproj.io"), kindOf(f, "clonesets.v1alpha1.apps.kruise.io"),
		kindOf(f, "statefulsets.v1beta1.apps.kruise.io"), kindOf(f, "deploymentconfigs.v1.apps.openshift.io"),
	}
	f.Fuzz(func(t *testing.T, spec, status []byte) {
		if !json.Valid(spec) || !json.Valid(status) {
			t.Skip()
		}
		o := &Object{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "web"}, Spec: spec, Status: status}
		for _, kind := range kinds {
			parts := kind.Parts(o)
			if isUsable := parts.Template != nil && parts.Selector != nil; isUsable != (parts.Problem == "") {
				t.Errorf("%s: problem %q, usable %t", kind, parts.Problem, isUsable)
			}
			if _, err := workload.NewWorkload(kind.Name(), &parts); parts.Problem == "" && err != nil {
				t.Errorf("%s: %v", kind, err)
			}
			kind.Revision(o)
		}
	})
}

// The status of a preset has lists, too.
func TestAnObjectWithAVeryLongStatusIsRefused(t *testing.T) {
	long := `"conditions": [` + strings.Repeat("{},", 20_000) + `{}]`
	if got := kindOf(t, "rollouts.v1alpha1.argoproj.io").Parts(object(t, selector+","+template, long)); !strings.Contains(got.Problem, "too many values") {
		t.Errorf("problem: %q", got.Problem)
	}
	if _, err := Mount(object(t, "", strings.Replace(long, "conditions", "objects", 1))); err == nil || !strings.Contains(err.Error(), "ns/web: it has too many values") {
		t.Errorf("a mount: %v", err)
	}
}

func TestAnOutlineHasWhatShowsWhetherAnObjectIsEnabled(t *testing.T) {
	annotated := &corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{"a": "b"}}}
	for _, c := range []struct {
		spec string
		want *corev1.PodTemplateSpec
	}{
		{`"template": {"metadata": {"annotations": {"a": "b"}}}`, annotated},
		{`"template": {"metadata": {"annotations": {"a": "b"}, "labels": "none"}}`, annotated},
		{`"template": {"metadata": {"labels": {"a": "b"}}}`, &corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"a": "b"}}}},
		{"", &corev1.PodTemplateSpec{}},
		{`"template": {}, "list": [` + strings.Repeat("1,", 20_000) + `1]`, nil},
	} {
		o := object(t, c.spec, "")
		got := kindOf(t, "gadgets.v1.example.com").Outline(o)
		if diff := cmp.Diff(c.want, got.Template); diff != "" || got.Meta != &o.ObjectMeta || got.Problem == "" {
			t.Errorf("%.60s: problem %q (-want +got):\n%s", c.spec, got.Problem, diff)
		}
	}
}

// The API limits these names in the templates of its own kinds.
func TestATemplateWithNamesThatTheAPIWouldRefuseIsRefused(t *testing.T) {
	name := func(n int) string { return strings.Repeat("n", n) }
	gadgets := kindOf(t, "gadgets.v1.example.com")
	for about, c := range map[string]struct {
		longest int
		spec    func(name string) string
	}{
		"a container": {63, func(name string) string { return `"containers": [{"name": "` + name + `"}]` }},
		"an initContainer": {63, func(name string) string {
			return `"containers": [{"name": "app"}], "initContainers": [{"name": "` + name + `"}]`
		}},
		"a variable": {253, func(name string) string {
			return `"containers": [{"name": "app", "env": [{"name": "E", "valueFrom": {"configMapKeyRef": {"name": "c", "key": "` + name + `"}}}]}]`
		}},
		"a variable of a Secret": {253, func(name string) string {
			return `"containers": [{"name": "app", "env": [{"name": "E", "valueFrom": {"secretKeyRef": {"name": "c", "key": "` + name + `"}}}]}]`
		}},
		"a file": {253, func(name string) string {
			return `"containers": [{"name": "app"}], "volumes": [{"name": "v", "configMap": {"name": "c", "items": [{"key": "` + name + `", "path": "p"}]}}]`
		}},
		"a file of a Secret": {253, func(name string) string {
			return `"containers": [{"name": "app"}], "volumes": [{"name": "v", "secret": {"secretName": "c", "items": [{"key": "` + name + `", "path": "p"}]}}]`
		}},
		"a projected file": {253, func(name string) string {
			return `"containers": [{"name": "app"}], "volumes": [{"name": "v", "projected": {"sources": [{"configMap": {"name": "c", "items": [{"key": "` + name + `", "path": "p"}]}}]}}]`
		}},
	} {
		problem := func(length int) string {
			return gadgets.Parts(object(t, selector+`, "template": {"metadata": {"labels": {"app": "web"}}, "spec": {`+c.spec(name(length))+`}}`, "")).Problem
		}
		if got := problem(c.longest); got != "" {
			t.Errorf("%s with a name of %d bytes: %s", about, c.longest, got)
		}
		if got := problem(c.longest + 1); !strings.HasPrefix(got, ".spec.template is not a pod template: it has ") || len(got) > 200 {
			t.Errorf("%s with a longer name: %.300q", about, got)
		}
	}
}
