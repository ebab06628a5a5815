package dialect

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"pgregory.net/rapid"

	"kubernetes-deployment-restart-controller/catalog/annotation"
	"kubernetes-deployment-restart-controller/catalog/objecttest"
	"kubernetes-deployment-restart-controller/catalog/optin"
	"kubernetes-deployment-restart-controller/catalog/workload"
)

func deploymentParts(own, ownLabels, template, templateLabels map[string]string) *workload.Parts {
	return &workload.Parts{
		Meta:     &metav1.ObjectMeta{Namespace: "shop", Name: "web", Annotations: own, Labels: ownLabels},
		Template: &corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Annotations: template, Labels: templateLabels}},
	}
}

func TestAMistakeOfAWorkloadNamesWhatIsMeant(t *testing.T) {
	both := optin.Rules{Dialects: []optin.Dialect{optin.Reloader, optin.Wave}}
	for name, test := range map[string]struct {
		rules                          optin.Rules
		own, labels, template, ofLabel objecttest.Annotations
		want                           string
	}{
		"a letter too few in the name": {
			own:  objecttest.Annotations{annotation.Prefix + ".hol": "x"},
			want: "annotation com.xing.deployment-restart.hol looks like a misspelling of com.xing.deployment-restart.hold, so nothing is held by it",
		},
		"two letters swapped in the prefix": {
			own:  objecttest.Annotations{"com.xing.deployemnt-restart.wave": "1"},
			want: "annotation com.xing.deployemnt-restart.wave looks like a misspelling of com.xing.deployment-restart.wave",
		},
		"a letter missing in the prefix": {
			own:  objecttest.Annotations{"com.xing.deploymen-restart": annotation.Enabled},
			want: "annotation com.xing.deploymen-restart looks like a misspelling of com.xing.deployment-restart, so it enables nothing",
		},
		"a letter too many in the prefix": {
			own:  objecttest.Annotations{"com.xing.deployment-restarts": annotation.Enabled},
			want: "annotation com.xing.deployment-restarts looks like a misspelling of com.xing.deployment-restart, so it enables nothing",
		},
		"another letter in the prefix": {
			own:  objecttest.Annotations{"com.xing.deployment_restart.method": "evict"},
			want: "annotation com.xing.deployment_restart.method looks like a misspelling of com.xing.deployment-restart.method",
		},
		"the prefix the other way round": {
			own:  objecttest.Annotations{"xing.com.deployment-restart.hold": "x"},
			want: "annotation xing.com.deployment-restart.hold looks like a misspelling of com.xing.deployment-restart.hold, so nothing is held by it",
		},
		"a domain before a slash": {
			own:  objecttest.Annotations{"xing.com/deployment-restart": annotation.Enabled},
			want: "annotation xing.com/deployment-restart looks like a misspelling of com.xing.deployment-restart, so it enables nothing",
		},
		"a domain after the rest, and a letter too few": {
			own:  objecttest.Annotations{"deploymet-restart.xing.com/grace-period": "5s"},
			want: "annotation deploymet-restart.xing.com/grace-period looks like a misspelling of com.xing.deployment-restart.grace-period",
		},
		"half of the domain": {
			labels: objecttest.Annotations{"xing.Deployment-Restart/hold": "x"},
			want:   "label xing.Deployment-Restart/hold looks like a misspelling of com.xing.deployment-restart.hold; it counts as an annotation, not as a label, so nothing is held by it",
		},
		"a prefix with a letter too few": {
			own:  objecttest.Annotations{"com.xing.deploymet-restart": annotation.Enabled},
			want: "annotation com.xing.deploymet-restart looks like a misspelling of com.xing.deployment-restart, so it enables nothing",
		},
		"capital letters": {
			own:  objecttest.Annotations{"com.xing.Deployment-Restart.Window": "x"},
			want: "annotation com.xing.Deployment-Restart.Window looks like a misspelling of com.xing.deployment-restart.window",
		},
		"the beginning of a name": {
			own:  objecttest.Annotations{annotation.Prefix + ".grace": "5s"},
			want: "annotation com.xing.deployment-restart.grace looks like a misspelling of com.xing.deployment-restart.grace-period",
		},
		"enabled in the name": {
			own:  objecttest.Annotations{annotation.Prefix + ".enabled": "true"},
			want: "annotation com.xing.deployment-restart.enabled looks like a misspelling of com.xing.deployment-restart, so it enables nothing",
		},
		"nothing near": {
			own:  objecttest.Annotations{annotation.Prefix + ".something-else": "true"},
			want: "annotation com.xing.deployment-restart.something-else: the controller knows no such annotation, so it has no effect: correct or remove it",
		},
		"of a config": {
			own:  objecttest.Annotations{annotation.Prefix + ".fan-out": "gradual"},
			want: "annotation com.xing.deployment-restart.fan-out: it counts only on a ConfigMap or Secret, so it has no effect",
		},
		"misspelled and of a config": {
			own:  objecttest.Annotations{annotation.Prefix + ".fanout": "gradual"},
			want: "annotation com.xing.deployment-restart.fanout looks like a misspelling of com.xing.deployment-restart.fan-out; it counts only on a ConfigMap or Secret",
		},
		"on the pod template": {
			template: objecttest.Annotations{annotation.EnabledAnnotation: annotation.Enabled},
			want:     "annotation com.xing.deployment-restart: it counts on the workload itself, not on the pod template, so it enables nothing",
		},
		"a label": {
			labels: objecttest.Annotations{annotation.EnabledAnnotation: annotation.Enabled},
			want:   "label com.xing.deployment-restart: it counts as an annotation, not as a label, so it enables nothing",
		},
		"a label of the pod template": {
			ofLabel: objecttest.Annotations{annotation.HoldAnnotation: "x"},
			want:    "label com.xing.deployment-restart.hold: it counts as an annotation, not as a label, so nothing is held by it",
		},
		"enabeld": {
			own:  objecttest.Annotations{annotation.EnabledAnnotation: "enabeld"},
			want: `annotation com.xing.deployment-restart: "enabeld" is neither "enabled" nor "disabled", so it enables nothing`,
		},
		"true": {
			own:  objecttest.Annotations{annotation.EnabledAnnotation: "true"},
			want: `annotation com.xing.deployment-restart: "true" is neither "enabled" nor "disabled", so it enables nothing`,
		},
		"Enabled": {
			own:  objecttest.Annotations{annotation.EnabledAnnotation: "Enabled"},
			want: `annotation com.xing.deployment-restart: "Enabled" is neither "enabled" nor "disabled", so it enables nothing`,
		},
		"Reloader's auto": {
			rules: both, own: objecttest.Annotations{ReloaderAuto: "yes"},
			want: `annotation reloader.stakater.com/auto: "yes" means nothing to reloader; write "true" or "false"`,
		},
		"Reloader's search on the pod template, which is compared with true": {
			rules: both, template: objecttest.Annotations{ReloaderSearch: "1"},
			want: `annotation reloader.stakater.com/search: "1" means nothing to reloader; write "true" or "false"`,
		},
		"wave's": {
			rules: both, own: objecttest.Annotations{WaveEnabled: "enabled"},
			want: `annotation wave.pusher.com/update-on-config-change: "enabled" means nothing to wave; write "true" or "false"`,
		},
		"many": {
			own: objecttest.Annotations{annotation.Prefix + ".a-long-one": "", annotation.Prefix + ".b-long-one": "", annotation.Prefix + ".c-long-one": "", annotation.Prefix + ".d-long-one": "", annotation.Prefix + ".e-long-one": ""},
			want: "annotation com.xing.deployment-restart.a-long-one: the controller knows no such annotation, so it has no effect: correct or remove it; " +
				"annotation com.xing.deployment-restart.b-long-one: the controller knows no such annotation, so it has no effect: correct or remove it; " +
				"annotation com.xing.deployment-restart.c-long-one: the controller knows no such annotation, so it has no effect: correct or remove it; and 2 more like these",
		},
	} {
		t.Run(name, func(t *testing.T) {
			parts := deploymentParts(test.own, test.labels, test.template, test.ofLabel)
			if got := WorkloadMistakes(&test.rules, parts); got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
		})
	}
}

func TestWhatIsMeantAndCountsIsNoMistake(t *testing.T) {
	selector, err := labels.Parse(annotation.EnabledAnnotation + "=enabled")
	if err != nil {
		t.Fatal(err)
	}
	byNamespace := &optin.Rules{ByNamespace: true, Selector: selector}
	understanding := &optin.Rules{Dialects: []optin.Dialect{optin.Reloader, optin.Wave}}
	none := &optin.Rules{}
	meta := func(own, ownLabels objecttest.Annotations) *metav1.ObjectMeta {
		return &metav1.ObjectMeta{Namespace: "shop", Name: "web", Annotations: own, Labels: ownLabels}
	}
	written := objecttest.Annotations{annotation.ChecksumsAnnotation: "{}", annotation.BasisAnnotation: "{}", annotation.TimestampAnnotation: "x", annotation.CauseAnnotation: "x", annotation.OptInsAnnotation: "{}", annotation.Prefix + ".probe": "1", annotation.Prefix + ".driving": "true"}
	for name, got := range map[string]string{
		"all annotations of workloads": WorkloadMistakes(none, deploymentParts(objecttest.Annotations{
			annotation.EnabledAnnotation: annotation.Enabled, annotation.GracePeriodAnnotation: "", annotation.WaveAnnotation: "", annotation.MethodAnnotation: "", annotation.OnlyAnnotation: "",
			annotation.AlsoAnnotation: "", annotation.IgnoreAnnotation: "", annotation.WindowAnnotation: "", annotation.HoldAnnotation: "",
		}, nil, nil, nil)),
		"all annotations of configs": ConfigMistakes(none, meta(objecttest.Annotations{
			annotation.IgnoreAnnotation: "", annotation.WindowAnnotation: "", annotation.HoldAnnotation: "", annotation.FanOutAnnotation: "", annotation.ReadersAnnotation: "", annotation.UrgentAnnotation: "", annotation.ResumeAnnotation: "",
		}, nil)),
		"disabled":                         WorkloadMistakes(none, deploymentParts(objecttest.Annotations{annotation.EnabledAnnotation: "disabled"}, nil, nil, nil)),
		"False":                            WorkloadMistakes(none, deploymentParts(objecttest.Annotations{annotation.EnabledAnnotation: "False"}, nil, nil, nil)),
		"on the pod template, too":         WorkloadMistakes(none, deploymentParts(objecttest.Annotations{annotation.EnabledAnnotation: annotation.Enabled}, nil, objecttest.Annotations{annotation.EnabledAnnotation: annotation.Enabled}, nil)),
		"as a label, too":                  WorkloadMistakes(none, deploymentParts(objecttest.Annotations{annotation.EnabledAnnotation: annotation.Enabled}, objecttest.Annotations{annotation.EnabledAnnotation: annotation.Enabled}, nil, nil)),
		"what the controller writes":       WorkloadMistakes(none, deploymentParts(written, nil, written, nil)),
		"a copy of it on a config":         ConfigMistakes(none, meta(written, nil)),
		"a Namespace that opts in":         NamespaceMistakes(byNamespace, meta(objecttest.Annotations{annotation.EnabledAnnotation: annotation.Enabled}, nil)),
		"a label that selects a Namespace": NamespaceMistakes(byNamespace, meta(nil, objecttest.Annotations{annotation.EnabledAnnotation: annotation.Enabled})),
		"names alike": WorkloadMistakes(none, deploymentParts(objecttest.Annotations{
			"com.xing.deployment": "x", "deployment-restart": "x", "com.xing": "x", "xing.com/deployment": "x", "xing.com/restart": "x", "xing.com/deployment-restart-board": "x",
			"example.com/deployment-restart.hold": "x", "kubectl.kubernetes.io/last-applied-configuration": `{"com.xing.deployment-restart.wvae":"1"}`,
		}, nil, nil, nil)),
		"Reloader's as it reads them":     WorkloadMistakes(understanding, deploymentParts(objecttest.Annotations{ReloaderAuto: "T", ReloaderSearch: "false", reloaderStrategy: "rollout", WaveEnabled: "false"}, nil, nil, nil)),
		"Reloader's without --understand": WorkloadMistakes(none, deploymentParts(objecttest.Annotations{ReloaderAuto: "yes"}, nil, nil, nil)),
		"a namespace that is ignored":     WorkloadMistakes((&optin.Rules{Ignored: []string{"sh*"}}), deploymentParts(objecttest.Annotations{annotation.Prefix + ".x": ""}, nil, nil, nil)),
	} {
		if got != "" {
			t.Errorf("%s: %s", name, got)
		}
	}
}

func TestMistakesOfConfigsAndNamespaces(t *testing.T) {
	meta := &metav1.ObjectMeta{Namespace: "shop", Name: "shop", Annotations: objecttest.Annotations{annotation.WaveAnnotation: "1"}}
	enabled := &metav1.ObjectMeta{Name: "shop", Annotations: objecttest.Annotations{annotation.EnabledAnnotation: annotation.Enabled}}
	none, understanding := &optin.Rules{}, &optin.Rules{Dialects: []optin.Dialect{optin.Reloader}}
	for name, test := range map[string]struct{ got, want string }{
		"a config": {ConfigMistakes(none, meta), "annotation com.xing.deployment-restart.wave: it counts only on a workload, so it has no effect"},
		"an enabled config": {
			ConfigMistakes(none, enabled), "annotation com.xing.deployment-restart: it counts only on a workload or, with --namespace-annotations, a Namespace, so it enables nothing",
		},
		"Reloader's match": {
			ConfigMistakes(understanding, &metav1.ObjectMeta{Annotations: objecttest.Annotations{ReloaderMatch: "yes"}}),
			`annotation reloader.stakater.com/match: "yes" means nothing to reloader; write "true" or "false"`,
		},
		"a Namespace": {NamespaceMistakes((&optin.Rules{ByNamespace: true}), meta), "annotation com.xing.deployment-restart.wave: it counts only on a workload, so it has no effect"},
		"a Namespace without the flag": {
			NamespaceMistakes(none, enabled),
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
		known := rapid.SampledFrom(slices.Sorted(maps.Keys(annotation.Places))).Draw(t, "known")
		at, letter := rapid.IntRange(0, len(annotation.Prefix)-1).Draw(t, "at"), rapid.SampledFrom([]string{"a", "Z", "0", "-", "/"}).Draw(t, "letter")
		for what, name := range map[string]string{
			"insertion":    known[:at] + letter + known[at:],
			"deletion":     known[:at] + known[at+1:],
			"substitution": known[:at] + letter + known[at+1:],
		} {
			if !resemblesOurs(name) {
				t.Fatalf("%s at %d: %s does not resemble", what, at, name)
			}
		}
		if at < len(annotation.Prefix)-1 && !resemblesOurs(known[:at]+known[at+1:at+2]+known[at:at+1]+known[at+2:]) {
			t.Fatalf("transposition at %d", at)
		}
	})
}

func TestThePartThatIsLikeTheProductIsOneSlipAwayFromIt(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		part := []byte(annotation.Product)
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
		if got, want := isLikeProduct(string(part)), annotation.Distance(string(part), annotation.Product) <= 1; got != want {
			t.Fatalf("%s: %v, want %v", part, got, want)
		}
	})
}

func TestManyMistakesAreDescribedBriefly(t *testing.T) {
	many := make(objecttest.Annotations)
	for i := range 5000 {
		many[fmt.Sprintf("%s.%s%d", annotation.Prefix, strings.Repeat("x", 200), i)] = ""
	}
	if got := WorkloadMistakes((&optin.Rules{}), deploymentParts(many, nil, nil, nil)); len(got) > 700 || !strings.HasSuffix(got, "and 4997 more like these") {
		t.Errorf("%d bytes: %s", len(got), got)
	}
}

func BenchmarkMistakesOfAnObjectWithNone(b *testing.B) {
	parts := deploymentParts(
		objecttest.Annotations{annotation.EnabledAnnotation: annotation.Enabled, "kubectl.kubernetes.io/last-applied-configuration": "{}", "deployment.kubernetes.io/revision": "1", "meta.helm.sh/release-name": "web"},
		objecttest.Annotations{"app.kubernetes.io/name": "web", "app.kubernetes.io/instance": "web", "helm.sh/chart": "web-1"}, objecttest.Annotations{"prometheus.io/scrape": "true"},
		objecttest.Annotations{"app.kubernetes.io/name": "web"})
	rules := &optin.Rules{Dialects: []optin.Dialect{optin.Reloader}}
	b.ReportAllocs()
	for b.Loop() {
		if WorkloadMistakes(rules, parts) != "" {
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
		meta := &metav1.ObjectMeta{Namespace: "shop", Name: "web", Annotations: make(objecttest.Annotations)}
		for i, size := 0, 0; size < 256<<10; i++ {
			name := names(i)
			meta.Annotations[name] = ""
			size += len(name)
		}
		b.Run(what, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if ConfigMistakes((&optin.Rules{}), meta) != "" {
					b.Fatal("a mistake")
				}
			}
			b.ReportMetric(float64(len(meta.Annotations)), "names")
		})
	}
}
