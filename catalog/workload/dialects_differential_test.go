package workload_test

import (
	"flag"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubernetes-deployment-restart-controller/catalog/annotation"
	"kubernetes-deployment-restart-controller/catalog/content"
	"kubernetes-deployment-restart-controller/catalog/dialect"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/objecttest"
	"kubernetes-deployment-restart-controller/catalog/optin"
	"kubernetes-deployment-restart-controller/catalog/policy"
	"kubernetes-deployment-restart-controller/catalog/template"
	"kubernetes-deployment-restart-controller/catalog/workload"
)

var (
	dialectSets = flag.Int("dialect-sets", 200_000, "how many random sets of annotations of each other tool are compared")
	dialectSeed = flag.Uint64("dialect-seed", rand.Uint64(), "what makes them")
)

// annotatedConfig is a config with annotations of Reloader. The containers read it, or nothing of it.
type annotatedConfig struct {
	ref         names.ConfigRef
	annotations objecttest.Annotations
	isRead      bool
}

// reloads says whether Reloader 1.4.21 restarts a workload when a config is edited, and whether only because a pattern
// matches its name. These are the rules of its source, in other words.
func reloads(autoReloadAll bool, own, template objecttest.Annotations, c *annotatedConfig) (reloads, byPattern bool) {
	kind := c.ref.Kind.String()
	if c.annotations["reloader.stakater.com/ignore"] == "true" {
		return false, false
	}
	from := template
	for _, name := range []string{objecttest.Auto, objecttest.Search, kind + ".reloader.stakater.com/auto", kind + ".reloader.stakater.com/reload"} {
		if _, found := own[name]; found {
			from = own
		}
	}
	for excluded := range strings.SplitSeq(own[kind+"s.exclude.reloader.stakater.com/reload"], ",") {
		if strings.TrimSpace(excluded) == c.ref.Name {
			return false, false
		}
	}
	for pattern := range strings.SplitSeq(from[kind+".reloader.stakater.com/reload"], ",") {
		pattern = strings.TrimSpace(pattern)
		expression, err := regexp.Compile("^" + pattern + "$")
		switch {
		case err != nil || !expression.MatchString(c.ref.Name):
		case pattern == c.ref.Name:
			return true, false
		default:
			byPattern = true
		}
	}
	if byPattern {
		return true, true
	}
	all, _ := strconv.ParseBool(from[objecttest.Auto])
	ofKind, _ := strconv.ParseBool(from[kind+".reloader.stakater.com/auto"])
	isUnsaid := from[objecttest.Auto] == "" && from[kind+".reloader.stakater.com/auto"] == ""
	isMarked := from[objecttest.Search] == "true" && c.annotations["reloader.stakater.com/match"] == "true"
	return c.isRead && (isMarked || all || ofKind || isUnsaid && autoReloadAll), false
}

// restarting returns a function that says whether a workload restarts here, when a config is edited that has been there
// for long.
func restarting(rules *optin.Rules, own, tmpl objecttest.Annotations, pod *corev1.PodSpec) func(c *annotatedConfig) bool {
	parts := dialect.Understand(rules, names.Deployment, workload.Parts{
		Meta:     &metav1.ObjectMeta{Namespace: "ns", Name: "web", Annotations: own},
		Template: &corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Annotations: tmpl}, Spec: *pod},
		Selector: &metav1.LabelSelector{},
	})
	if choice := annotation.ChoiceOf(parts.Meta); choice == annotation.OptsOut || choice == annotation.Unsaid && !rules.ByDefault {
		return func(*annotatedConfig) bool { return false }
	}
	policy, filter := policy.ReadWorkloadPolicy(parts.Meta, parts.Understood)
	w := workload.Workload{Object: workload.Object{Policy: policy}}
	w.References, _ = template.ReferencesOf("ns", pod, filter)
	w.Filtering = workload.NewFiltering(filter, &w.Record, func(template.Filter) []template.Reference { return nil })
	return func(c *annotatedConfig) bool {
		config := content.Config{Ref: c.ref}
		dialect.UnderstandConfig(rules, &config, c.annotations)
		return w.Selects(c.ref, nil) && !w.Ignores(&config)
	}
}

// drawing draws what people write, and what they mean to.
type drawing struct{ *rand.Rand }

func (d drawing) one(choices ...string) string { return choices[d.IntN(len(choices))] }

// put sets an annotation in one of three cases.
func (d drawing) put(into objecttest.Annotations, name string, values ...string) {
	if d.IntN(3) == 0 {
		into[name] = d.one(values...)
	}
}

func (d drawing) reloaderAnnotations() objecttest.Annotations {
	said := objecttest.Annotations{}
	d.put(said, objecttest.Auto, "true", "false", "1", "yes", "", "TRUE", "F")
	d.put(said, objecttest.Search, "true", "false", "1", "")
	for _, kind := range []string{"configmap", "secret"} {
		d.put(said, kind+".reloader.stakater.com/auto", "true", "false", "t", "no", "")
		d.put(said, kind+".reloader.stakater.com/reload", "a", "b", " a , ab", "a.*", ".*b", "a.+,b", ".*", "", " , ", "^ab$", "c,", "A")
		d.put(said, kind+"s.exclude.reloader.stakater.com/reload", "a", " b , ab", "", "a.*", "c")
	}
	return said
}

// configsToRead returns configs of both kinds, and a pod that reads most of them.
func configsToRead() ([]annotatedConfig, *corev1.PodSpec) {
	app := corev1.Container{Name: "app"}
	configs := []annotatedConfig{{objecttest.ConfigMapRef("elsewhere"), nil, false}, {objecttest.SecretRef("elsewhere"), nil, false}}
	for _, name := range []string{"a", "b", "ab"} {
		reference := corev1.LocalObjectReference{Name: name}
		configs = append(configs, annotatedConfig{objecttest.ConfigMapRef(name), nil, true}, annotatedConfig{objecttest.SecretRef(name), nil, true})
		app.EnvFrom = append(app.EnvFrom, corev1.EnvFromSource{ConfigMapRef: &corev1.ConfigMapEnvSource{LocalObjectReference: reference}},
			corev1.EnvFromSource{SecretRef: &corev1.SecretEnvSource{LocalObjectReference: reference}})
	}
	return configs, &corev1.PodSpec{Containers: []corev1.Container{app}}
}

// dialectDifferences counts sets of annotations for which two tools differ, and shows the first ones.
type dialectDifferences int

func (n *dialectDifferences) compare(t *testing.T, got, want bool, said ...any) {
	t.Helper()
	if got == want {
		return
	}
	if *n++; *n <= 3 {
		t.Errorf("seed %d: restarts here: %t, with the other tool: %t; the config, the workload, the template: %v", *dialectSeed, got, want, said)
	}
}

func (n *dialectDifferences) report(t *testing.T) {
	t.Helper()
	if *n > 0 {
		t.Errorf("seed %d: %d of %d sets differ", *dialectSeed, *n, *dialectSets)
	}
}

func TestReloadersAnnotationsRestartWhatReloaderRestarts(t *testing.T) {
	d, n := drawing{rand.New(rand.NewPCG(*dialectSeed, 0))}, new(dialectDifferences)
	configs, pod := configsToRead()
	for range *dialectSets / len(configs) {
		own, template := d.reloaderAnnotations(), d.reloaderAnnotations()
		rules := optin.Rules{ByDefault: d.IntN(4) == 0, Dialects: []optin.Dialect{optin.Reloader}}
		restarts := restarting(&rules, own, template, pod)
		for _, c := range configs {
			c.annotations = objecttest.Annotations{}
			d.put(c.annotations, "reloader.stakater.com/match", "true", "true", "1", "")
			if d.IntN(4) == 0 {
				d.put(c.annotations, "reloader.stakater.com/ignore", "true", "false", "1")
			}
			want, byPattern := reloads(rules.ByDefault, own, template, &c)
			if byPattern && !c.isRead {
				want = false // here, a pattern counts among the configs that the containers read
			}
			n.compare(t, restarts(&c), want, c, own, template, "by default:", rules.ByDefault)
		}
	}
	n.report(t)
}

// wave does not remove the spaces in a list, so that it overlooks what comes after one.
func TestWavesAnnotationsRestartWhatWaveRestarts(t *testing.T) {
	d, n := drawing{rand.New(rand.NewPCG(*dialectSeed, 0))}, new(dialectDifferences)
	configs, pod := configsToRead()
	rules := optin.Rules{Dialects: []optin.Dialect{optin.Wave}}
	for range *dialectSets / len(configs) {
		own, template := d.waveAnnotations(), d.waveAnnotations()
		restarts := restarting(&rules, own, template, pod)
		for _, c := range configs {
			extra := strings.Split(own["wave.pusher.com/extra-"+c.ref.Kind.String()+"s"], ",")
			isExtra := slices.Contains(extra, c.ref.Name) || slices.Contains(extra, "ns/"+c.ref.Name)
			n.compare(t, restarts(&c), own[objecttest.WaveOptIn] == "true" && (c.isRead || isExtra), c, own, template)
		}
	}
	n.report(t)
}

func (d drawing) waveAnnotations() objecttest.Annotations {
	said := objecttest.Annotations{}
	d.put(said, objecttest.WaveOptIn, "true", "true", "false", "1", "")
	for _, name := range []string{objecttest.WaveConfigMaps, waveSecrets} {
		d.put(said, name, "a", "elsewhere", "b,elsewhere", "ns/elsewhere,a", "other/elsewhere", "", ",", "a/b/elsewhere", "else*", "/elsewhere", "elsewhere/")
	}
	return said
}
