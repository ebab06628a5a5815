package workload_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"kubernetes-deployment-restart-controller/catalog/annotation"
	"kubernetes-deployment-restart-controller/catalog/catalogtest"
	"kubernetes-deployment-restart-controller/catalog/dialect"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/objecttest"
	"kubernetes-deployment-restart-controller/catalog/optin"
	"kubernetes-deployment-restart-controller/catalog/policy"
	"kubernetes-deployment-restart-controller/catalog/template"
	"kubernetes-deployment-restart-controller/catalog/workload"
)

const waveSecrets = "wave.pusher.com/extra-secrets"

func TestWavesAnnotationsSayWhatTheySayToWave(t *testing.T) {
	for name, test := range map[string]struct {
		own  objecttest.Annotations
		want objecttest.Understood
	}{
		"the opt-in":             {objecttest.Annotations{objecttest.WaveOptIn: "true"}, objecttest.Understood{Choice: annotation.OptsIn}},
		"another value":          {objecttest.Annotations{objecttest.WaveOptIn: "yes"}, objecttest.Understood{}},
		"extra without opt-in":   {objecttest.Annotations{objecttest.WaveConfigMaps: "a"}, objecttest.Understood{}},
		"extra configs":          {objecttest.Annotations{objecttest.WaveOptIn: "true", objecttest.WaveConfigMaps: "a, other/b,ns/c", waveSecrets: "s"}, objecttest.Understood{Choice: annotation.OptsIn, Also: "configmap/a,configmap/c,configmap/other/b,secret/s"}},
		"what cannot be a name":  {objecttest.Annotations{objecttest.WaveOptIn: "true", objecttest.WaveConfigMaps: "a/b/c,d"}, objecttest.Understood{Choice: annotation.OptsIn, Also: "configmap/d", Problem: `annotation wave.pusher.com/extra-configmaps: "a/b/c" is neither a name nor a namespace and a name, so it does not count`}},
		"what Reloader says":     {objecttest.Annotations{objecttest.Auto: "true"}, objecttest.Understood{}},
		"its own opt-out":        {objecttest.Annotations{objecttest.WaveOptIn: "true", annotation.EnabledAnnotation: "no"}, objecttest.Understood{Choice: annotation.OptsOut}},
		"no pattern":             {objecttest.Annotations{objecttest.WaveOptIn: "true", objecttest.WaveConfigMaps: "a*"}, objecttest.Understood{Choice: annotation.OptsIn, Problem: `annotation wave.pusher.com/extra-configmaps: "a*" is neither a name nor a namespace and a name, so it does not count`}},
		"a name that is missing": {objecttest.Annotations{objecttest.WaveOptIn: "true", waveSecrets: "other/"}, objecttest.Understood{Choice: annotation.OptsIn, Problem: `annotation wave.pusher.com/extra-secrets: "other/" is neither a name nor a namespace and a name, so it does not count`}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := catalogtest.UnderstandDeployment(&optin.Rules{Dialects: []optin.Dialect{optin.Wave}}, test.own, nil); got != test.want {
				t.Errorf("understood\n%+v, want\n%+v", got, test.want)
			}
		})
	}
}

func TestWhatNobodyAskedToUnderstandMeansNothing(t *testing.T) {
	own := objecttest.Annotations{objecttest.Auto: "true", objecttest.WaveOptIn: "true"}
	if got := catalogtest.UnderstandDeployment(&optin.Rules{}, own, own); got != (objecttest.Understood{}) {
		t.Errorf("understood %+v", got)
	}
}

func TestOnlyADeploymentHasAPausePeriod(t *testing.T) {
	rules := optin.Rules{Dialects: []optin.Dialect{optin.Reloader}}
	parts := dialect.Understand(&rules, names.StatefulSet, workload.Parts{
		Meta: &metav1.ObjectMeta{Annotations: objecttest.Annotations{objecttest.Auto: "true", objecttest.PausePeriod: "5m"}}, Template: &corev1.PodTemplateSpec{},
	})
	if grace := parts.Meta.Annotations[annotation.GracePeriodAnnotation]; grace != "" {
		t.Errorf("a StatefulSet has the grace period %s", grace)
	}
}

func TestTooManyNamesMakeMoreCountAndAreReported(t *testing.T) {
	names := make([]string, 0, 20_000)
	for i := range cap(names) {
		names = append(names, fmt.Sprintf("c%04d", i))
	}
	list := strings.Join(names, ",") // more than 100 KiB
	for name, own := range map[string]objecttest.Annotations{
		"named":    {objecttest.ConfigMapNamed: list},
		"patterns": {objecttest.ConfigMapNamed: strings.ReplaceAll(list, ",", ".*,")},
		"excluded": {objecttest.Auto: "true", objecttest.ConfigMapExcluded: list},
		"extra":    {objecttest.WaveOptIn: "true", objecttest.WaveConfigMaps: list},
	} {
		t.Run(name, func(t *testing.T) {
			got := catalogtest.UnderstandDeployment(&optin.Rules{Dialects: []optin.Dialect{optin.Reloader, optin.Wave}}, own, nil)
			if got.Choice != annotation.OptsIn || got.Only != "" {
				t.Errorf("it limits what counts to %.100q", got.Only)
			}
			if len(got.Problem) > 500 || !strings.Contains(got.Problem, "too many names") {
				t.Errorf("the problem is %.600q", got.Problem)
			}
		})
	}
}

func TestUnderstandingDoesNotChangeTheWorkload(t *testing.T) {
	meta := &metav1.ObjectMeta{Annotations: objecttest.Annotations{objecttest.Auto: "true", objecttest.PausePeriod: "5m"}}
	rules := optin.Rules{Dialects: []optin.Dialect{optin.Reloader}}
	dialect.Understand(&rules, names.Deployment, workload.Parts{Meta: meta, Template: &corev1.PodTemplateSpec{}})
	if len(meta.Annotations) != 2 {
		t.Errorf("its annotations are now %v", meta.Annotations)
	}
}

func TestAWorkloadIsEnabledSinceItsOwnerWroteTheAnnotationOfAnotherTool(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	fields := metav1.FieldsV1{}
	fields.SetRawBytes([]byte(`{"f:metadata":{"f:annotations":{"f:` + objecttest.SecretNamed + `":{}}}}`))
	meta := &metav1.ObjectMeta{
		Annotations:   objecttest.Annotations{objecttest.SecretNamed: "s", objecttest.Auto: "false"},
		ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "helm", Time: &metav1.Time{Time: at}, FieldsV1: &fields}},
	}
	rules := optin.Rules{Dialects: []optin.Dialect{optin.Reloader}}
	parts := dialect.Understand(&rules, names.Deployment, workload.Parts{Meta: meta, Template: &corev1.PodTemplateSpec{}})
	if want := (policy.Understood{By: "reloader", Since: at}); parts.Understood != want {
		t.Errorf("understood %+v, want %+v", parts.Understood, want)
	}
}

func TestTheToolsWhoseAnnotationsDecideAreNamed(t *testing.T) {
	for want, own := range map[string]objecttest.Annotations{
		"":                  {annotation.EnabledAnnotation: annotation.Enabled, objecttest.Auto: "true", objecttest.WaveOptIn: "true"},
		"reloader":          {objecttest.Auto: "false", objecttest.WaveOptIn: "no"},
		"wave":              {objecttest.Auto: "false", objecttest.WaveOptIn: "true"},
		"reloader and wave": {objecttest.Auto: "true", objecttest.WaveOptIn: "true"},
	} {
		rules := optin.Rules{Dialects: []optin.Dialect{optin.Reloader, optin.Wave}}
		parts := dialect.Understand(&rules, names.Deployment, workload.Parts{Meta: &metav1.ObjectMeta{Annotations: own}, Template: &corev1.PodTemplateSpec{}})
		if got := parts.Understood.By; got != want {
			t.Errorf("%v: %q, want %q", own, got, want)
		}
	}
}

func TestWhateverOtherToolsAnnotationsSayCanBeUsed(t *testing.T) {
	listed := []string{objecttest.Auto, objecttest.Search, objecttest.ConfigMapAuto, objecttest.SecretAuto, objecttest.ConfigMapNamed, objecttest.SecretNamed, objecttest.ConfigMapExcluded, objecttest.SecretExcluded, objecttest.PausePeriod, objecttest.WaveOptIn, objecttest.WaveConfigMaps, waveSecrets}
	value := rapid.OneOf(
		rapid.SampledFrom([]string{"", "true", "false", "5m"}), rapid.String(),
		rapid.StringMatching(`([a-c.*+?|,/\\^$()-]|\.\*|\.\+){0,30}`),
	)
	rapid.Check(t, func(t *rapid.T) {
		said := rapid.MapOfN(rapid.SampledFrom(listed), value, 0, len(listed))
		rules := optin.Rules{ByDefault: rapid.Bool().Draw(t, "by default"), Dialects: []optin.Dialect{optin.Reloader, optin.Wave}}
		parts := dialect.Understand(&rules, names.Deployment, workload.Parts{
			Meta:     &metav1.ObjectMeta{Namespace: "ns", Annotations: said.Draw(t, "annotations")},
			Template: &corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Annotations: said.Draw(t, "annotations of the template")}},
		})
		r := annotation.PolicyReader{Annotations: parts.Meta.Annotations}
		filter := template.ReadFilter(&r)
		if len(r.Problems) > 0 || !filter.IsUsable() {
			t.Errorf("%v: %+v", r.Problems, filter)
		}
		if w, err := workload.NewWorkload(names.Deployment, &parts); err != nil || w.GracePeriod.ProblemWith("") != "" {
			t.Error(w.GracePeriod.ProblemWith(""), err)
		}
	})
}

func TestReloadersStrategyForArgoRolloutsIsAMethod(t *testing.T) {
	const strategy = "reloader.stakater.com/rollout-strategy"
	for name, test := range map[string]struct {
		kind names.WorkloadKind
		own  objecttest.Annotations
		want string
	}{
		"a restart":                    {"rollouts.argoproj.io", objecttest.Annotations{objecttest.Auto: "true", strategy: "restart"}, "evict"},
		"a restart, with our opt-in":   {"rollouts.argoproj.io", objecttest.Annotations{annotation.EnabledAnnotation: annotation.Enabled, strategy: "restart"}, "evict"},
		"a rollout":                    {"rollouts.argoproj.io", objecttest.Annotations{objecttest.Auto: "true", strategy: "rollout"}, ""},
		"another value":                {"rollouts.argoproj.io", objecttest.Annotations{objecttest.Auto: "true", strategy: "other"}, ""},
		"nothing":                      {"rollouts.argoproj.io", objecttest.Annotations{objecttest.Auto: "true"}, ""},
		"its own method":               {"rollouts.argoproj.io", objecttest.Annotations{objecttest.Auto: "true", strategy: "restart", annotation.MethodAnnotation: "other"}, "other"},
		"a Deployment, as in Reloader": {names.Deployment, objecttest.Annotations{objecttest.Auto: "true", strategy: "restart"}, ""},
	} {
		parts := workload.Parts{
			Meta:     &metav1.ObjectMeta{Namespace: "ns", Name: "web", Annotations: test.own},
			Template: &corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Annotations: objecttest.Annotations{strategy: "restart"}}},
		}
		if test.kind != names.Deployment {
			parts.Rollout.OwnRestart = workload.ReplacesPods
		}
		rules := optin.Rules{Dialects: []optin.Dialect{optin.Wave, optin.Reloader}}
		if got := dialect.Understand(&rules, test.kind, parts).Meta.Annotations[annotation.MethodAnnotation]; got != test.want {
			t.Errorf("%s: method %q, want %q", name, got, test.want)
		}
	}
}
