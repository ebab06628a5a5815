package custom

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestAKindIsReadFromItsText(t *testing.T) {
	for text, want := range map[string]Kind{
		"rollouts.v1alpha1.argoproj.io":                     {"rollouts", "v1alpha1", "argoproj.io", []string{"spec", "template"}},
		"gadgets.v1.example.com=.spec.jobTemplate.template": {"gadgets", "v1", "example.com", []string{"spec", "jobTemplate", "template"}},
		"clonesets.v1beta1.apps.kruise.io":                  {"clonesets", "v1beta1", "apps.kruise.io", []string{"spec", "template"}},
		"a.v1.b":                                            {"a", "v1", "b", []string{"spec", "template"}},
	} {
		got, err := ParseKind(text)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", text, err, diff)
		}
		if got.String() != text {
			t.Errorf("%s is written as %s", text, got)
		}
	}
	kind, _ := ParseKind("rollouts.v1alpha1.argoproj.io=.spec.template")
	if got := kind.String(); got != "rollouts.v1alpha1.argoproj.io" {
		t.Errorf("the usual path is written in %s", got)
	}
	if got := kind.Name(); got != "rollouts.argoproj.io" {
		t.Errorf("its name is %s", got)
	}
}

func TestAWrongKindIsOneClearMessage(t *testing.T) {
	for text, want := range map[string]string{
		"":                                          "is not a kind of workload; write RESOURCE.VERSION.GROUP",
		"rollouts":                                  "is not a kind of workload",
		"rollouts.argoproj.io":                      "is not a kind of workload",
		"Rollouts.v1.argoproj.io":                   "is not a kind of workload",
		"rollouts.v1.argo_proj":                     "is not a kind of workload",
		"rollouts.v1.":                              "is not a kind of workload",
		"gadgets.v1.b=":                             "is not the path of a pod template",
		"gadgets.v1.b=spec.template":                "is not the path of a pod template",
		"gadgets.v1.b=.template":                    "is not the path of a pod template",
		"gadgets.v1.b=.status.template":             "is not the path of a pod template",
		"gadgets.v1.b=.spec..template":              "is not the path of a pod template",
		"gadgets.v1.b=.spec.a[0].b":                 "is not the path of a pod template",
		"deployments.v1.apps":                       "deployments.apps are watched anyway",
		"replicasets.v1.apps":                       "ask for the kind that makes them",
		"cronjobs.v1.batch":                         "each run reads the configs anew",
		"rollouts.v1alpha1.argoproj.io=.spec.other": "have their pod template at .spec.template",
		strings.Repeat("x", 100_000):                "is not a kind of workload",
	} {
		_, err := ParseKind(text)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") || len(err.Error()) > 400 {
			t.Errorf("%.100q: got %v, want %q", text, err, want)
		}
	}
}

func TestKindsAreFewAndEachIsThereOnce(t *testing.T) {
	if _, err := ParseKinds([]string{"a.v1.b", "a.v2.b=.spec.x"}); err == nil || !strings.Contains(err.Error(), "a.b is there twice") {
		t.Errorf("the same kind twice: %v", err)
	}
	var many []string
	for i := range MaxKinds + 1 {
		many = append(many, "a"+strings.Repeat("x", i)+".v1.b")
	}
	if _, err := ParseKinds(many); err == nil || !strings.Contains(err.Error(), "11 kinds, more than 10") {
		t.Errorf("too many: %v", err)
	}
	if kinds, err := ParseKinds(many[1:]); err != nil || len(kinds) != MaxKinds {
		t.Errorf("%d kinds, %v", len(kinds), err)
	}
}

func FuzzAKindIsReadAsItIsWritten(f *testing.F) {
	for _, seed := range []string{"rollouts.v1alpha1.argoproj.io", "a.v1.b=.spec.c.d", "=", "a.v1.b="} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		kind, err := ParseKind(text)
		if err != nil {
			return
		}
		again, err := ParseKind(kind.String())
		if diff := cmp.Diff(kind, again); diff != "" || err != nil {
			t.Errorf("%q is read as %s, and that: %v\n%s", text, kind, err, diff)
		}
	})
}
