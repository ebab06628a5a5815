package catalog

import (
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"
)

const (
	auto, configMapAuto, secretAuto   = "reloader.stakater.com/auto", "configmap.reloader.stakater.com/auto", "secret.reloader.stakater.com/auto"
	configMapNamed, secretNamed       = "configmap.reloader.stakater.com/reload", "secret.reloader.stakater.com/reload"
	configMapExcluded, secretExcluded = "configmaps.exclude.reloader.stakater.com/reload", "secrets.exclude.reloader.stakater.com/reload"
	search                            = "reloader.stakater.com/search"
	pausePeriod                       = "deployment.reloader.stakater.com/pause-period"
	waveOptIn, waveConfigMaps         = "wave.pusher.com/update-on-config-change", "wave.pusher.com/extra-configmaps"
	waveSecrets                       = "wave.pusher.com/extra-secrets"
)

// understood is what a workload says in its own annotations after those of other tools were understood.
type understood struct {
	choice             Choice
	only, ignore, also string
	grace, problem     string
	marked             Kinds
}

func understandDeployment(rules *OptInRules, own, template map[string]string) understood {
	parts := rules.Understand(Deployment, Parts{
		Meta:     &metav1.ObjectMeta{Namespace: "ns", Name: "web", Annotations: own},
		Template: &corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Annotations: template}},
	})
	says := parts.Meta.Annotations
	return understood{ChoiceOf(parts.Meta), says[OnlyAnnotation], says[IgnoreAnnotation], says[AlsoAnnotation], says[GracePeriodAnnotation], parts.Understood.Problem, parts.Understood.Marked}
}

type annotations = map[string]string

func TestReloadersAnnotationsSayWhatTheySayToReloader(t *testing.T) {
	for name, test := range map[string]struct {
		own, template annotations
		byDefault     bool
		want          understood
	}{
		"nothing":                     {},
		"auto":                        {own: annotations{auto: "true"}, want: understood{choice: OptsIn}},
		"auto in another spelling":    {own: annotations{auto: "1"}, want: understood{choice: OptsIn}},
		"auto that is no truth value": {own: annotations{auto: "yes"}, want: understood{choice: OptsOut}},
		"auto on the pod template":    {template: annotations{auto: "true"}, want: understood{choice: OptsIn}},
		"the workload before the template": {
			own: annotations{auto: "false"}, template: annotations{auto: "true"}, want: understood{choice: OptsOut},
		},
		"each kind from where it is said": {
			own: annotations{configMapNamed: "a"}, template: annotations{secretAuto: "true"},
			want: understood{choice: OptsIn, only: "configmap/a,secret/*", also: "configmap/a"},
		},
		"ConfigMaps only": {own: annotations{configMapAuto: "true"}, want: understood{choice: OptsIn, only: "configmap/*"}},
		"Secrets only":    {own: annotations{secretAuto: "true"}, want: understood{choice: OptsIn, only: "secret/*"}},
		"both kinds":      {own: annotations{configMapAuto: "true", secretAuto: "true"}, want: understood{choice: OptsIn}},
		"auto for one kind although not for all": {
			own: annotations{auto: "false", secretAuto: "true"}, want: understood{choice: OptsIn, only: "secret/*"},
		},
		"named": {
			own:  annotations{configMapNamed: " a, b.c ,", secretNamed: "s"},
			want: understood{choice: OptsIn, only: "configmap/a,configmap/b.c,secret/s", also: "configmap/a,configmap/b.c,secret/s"},
		},
		"named on the pod template": {template: annotations{secretNamed: "s"}, want: understood{choice: OptsIn, only: "secret/s", also: "secret/s"}},
		"named besides all of its kind": {
			own: annotations{auto: "true", configMapNamed: "a"}, want: understood{choice: OptsIn, also: "configmap/a"},
		},
		"named although not all": {
			own: annotations{auto: "false", configMapNamed: "a"}, want: understood{choice: OptsIn, only: "configmap/a", also: "configmap/a"},
		},
		"marked":                      {own: annotations{search: "true"}, want: understood{choice: OptsIn, marked: bothKinds}},
		"marked, on the pod template": {template: annotations{search: "true"}, want: understood{choice: OptsIn, marked: bothKinds}},
		"marked on the pod template, but only where the workload says nothing": {
			own: annotations{secretAuto: "false"}, template: annotations{search: "true"}, want: understood{choice: OptsIn, marked: 1 << ConfigMap},
		},
		"marked on the pod template, and named by the workload": {
			own: annotations{configMapNamed: "a"}, template: annotations{search: "true"},
			want: understood{choice: OptsIn, only: "configmap/a", also: "configmap/a", marked: 1 << Secret},
		},
		"marked, in another spelling": {own: annotations{search: "1"}},
		"everything, whether marked":  {own: annotations{search: "true", auto: "true"}, want: understood{choice: OptsIn}},
		"marked, or of one kind":      {own: annotations{search: "true", secretAuto: "true"}, want: understood{choice: OptsIn, only: "secret/*", marked: bothKinds}},
		"marked, or named":            {own: annotations{search: "true", configMapNamed: "a,b.*"}, want: understood{choice: OptsIn, only: "configmap/a,configmap/b*", also: "configmap/a", marked: bothKinds}},
		"marked, but all by default":  {byDefault: true, own: annotations{search: "true"}, want: understood{choice: OptsIn}},
		"an empty list":               {own: annotations{configMapNamed: " , "}},
		"patterns": {
			own:  annotations{configMapNamed: "app-.*, .*-tls, web.+, ^x|y$"},
			want: understood{choice: OptsIn, only: "configmap/*-tls,configmap/app-*,configmap/web?*,configmap/x,configmap/y", also: "configmap/x,configmap/y"},
		},
		"a pattern that globs cannot express": {
			own: annotations{configMapNamed: "app-[0-9]+,a"},
			want: understood{
				choice: OptsIn, only: "configmap/*,configmap/a", also: "configmap/a",
				problem: `annotation configmap.reloader.stakater.com/reload: cannot use the pattern "app-[0-9]+": of regular expressions, only .*, .+ and a|b can be used; everything of this kind counts that the containers read`,
			},
		},
		"excluded": {
			own:  annotations{auto: "true", configMapExcluded: "a,b", secretExcluded: "s"},
			want: understood{choice: OptsIn, ignore: "configmap/a,configmap/b,secret/s"},
		},
		"excluded by a pattern, which Reloader does not know": {
			own:  annotations{auto: "true", configMapExcluded: "a.*"},
			want: understood{choice: OptsIn, problem: `annotation configmaps.exclude.reloader.stakater.com/reload: cannot use the name "a.*": it is a pattern, not a name, so it is not excluded`},
		},
		"only the workload excludes": {template: annotations{auto: "true", configMapExcluded: "a"}, want: understood{choice: OptsIn}},
		"a pause":                    {own: annotations{auto: "true", pausePeriod: "5m"}, want: understood{choice: OptsIn, grace: "5m"}},
		"a pause that is no time": {
			own:  annotations{auto: "true", pausePeriod: "5 minutes"},
			want: understood{choice: OptsIn, problem: `annotation deployment.reloader.stakater.com/pause-period: "5 minutes" is not a duration such as 90s, 2m or 1h30m, so it counts as absent`},
		},
		"a pause of more than a day": {
			own:  annotations{auto: "true", pausePeriod: "30h"},
			want: understood{choice: OptsIn, grace: "24h0m0s", problem: `annotation deployment.reloader.stakater.com/pause-period: "30h" is longer than a day; 24h0m0s is used instead`},
		},
		"all by default":                        {byDefault: true, own: annotations{configMapNamed: "a"}, want: understood{choice: OptsIn, also: "configmap/a"}},
		"all by default but one kind":           {byDefault: true, own: annotations{secretAuto: "false"}, want: understood{ignore: "secret/*"}},
		"all by default but an opt-out":         {byDefault: true, own: annotations{auto: "false"}, want: understood{choice: OptsOut}},
		"all by default but an excluded one":    {byDefault: true, own: annotations{configMapExcluded: "a"}, want: understood{ignore: "configmap/a"}},
		"one kind by default, names of another": {byDefault: true, own: annotations{configMapAuto: "false", configMapNamed: "a"}, want: understood{choice: OptsIn, only: "configmap/a,secret/*", also: "configmap/a"}},
		"its own choice":                        {own: annotations{EnabledAnnotation: "disabled", auto: "true"}, want: understood{choice: OptsOut}},
		"its own choice to count":               {own: annotations{EnabledAnnotation: Enabled, auto: "false"}, want: understood{choice: OptsIn}},
		"its own filter": {
			own:  annotations{IgnoreAnnotation: "configmap/x", search: "true", configMapNamed: "a", configMapExcluded: "b"},
			want: understood{choice: OptsIn, ignore: "configmap/x"},
		},
		"its own grace period": {own: annotations{auto: "true", pausePeriod: "5m", GracePeriodAnnotation: "1s"}, want: understood{choice: OptsIn, grace: "1s"}},
		"what wave says":       {own: annotations{waveOptIn: "true"}},
	} {
		t.Run(name, func(t *testing.T) {
			got := understandDeployment(&OptInRules{ByDefault: test.byDefault, Dialects: []Dialect{Reloader}}, test.own, test.template)
			if got != test.want {
				t.Errorf("understood\n%+v, want\n%+v", got, test.want)
			}
		})
	}
}

func TestWavesAnnotationsSayWhatTheySayToWave(t *testing.T) {
	for name, test := range map[string]struct {
		own  annotations
		want understood
	}{
		"the opt-in":             {annotations{waveOptIn: "true"}, understood{choice: OptsIn}},
		"another value":          {annotations{waveOptIn: "yes"}, understood{}},
		"extra without opt-in":   {annotations{waveConfigMaps: "a"}, understood{}},
		"extra configs":          {annotations{waveOptIn: "true", waveConfigMaps: "a, other/b,ns/c", waveSecrets: "s"}, understood{choice: OptsIn, also: "configmap/a,configmap/c,configmap/other/b,secret/s"}},
		"what cannot be a name":  {annotations{waveOptIn: "true", waveConfigMaps: "a/b/c,d"}, understood{choice: OptsIn, also: "configmap/d", problem: `annotation wave.pusher.com/extra-configmaps: "a/b/c" is neither a name nor a namespace and a name, so it does not count`}},
		"what Reloader says":     {annotations{auto: "true"}, understood{}},
		"its own opt-out":        {annotations{waveOptIn: "true", EnabledAnnotation: "no"}, understood{choice: OptsOut}},
		"no pattern":             {annotations{waveOptIn: "true", waveConfigMaps: "a*"}, understood{choice: OptsIn, problem: `annotation wave.pusher.com/extra-configmaps: "a*" is neither a name nor a namespace and a name, so it does not count`}},
		"a name that is missing": {annotations{waveOptIn: "true", waveSecrets: "other/"}, understood{choice: OptsIn, problem: `annotation wave.pusher.com/extra-secrets: "other/" is neither a name nor a namespace and a name, so it does not count`}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := understandDeployment(&OptInRules{Dialects: []Dialect{Wave}}, test.own, nil); got != test.want {
				t.Errorf("understood\n%+v, want\n%+v", got, test.want)
			}
		})
	}
}

func TestWhatNobodyAskedToUnderstandMeansNothing(t *testing.T) {
	own := annotations{auto: "true", waveOptIn: "true"}
	if got := understandDeployment(&OptInRules{}, own, own); got != (understood{}) {
		t.Errorf("understood %+v", got)
	}
}

func TestOnlyADeploymentHasAPausePeriod(t *testing.T) {
	rules := OptInRules{Dialects: []Dialect{Reloader}}
	parts := rules.Understand(StatefulSet, Parts{
		Meta: &metav1.ObjectMeta{Annotations: annotations{auto: "true", pausePeriod: "5m"}}, Template: &corev1.PodTemplateSpec{},
	})
	if grace := parts.Meta.Annotations[GracePeriodAnnotation]; grace != "" {
		t.Errorf("a StatefulSet has the grace period %s", grace)
	}
}

func TestTooManyNamesMakeMoreCountAndAreReported(t *testing.T) {
	names := make([]string, 0, 20_000)
	for i := range cap(names) {
		names = append(names, fmt.Sprintf("c%04d", i))
	}
	list := strings.Join(names, ",") // more than 100 KiB
	for name, own := range map[string]annotations{
		"named":    {configMapNamed: list},
		"patterns": {configMapNamed: strings.ReplaceAll(list, ",", ".*,")},
		"excluded": {auto: "true", configMapExcluded: list},
		"extra":    {waveOptIn: "true", waveConfigMaps: list},
	} {
		t.Run(name, func(t *testing.T) {
			got := understandDeployment(&OptInRules{Dialects: []Dialect{Reloader, Wave}}, own, nil)
			if got.choice != OptsIn || got.only != "" {
				t.Errorf("it limits what counts to %.100q", got.only)
			}
			if len(got.problem) > 500 || !strings.Contains(got.problem, "too many names") {
				t.Errorf("the problem is %.600q", got.problem)
			}
		})
	}
}

// Workloads are taken in one after the other, so a large one delays all others.
func TestUnderstandingALongListCostsNoMoreThanAShorterOne(t *testing.T) {
	rules := OptInRules{Dialects: []Dialect{Reloader, Wave}}
	for _, list := range []string{"a,", "(,", "a|", ".*"} {
		for _, name := range []string{configMapNamed, configMapExcluded, waveConfigMaps} {
			allocations := func(bytes int) float64 {
				own := annotations{name: strings.Repeat(list, bytes/len(list)), waveOptIn: "true"}
				return testing.AllocsPerRun(1, func() { understandDeployment(&rules, own, nil) })
			}
			if long, short := allocations(250_000), allocations(longestList); long > short+100 {
				t.Errorf("%s of %q: %v allocations, %v for a shorter list", name, list, long, short)
			}
		}
	}
}

// It does not restart, which its owner must learn if it is enabled. There may be no pod template to read.
func TestAWorkloadThatCannotBeRestartedIsEnabledByOtherToolsAllTheSame(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	fields := metav1.FieldsV1{}
	fields.SetRawBytes([]byte(`{"f:metadata":{"f:annotations":{"f:` + auto + `":{}}}}`))
	managed := []metav1.ManagedFieldsEntry{{Manager: "helm", Time: &metav1.Time{Time: at}, FieldsV1: &fields}}
	templateOf := func(said annotations) *corev1.PodTemplateSpec {
		return &corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Annotations: said}}
	}
	rules := OptInRules{Dialects: []Dialect{Reloader, Wave}}
	for name, test := range map[string]struct {
		own      annotations
		template *corev1.PodTemplateSpec
		want     Choice
		says     Understood
	}{
		"nothing":                        {},
		"auto":                           {own: annotations{auto: "true", pausePeriod: "soon", configMapExcluded: "a"}, want: OptsIn, says: Understood{By: "reloader", Since: at}},
		"an opt-out":                     {own: annotations{auto: "false"}, want: OptsOut, says: Understood{By: "reloader"}},
		"wave":                           {own: annotations{waveOptIn: "true"}, want: OptsIn, says: Understood{By: "wave"}},
		"only how long to wait":          {own: annotations{pausePeriod: "5m"}},
		"its own opt-out":                {own: annotations{auto: "true", EnabledAnnotation: "no"}, want: OptsOut},
		"auto on a template that it has": {template: templateOf(annotations{auto: "true"}), want: OptsIn, says: Understood{By: "reloader"}},
		"its own word before that":       {own: annotations{auto: "false"}, template: templateOf(annotations{auto: "true"}), want: OptsOut, says: Understood{By: "reloader"}},
		"what wave leaves on a template": {template: templateOf(annotations{waveHash: "0"})},
	} {
		t.Run(name, func(t *testing.T) {
			meta := &metav1.ObjectMeta{Annotations: test.own, ManagedFields: managed}
			parts := rules.Understand("rollouts.argoproj.io", Parts{Meta: meta, Template: test.template, Problem: "it has none"})
			if got := ChoiceOf(parts.Meta); got != test.want || parts.Understood != test.says {
				t.Errorf("its choice is %d, understood %+v, want %d and %+v", got, parts.Understood, test.want, test.says)
			}
			if parts.Problem != "it has none" || parts.Template != test.template || len(meta.Annotations) != len(test.own) {
				t.Errorf("it has changed: %+v", parts)
			}
		})
	}
}

func TestUnderstandingDoesNotChangeTheWorkload(t *testing.T) {
	meta := &metav1.ObjectMeta{Annotations: annotations{auto: "true", pausePeriod: "5m"}}
	rules := OptInRules{Dialects: []Dialect{Reloader}}
	rules.Understand(Deployment, Parts{Meta: meta, Template: &corev1.PodTemplateSpec{}})
	if len(meta.Annotations) != 2 {
		t.Errorf("its annotations are now %v", meta.Annotations)
	}
}

func TestAWorkloadIsEnabledSinceItsOwnerWroteTheAnnotationOfAnotherTool(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	fields := metav1.FieldsV1{}
	fields.SetRawBytes([]byte(`{"f:metadata":{"f:annotations":{"f:` + secretNamed + `":{}}}}`))
	meta := &metav1.ObjectMeta{
		Annotations:   annotations{secretNamed: "s", auto: "false"},
		ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "helm", Time: &metav1.Time{Time: at}, FieldsV1: &fields}},
	}
	rules := OptInRules{Dialects: []Dialect{Reloader}}
	parts := rules.Understand(Deployment, Parts{Meta: meta, Template: &corev1.PodTemplateSpec{}})
	if want := (Understood{By: "reloader", Since: at}); parts.Understood != want {
		t.Errorf("understood %+v, want %+v", parts.Understood, want)
	}
}

func TestTheToolsWhoseAnnotationsDecideAreNamed(t *testing.T) {
	for want, own := range map[string]annotations{
		"":                  {EnabledAnnotation: Enabled, auto: "true", waveOptIn: "true"},
		"reloader":          {auto: "false", waveOptIn: "no"},
		"wave":              {auto: "false", waveOptIn: "true"},
		"reloader and wave": {auto: "true", waveOptIn: "true"},
	} {
		rules := OptInRules{Dialects: []Dialect{Reloader, Wave}}
		parts := rules.Understand(Deployment, Parts{Meta: &metav1.ObjectMeta{Annotations: own}, Template: &corev1.PodTemplateSpec{}})
		if got := parts.Understood.By; got != want {
			t.Errorf("%v: %q, want %q", own, got, want)
		}
	}
}

func TestWhateverOtherToolsAnnotationsSayCanBeUsed(t *testing.T) {
	names := []string{auto, search, configMapAuto, secretAuto, configMapNamed, secretNamed, configMapExcluded, secretExcluded, pausePeriod, waveOptIn, waveConfigMaps, waveSecrets}
	value := rapid.OneOf(
		rapid.SampledFrom([]string{"", "true", "false", "5m"}), rapid.String(),
		rapid.StringMatching(`([a-c.*+?|,/\\^$()-]|\.\*|\.\+){0,30}`),
	)
	rapid.Check(t, func(t *rapid.T) {
		said := rapid.MapOfN(rapid.SampledFrom(names), value, 0, len(names))
		rules := OptInRules{ByDefault: rapid.Bool().Draw(t, "by default"), Dialects: []Dialect{Reloader, Wave}}
		parts := rules.Understand(Deployment, Parts{
			Meta:     &metav1.ObjectMeta{Namespace: "ns", Annotations: said.Draw(t, "annotations")},
			Template: &corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Annotations: said.Draw(t, "annotations of the template")}},
		})
		r := policyReader{annotations: parts.Meta.Annotations}
		filter := r.filter()
		if len(r.problems) > 0 || !filter.isUsable() {
			t.Errorf("%v: %+v", r.problems, filter)
		}
		if _, problem := readGracePeriod(parts.Meta); problem != "" {
			t.Error(problem)
		}
	})
}

// Each tool restarts a workload for the configs that it counts, whatever the other one says.
func TestWhatOneOfTwoToolsLetsCountCounts(t *testing.T) {
	for name, test := range map[string]struct {
		theirs, want map[string]string
	}{
		"one names configs, the other counts all": {
			map[string]string{"configmap.reloader.stakater.com/reload": "a", waveExtraSecrets: "s"},
			map[string]string{EnabledAnnotation: Enabled, AlsoAnnotation: "configmap/a,secret/s"},
		},
		"one counts what is marked": {
			map[string]string{"reloader.stakater.com/search": "true"}, map[string]string{EnabledAnnotation: Enabled},
		},
		"one says that it does not count": {
			map[string]string{"reloader.stakater.com/auto": "false"}, map[string]string{EnabledAnnotation: Enabled},
		},
		"one only excludes a config": {
			map[string]string{"configmaps.exclude.reloader.stakater.com/reload": "a"}, map[string]string{EnabledAnnotation: Enabled},
		},
		"one only sets a period": {
			map[string]string{"deployment.reloader.stakater.com/pause-period": "5m"},
			map[string]string{EnabledAnnotation: Enabled, GracePeriodAnnotation: "5m"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			rules := OptInRules{Dialects: []Dialect{Reloader, Wave}}
			meta := &metav1.ObjectMeta{Namespace: "n", Annotations: map[string]string{waveEnabled: "true"}}
			maps.Copy(meta.Annotations, test.theirs)
			parts := rules.Understand(Deployment, Parts{Meta: meta, Template: &corev1.PodTemplateSpec{}})
			got := maps.Clone(parts.Meta.Annotations)
			maps.DeleteFunc(got, func(name, _ string) bool { return meta.Annotations[name] != "" })
			if !maps.Equal(got, test.want) || parts.Understood.Marked != 0 {
				t.Errorf("it says %v, want %v", got, test.want)
			}
		})
	}
}

func TestReloadersStrategyForArgoRolloutsIsAMethod(t *testing.T) {
	const strategy = "reloader.stakater.com/rollout-strategy"
	for name, test := range map[string]struct {
		kind WorkloadKind
		own  annotations
		want string
	}{
		"a restart":                    {"rollouts.argoproj.io", annotations{auto: "true", strategy: "restart"}, "evict"},
		"a restart, with our opt-in":   {"rollouts.argoproj.io", annotations{EnabledAnnotation: Enabled, strategy: "restart"}, "evict"},
		"a rollout":                    {"rollouts.argoproj.io", annotations{auto: "true", strategy: "rollout"}, ""},
		"another value":                {"rollouts.argoproj.io", annotations{auto: "true", strategy: "other"}, ""},
		"nothing":                      {"rollouts.argoproj.io", annotations{auto: "true"}, ""},
		"its own method":               {"rollouts.argoproj.io", annotations{auto: "true", strategy: "restart", MethodAnnotation: "other"}, "other"},
		"a Deployment, as in Reloader": {Deployment, annotations{auto: "true", strategy: "restart"}, ""},
	} {
		parts := Parts{
			Meta:     &metav1.ObjectMeta{Namespace: "ns", Name: "web", Annotations: test.own},
			Template: &corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Annotations: annotations{strategy: "restart"}}},
		}
		if test.kind != Deployment {
			parts.Rollout.OwnRestart = ReplacesPods
		}
		rules := OptInRules{Dialects: []Dialect{Wave, Reloader}}
		if got := rules.Understand(test.kind, parts).Meta.Annotations[MethodAnnotation]; got != test.want {
			t.Errorf("%s: method %q, want %q", name, got, test.want)
		}
	}
}
