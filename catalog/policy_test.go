package catalog

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"
)

func holdsAllTheSame(value string) string {
	return fmt.Sprintf("annotation com.xing.deployment-restart.hold: %q holds all the same; to release the hold, remove the annotation", value)
}

func TestAWorkloadSaysByAnnotationsWhenItsRestartsMayBegin(t *testing.T) {
	long := strings.Repeat("x", 300)
	for name, test := range map[string]struct {
		annotations data
		want        *WorkloadPolicy
	}{
		"nothing":               {nil, nil},
		"only what configs say": {data{FanOutAnnotation: "gradual", UrgentAnnotation: "1", ResumeAnnotation: "1"}, nil},
		"everything": {
			data{WaveAnnotation: "-1", WindowAnnotation: "0 22 * * 1-5 6h", HoldAnnotation: "incident 7"},
			&WorkloadPolicy{Wave: -1, Window: "0 22 * * 1-5 6h", Hold: "incident 7"},
		},
		"the first wave":          {data{WaveAnnotation: "-1000"}, &WorkloadPolicy{Wave: -1000}},
		"the last wave":           {data{WaveAnnotation: "1000"}, &WorkloadPolicy{Wave: 1000}},
		"the default wave":        {data{WaveAnnotation: "0"}, nil},
		"an empty hold":           {data{HoldAnnotation: ""}, &WorkloadPolicy{Hold: "no reason given", Problem: holdsAllTheSame("")}},
		"a hold of false":         {data{HoldAnnotation: "False"}, &WorkloadPolicy{Hold: "False", Problem: holdsAllTheSame("False")}},
		"a hold for no release":   {data{HoldAnnotation: "no release on Fridays"}, &WorkloadPolicy{Hold: "no release on Fridays"}},
		"a hold of spaces":        {data{HoldAnnotation: " \n"}, &WorkloadPolicy{Hold: "no reason given", Problem: holdsAllTheSame("")}},
		"a hold with a long text": {data{HoldAnnotation: long}, &WorkloadPolicy{Hold: long[:194] + " [cut]"}},
		"a wave that is too late": {
			data{WaveAnnotation: "1001"},
			&WorkloadPolicy{Problem: `annotation com.xing.deployment-restart.wave: "1001" is not an integer from -1000 to 1000, so wave 0 is used`},
		},
		"wrong values, beside one that counts": {
			data{WaveAnnotation: "first" + long, WindowAnnotation: long, HoldAnnotation: "why"},
			&WorkloadPolicy{
				Hold: "why", Window: long[:250] + " [cut]", // which is no window
				Problem: `annotation com.xing.deployment-restart.wave: "first` + long[:35] + `" is not an integer from -1000 to 1000, so wave 0 is used`,
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := deployment(corev1.Container{Name: "app"})
			for annotation, value := range test.annotations {
				d.Annotations[annotation] = value
			}
			if diff := cmp.Diff(test.want, mustWorkload(d).Policy); diff != "" {
				t.Errorf("policy (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAConfigSaysByAnnotationsHowItsChangesSpread(t *testing.T) {
	long := strings.Repeat("x", 65)
	for name, test := range map[string]struct {
		annotations data
		want        *ConfigPolicy
	}{
		"nothing":                  {nil, nil},
		"only what workloads say":  {data{WaveAnnotation: "1"}, nil},
		"gradual":                  {data{FanOutAnnotation: "gradual"}, &ConfigPolicy{FanOut: Gradual}},
		"all at once":              {data{FanOutAnnotation: "all-at-once"}, &ConfigPolicy{FanOut: AllAtOnce}},
		"a hold without a reason":  {data{HoldAnnotation: ""}, &ConfigPolicy{Hold: "no reason given", Problem: holdsAllTheSame("")}},
		"a window, a hold and ids": {data{WindowAnnotation: "w", HoldAnnotation: "h", UrgentAnnotation: "9f161f04f7ef4b51", ResumeAnnotation: "r"}, &ConfigPolicy{Window: "w", Hold: "h", Urgent: "9f161f04f7ef4b51", Resume: "r"}},
		"what is no content":       {data{UrgentAnnotation: "yes"}, &ConfigPolicy{Problem: `annotation com.xing.deployment-restart.urgent: "yes" is the id of no content, which has 16 hexadecimal digits, so nothing is urgent; kubectl restarts urgent sets that of the present content`}},
		"wrong values": {
			data{FanOutAnnotation: "slow", UrgentAnnotation: long, ResumeAnnotation: long},
			&ConfigPolicy{Problem: `annotation com.xing.deployment-restart.fan-out: "slow" is neither "gradual" nor "all-at-once", so --fan-out of the controller is used; ` +
				`annotation com.xing.deployment-restart.urgent: 65 bytes are too many, the limit is 64, so it counts as absent; ` +
				`annotation com.xing.deployment-restart.resume: 65 bytes are too many, the limit is 64, so it counts as absent`},
		},
		"no way at all": {
			data{FanOutAnnotation: ""},
			&ConfigPolicy{Problem: `annotation com.xing.deployment-restart.fan-out: "" is neither "gradual" nor "all-at-once", so --fan-out of the controller is used`},
		},
	} {
		t.Run(name, func(t *testing.T) {
			cm, tls := configMap("web", nil), secret("tls", nil)
			cm.Annotations, tls.Annotations = test.annotations, test.annotations
			if diff := cmp.Diff(test.want, NewConfigMap(cm).Policy); diff != "" {
				t.Errorf("policy of a ConfigMap (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.want, NewSecret(tls).Policy); diff != "" {
				t.Errorf("policy of a Secret (-want +got):\n%s", diff)
			}
		})
	}
}

// Anyone who may write objects may write any annotations, on very many of them.
func TestNoAnnotationMakesAPolicyLong(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		value := rapid.Custom(func(t *rapid.T) string {
			return strings.Repeat(rapid.String().Draw(t, "text"), rapid.IntRange(0, 100).Draw(t, "times"))
		})
		names := rapid.SampledFrom([]string{WaveAnnotation, WindowAnnotation, HoldAnnotation, FanOutAnnotation, UrgentAnnotation, ResumeAnnotation})
		meta := &metav1.ObjectMeta{Annotations: rapid.MapOf(names, value).Draw(t, "annotations")}
		var workload WorkloadPolicy
		if read, _ := readWorkloadPolicy(meta, Understood{}); read != nil {
			workload = *read
		}
		var config ConfigPolicy
		if read := readConfigPolicy(meta); read != nil {
			config = *read
		}
		for _, text := range []string{
			workload.Window, workload.Hold, workload.Problem, string(config.FanOut), config.Window, config.Hold, config.Urgent, config.Resume, config.Problem,
		} {
			if len(text) > 1500 || !utf8.ValidString(text) {
				t.Fatalf("%d bytes, %q", len(text), text)
			}
		}
		if _, held := meta.Annotations[HoldAnnotation]; held != (workload.Hold != "") || held != (config.Hold != "") {
			t.Fatalf("held by %q: %q, %q", meta.Annotations[HoldAnnotation], workload.Hold, config.Hold)
		}
	})
}

// asking is a ConfigMap with a hold.
func asking(why string, content data) Config {
	cm := configMap("web", content)
	cm.Annotations = data{HoldAnnotation: why}
	return NewConfigMap(cm)
}

func TestTheCatalogTakesOverThePolicyOfAConfigThoughItsContentIsUnchanged(t *testing.T) {
	c := New()
	c.ObserveWorkload(mustWorkload(deployment(readsAll("web", false))))
	expect := func(step, hold string) {
		t.Helper()
		if got := c.PolicyOf(configMapRef("web")); got != (ConfigPolicy{Hold: hold}) {
			t.Errorf("%s: %+v, want the hold %q", step, got, hold)
		}
	}
	expect("before it is known", "")
	listConfigs(c, ConfigMap, "", listOf(asking("listed first", data{"a": "1"})), noon, true)
	expect("listed first", "listed first")
	if c.ObserveConfig(asking("watched", data{"a": "1"}), noonPlus(10)) {
		t.Error("a change of the annotations is news")
	}
	expect("watched", "watched")
	if news, _ := listConfigs(c, ConfigMap, "", listOf(asking("listed again", data{"a": "1"})), noonPlus(20), false); len(news) > 0 {
		t.Errorf("a change of the annotations is news: %v", news)
	}
	expect("listed again", "listed again")
	c.ForgetConfig(configMapRef("web"), noonPlus(30))
	expect("deleted", "")
	c.ObserveConfig(asking("created again", data{"a": "1"}), noonPlus(40))
	expect("created again", "created again")
	c.ObserveConfig(NewConfigMap(configMap("web", data{"a": "1"})), noonPlus(50))
	expect("annotation removed", "")
}

func TestAnotherPolicyCallsForADecision(t *testing.T) {
	s := begin(deployment(readsAll("web", false)))
	s.listed()
	for _, step := range []struct {
		annotation, value string
		want              bool
	}{
		{HoldAnnotation, "incident 7", true},
		{"note", "nothing to us", false},
		{HoldAnnotation, "incident 8", true},
		{HoldAnnotation, "", true},
		{WindowAnnotation, "0 22 * * * 6h", true},
		{WaveAnnotation, "2", true},
		{WaveAnnotation, "x", true},
		{WaveAnnotation, "y", true}, // another problem to report
		{WaveAnnotation, "y", false},
	} {
		s.deployment.Annotations[step.annotation] = step.value
		if got := s.catalog.ObserveWorkload(s.reduced()); got != step.want {
			t.Errorf("%s: %q calls for a decision: %t", step.annotation, step.value, got)
		}
	}
	delete(s.deployment.Annotations, HoldAnnotation)
	if !s.catalog.ObserveWorkload(s.reduced()) {
		t.Error("the end of a hold calls for no decision")
	}
}
