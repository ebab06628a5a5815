package catalog

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"pgregory.net/rapid"
)

func deploymentParts(own, ownLabels, template, templateLabels map[string]string) *Parts {
	return &Parts{
		Meta:     &metav1.ObjectMeta{Namespace: "shop", Name: "web", Annotations: own, Labels: ownLabels},
		Template: &corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Annotations: template, Labels: templateLabels}},
	}
}

func TestAMistakeOfAWorkloadNamesWhatIsMeant(t *testing.T) {
	both := OptInRules{Dialects: []Dialect{Reloader, Wave}}
	for name, test := range map[string]struct {
		rules                          OptInRules
		own, labels, template, ofLabel annotations
		want                           string
	}{
		"a letter too few in the name": {
			own:  annotations{prefix + ".hol": "x"},
			want: "annotation com.xing.deployment-restart.hol looks like a misspelling of com.xing.deployment-restart.hold, so nothing is held by it",
		},
		"two letters swapped in the prefix": {
			own:  annotations{"com.xing.deployemnt-restart.wave": "1"},
			want: "annotation com.xing.deployemnt-restart.wave looks like a misspelling of com.xing.deployment-restart.wave",
		},
		"a letter missing in the prefix": {
			own:  annotations{"com.xing.deploymen-restart": Enabled},
			want: "annotation com.xing.deploymen-restart looks like a misspelling of com.xing.deployment-restart, so it enables nothing",
		},
		"a letter too many in the prefix": {
			own:  annotations{"com.xing.deployment-restarts": Enabled},
			want: "annotation com.xing.deployment-restarts looks like a misspelling of com.xing.deployment-restart, so it enables nothing",
		},
		"another letter in the prefix": {
			own:  annotations{"com.xing.deployment_restart.method": "evict"},
			want: "annotation com.xing.deployment_restart.method looks like a misspelling of com.xing.deployment-restart.method",
		},
		"the prefix the other way round": {
			own:  annotations{"xing.com.deployment-restart.hold": "x"},
			want: "annotation xing.com.deployment-restart.hold looks like a misspelling of com.xing.deployment-restart.hold, so nothing is held by it",
		},
		"a domain before a slash": {
			own:  annotations{"xing.com/deployment-restart": Enabled},
			want: "annotation xing.com/deployment-restart looks like a misspelling of com.xing.deployment-restart, so it enables nothing",
		},
		"a domain after the rest, and a letter too few": {
			own:  annotations{"deploymet-restart.xing.com/grace-period": "5s"},
			want: "annotation deploymet-restart.xing.com/grace-period looks like a misspelling of com.xing.deployment-restart.grace-period",
		},
		"half of the domain": {
			labels: annotations{"xing.Deployment-Restart/hold": "x"},
			want:   "label xing.Deployment-Restart/hold looks like a misspelling of com.xing.deployment-restart.hold; it counts as an annotation, not as a label, so nothing is held by it",
		},
		"a prefix with a letter too few": {
			own:  annotations{"com.xing.deploymet-restart": Enabled},
			want: "annotation com.xing.deploymet-restart looks like a misspelling of com.xing.deployment-restart, so it enables nothing",
		},
		"capital letters": {
			own:  annotations{"com.xing.Deployment-Restart.Window": "x"},
			want: "annotation com.xing.Deployment-Restart.Window looks like a misspelling of com.xing.deployment-restart.window",
		},
		"the beginning of a name": {
			own:  annotations{prefix + ".grace": "5s"},
			want: "annotation com.xing.deployment-restart.grace looks like a misspelling of com.xing.deployment-restart.grace-period",
		},
		"enabled in the name": {
			own:  annotations{prefix + ".enabled": "true"},
			want: "annotation com.xing.deployment-restart.enabled looks like a misspelling of com.xing.deployment-restart, so it enables nothing",
		},
		"nothing near": {
			own:  annotations{prefix + ".something-else": "true"},
			want: "annotation com.xing.deployment-restart.something-else: the controller knows no such annotation, so it has no effect: correct or remove it",
		},
		"of a config": {
			own:  annotations{prefix + ".fan-out": "gradual"},
			want: "annotation com.xing.deployment-restart.fan-out: it counts only on a ConfigMap or Secret, so it has no effect",
		},
		"misspelled and of a config": {
			own:  annotations{prefix + ".fanout": "gradual"},
			want: "annotation com.xing.deployment-restart.fanout looks like a misspelling of com.xing.deployment-restart.fan-out; it counts only on a ConfigMap or Secret",
		},
		"on the pod template": {
			template: annotations{EnabledAnnotation: Enabled},
			want:     "annotation com.xing.deployment-restart: it counts on the workload itself, not on the pod template, so it enables nothing",
		},
		"a label": {
			labels: annotations{EnabledAnnotation: Enabled},
			want:   "label com.xing.deployment-restart: it counts as an annotation, not as a label, so it enables nothing",
		},
		"a label of the pod template": {
			ofLabel: annotations{HoldAnnotation: "x"},
			want:    "label com.xing.deployment-restart.hold: it counts as an annotation, not as a label, so nothing is held by it",
		},
		"enabeld": {
			own:  annotations{EnabledAnnotation: "enabeld"},
			want: `annotation com.xing.deployment-restart: "enabeld" is neither "enabled" nor "disabled", so it enables nothing`,
		},
		"true": {
			own:  annotations{EnabledAnnotation: "true"},
			want: `annotation com.xing.deployment-restart: "true" is neither "enabled" nor "disabled", so it enables nothing`,
		},
		"Enabled": {
			own:  annotations{EnabledAnnotation: "Enabled"},
			want: `annotation com.xing.deployment-restart: "Enabled" is neither "enabled" nor "disabled", so it enables nothing`,
		},
		"Reloader's auto": {
			rules: both, own: annotations{reloaderAuto: "yes"},
			want: `annotation reloader.stakater.com/auto: "yes" means nothing to reloader; write "true" or "false"`,
		},
		"Reloader's search on the pod template, which is compared with true": {
			rules: both, template: annotations{reloaderSearch: "1"},
			want: `annotation reloader.stakater.com/search: "1" means nothing to reloader; write "true" or "false"`,
		},
		"wave's": {
			rules: both, own: annotations{waveEnabled: "enabled"},
			want: `annotation wave.pusher.com/update-on-config-change: "enabled" means nothing to wave; write "true" or "false"`,
		},
		"many": {
			own: annotations{prefix + ".a-long-one": "", prefix + ".b-long-one": "", prefix + ".c-long-one": "", prefix + ".d-long-one": "", prefix + ".e-long-one": ""},
			want: "annotation com.xing.deployment-restart.a-long-one: the controller knows no such annotation, so it has no effect: correct or remove it; " +
				"annotation com.xing.deployment-restart.b-long-one: the controller knows no such annotation, so it has no effect: correct or remove it; " +
				"annotation com.xing.deployment-restart.c-long-one: the controller knows no such annotation, so it has no effect: correct or remove it; and 2 more like these",
		},
	} {
		t.Run(name, func(t *testing.T) {
			parts := deploymentParts(test.own, test.labels, test.template, test.ofLabel)
			if got := test.rules.WorkloadMistakes(parts); got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
		})
	}
}

func TestWhatIsMeantAndCountsIsNoMistake(t *testing.T) {
	selector, err := labels.Parse(EnabledAnnotation + "=enabled")
	if err != nil {
		t.Fatal(err)
	}
	byNamespace := &OptInRules{ByNamespace: true, Selector: selector}
	understanding := &OptInRules{Dialects: []Dialect{Reloader, Wave}}
	none := &OptInRules{}
	meta := func(own, ownLabels annotations) *metav1.ObjectMeta {
		return &metav1.ObjectMeta{Namespace: "shop", Name: "web", Annotations: own, Labels: ownLabels}
	}
	written := annotations{ChecksumsAnnotation: "{}", BasisAnnotation: "{}", TimestampAnnotation: "x", CauseAnnotation: "x", OptInsAnnotation: "{}", prefix + ".probe": "1", prefix + ".driving": "true"}
	for name, got := range map[string]string{
		"all annotations of workloads": none.WorkloadMistakes(deploymentParts(annotations{
			EnabledAnnotation: Enabled, GracePeriodAnnotation: "", WaveAnnotation: "", MethodAnnotation: "", OnlyAnnotation: "",
			AlsoAnnotation: "", IgnoreAnnotation: "", WindowAnnotation: "", HoldAnnotation: "",
		}, nil, nil, nil)),
		"all annotations of configs": none.ConfigMistakes(meta(annotations{
			IgnoreAnnotation: "", WindowAnnotation: "", HoldAnnotation: "", FanOutAnnotation: "", ReadersAnnotation: "", UrgentAnnotation: "", ResumeAnnotation: "",
		}, nil)),
		"disabled":                         none.WorkloadMistakes(deploymentParts(annotations{EnabledAnnotation: "disabled"}, nil, nil, nil)),
		"False":                            none.WorkloadMistakes(deploymentParts(annotations{EnabledAnnotation: "False"}, nil, nil, nil)),
		"on the pod template, too":         none.WorkloadMistakes(deploymentParts(annotations{EnabledAnnotation: Enabled}, nil, annotations{EnabledAnnotation: Enabled}, nil)),
		"as a label, too":                  none.WorkloadMistakes(deploymentParts(annotations{EnabledAnnotation: Enabled}, annotations{EnabledAnnotation: Enabled}, nil, nil)),
		"what the controller writes":       none.WorkloadMistakes(deploymentParts(written, nil, written, nil)),
		"a copy of it on a config":         none.ConfigMistakes(meta(written, nil)),
		"a Namespace that opts in":         byNamespace.NamespaceMistakes(meta(annotations{EnabledAnnotation: Enabled}, nil)),
		"a label that selects a Namespace": byNamespace.NamespaceMistakes(meta(nil, annotations{EnabledAnnotation: Enabled})),
		"names alike": none.WorkloadMistakes(deploymentParts(annotations{
			"com.xing.deployment": "x", "deployment-restart": "x", "com.xing": "x", "xing.com/deployment": "x", "xing.com/restart": "x", "xing.com/deployment-restart-board": "x",
			"example.com/deployment-restart.hold": "x", "kubectl.kubernetes.io/last-applied-configuration": `{"com.xing.deployment-restart.wvae":"1"}`,
		}, nil, nil, nil)),
		"Reloader's as it reads them":     understanding.WorkloadMistakes(deploymentParts(annotations{reloaderAuto: "T", reloaderSearch: "false", reloaderStrategy: "rollout", waveEnabled: "false"}, nil, nil, nil)),
		"Reloader's without --understand": none.WorkloadMistakes(deploymentParts(annotations{reloaderAuto: "yes"}, nil, nil, nil)),
		"a namespace that is ignored":     (&OptInRules{Ignored: []string{"sh*"}}).WorkloadMistakes(deploymentParts(annotations{prefix + ".x": ""}, nil, nil, nil)),
	} {
		if got != "" {
			t.Errorf("%s: %s", name, got)
		}
	}
}

func TestMistakesOfConfigsAndNamespaces(t *testing.T) {
	meta := &metav1.ObjectMeta{Namespace: "shop", Name: "shop", Annotations: annotations{WaveAnnotation: "1"}}
	enabled := &metav1.ObjectMeta{Name: "shop", Annotations: annotations{EnabledAnnotation: Enabled}}
	none, understanding := &OptInRules{}, &OptInRules{Dialects: []Dialect{Reloader}}
	for name, test := range map[string]struct{ got, want string }{
		"a config": {none.ConfigMistakes(meta), "annotation com.xing.deployment-restart.wave: it counts only on a workload, so it has no effect"},
		"an enabled config": {
			none.ConfigMistakes(enabled), "annotation com.xing.deployment-restart: it counts only on a workload or, with --namespace-annotations, a Namespace, so it enables nothing",
		},
		"Reloader's match": {
			understanding.ConfigMistakes(&metav1.ObjectMeta{Annotations: annotations{reloaderMatch: "yes"}}),
			`annotation reloader.stakater.com/match: "yes" means nothing to reloader; write "true" or "false"`,
		},
		"a Namespace": {(&OptInRules{ByNamespace: true}).NamespaceMistakes(meta), "annotation com.xing.deployment-restart.wave: it counts only on a workload, so it has no effect"},
		"a Namespace without the flag": {
			none.NamespaceMistakes(enabled),
			"annotation com.xing.deployment-restart: it counts on a Namespace only if the controller runs with --namespace-annotations, so it enables nothing",
		},
	} {
		if test.got != test.want {
			t.Errorf("%s:\ngot  %s\nwant %s", name, test.got, test.want)
		}
	}
}

// TestEveryNameThatIsOneLetterOffResembles checks all that a slip of a finger makes of the prefix.
func TestEveryNameThatIsOneLetterOffResembles(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		known := rapid.SampledFrom(slices.Sorted(maps.Keys(places))).Draw(t, "known")
		at, letter := rapid.IntRange(0, len(prefix)-1).Draw(t, "at"), rapid.SampledFrom([]string{"a", "Z", "0", "-", "/"}).Draw(t, "letter")
		for what, name := range map[string]string{
			"insertion":    known[:at] + letter + known[at:],
			"deletion":     known[:at] + known[at+1:],
			"substitution": known[:at] + letter + known[at+1:],
		} {
			if !resemblesOurs(name) {
				t.Fatalf("%s at %d: %s does not resemble", what, at, name)
			}
		}
		if at < len(prefix)-1 && !resemblesOurs(known[:at]+known[at+1:at+2]+known[at:at+1]+known[at+2:]) {
			t.Fatalf("transposition at %d", at)
		}
	})
}

func TestThePartThatIsLikeTheProductIsOneSlipAwayFromIt(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		part := []byte(product)
		for range rapid.IntRange(0, 3).Draw(t, "slips") {
			at, letter := rapid.IntRange(0, len(part)-2).Draw(t, "at"), rapid.SampledFrom([]byte("etx-")).Draw(t, "letter")
			switch rapid.IntRange(0, 3).Draw(t, "kind") {
			case 0:
				part = slices.Insert(part, at, letter)
			case 1:
				part = slices.Delete(part, at, at+1)
			case 2:
				part[at] = letter
			case 3:
				part[at], part[at+1] = part[at+1], part[at]
			}
		}
		if got, want := isLikeProduct(string(part)), distance(string(part), product) <= 1; got != want {
			t.Fatalf("%s: %v, want %v", part, got, want)
		}
	})
}

func TestManyMistakesAreDescribedBriefly(t *testing.T) {
	many := make(annotations)
	for i := range 5000 {
		many[fmt.Sprintf("%s.%s%d", prefix, strings.Repeat("x", 200), i)] = ""
	}
	if got := (&OptInRules{}).WorkloadMistakes(deploymentParts(many, nil, nil, nil)); len(got) > 700 || !strings.HasSuffix(got, "and 4997 more like these") {
		t.Errorf("%d bytes: %s", len(got), got)
	}
}

func BenchmarkMistakesOfAnObjectWithNone(b *testing.B) {
	parts := deploymentParts(
		annotations{EnabledAnnotation: Enabled, "kubectl.kubernetes.io/last-applied-configuration": "{}", "deployment.kubernetes.io/revision": "1", "meta.helm.sh/release-name": "web"},
		annotations{"app.kubernetes.io/name": "web", "app.kubernetes.io/instance": "web", "helm.sh/chart": "web-1"}, annotations{"prometheus.io/scrape": "true"},
		annotations{"app.kubernetes.io/name": "web"})
	rules := &OptInRules{Dialects: []Dialect{Reloader}}
	b.ReportAllocs()
	for b.Loop() {
		if rules.WorkloadMistakes(parts) != "" {
			b.Fatal("a mistake")
		}
	}
}

// BenchmarkMistakesOfAConfigWithAsManyAnnotationsAsItCanHave is one event of a ConfigMap that nobody enabled.
func BenchmarkMistakesOfAConfigWithAsManyAnnotationsAsItCanHave(b *testing.B) {
	for what, names := range map[string]func(i int) string{
		"without the domain": func(i int) string {
			return fmt.Sprintf("ping.%s%d", strings.Repeat(strings.Repeat("a", 17)+".", 16), i)
		},
		"with the domain": func(i int) string {
			return fmt.Sprintf("xing.%s%d", strings.Repeat(strings.Repeat("a", 17)+".", 16), i)
		},
		"with the domain, as ours":       func(i int) string { return fmt.Sprintf("xing.%s.%d", strings.Repeat("a", 18), i) },
		"with the domain and many parts": func(i int) string { return fmt.Sprintf("xing%s.%d", strings.Repeat(".a", 40), i) },
	} {
		meta := &metav1.ObjectMeta{Namespace: "shop", Name: "web", Annotations: make(annotations)}
		for i, size := 0, 0; size < 256<<10; i++ {
			name := names(i)
			meta.Annotations[name] = ""
			size += len(name)
		}
		b.Run(what, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if (&OptInRules{}).ConfigMistakes(meta) != "" {
					b.Fatal("a mistake")
				}
			}
			b.ReportMetric(float64(len(meta.Annotations)), "names")
		})
	}
}

func TestAWorkloadThatReadsNothingIsNotSaidToBeUpToDate(t *testing.T) {
	for name, d := range map[string]*appsv1.Deployment{
		"no config": deployment(corev1.Container{Name: "app"}),
		"an ignored one": func() *appsv1.Deployment {
			d := deployment(readsAll("settings", false))
			d.Annotations[IgnoreAnnotation] = "configmap/*"
			return d
		}(),
	} {
		s := begin(d)
		s.listed(configMap("settings", map[string]string{"k": "1"}))
		view, _ := s.catalog.View(deploymentRef(d.Name))
		decision := Decide(view)
		if decision.Outcome != RecordOnly || decision.Reason != reasonReadsNothing {
			t.Errorf("%s: %s: %s", name, decision.Outcome, decision.Reason)
		}
		writeRecord(d, Checksums{}, noon)
		s.listed(configMap("settings", map[string]string{"k": "1"}))
		view, _ = s.catalog.View(deploymentRef(d.Name))
		if reason := Decide(view).Reason; reason != reasonReadsNothing {
			t.Errorf("%s, with a record: %s", name, reason)
		}
	}
}
