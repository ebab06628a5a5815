package template_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubernetes-deployment-restart-controller/catalog/annotation"
	"kubernetes-deployment-restart-controller/catalog/catalogtest"
	"kubernetes-deployment-restart-controller/catalog/content"
	"kubernetes-deployment-restart-controller/catalog/objecttest"
	"kubernetes-deployment-restart-controller/catalog/policy"
	"kubernetes-deployment-restart-controller/catalog/record"
	"kubernetes-deployment-restart-controller/catalog/template"
)

func TestAFilterKeepsWhatItCanUse(t *testing.T) {
	many := strings.Repeat("configmap/a,", 100)
	wild := ""
	for i := range 11 {
		wild += fmt.Sprintf("configmap/web:%d*,", i)
	}
	for name, test := range map[string]struct {
		only, also, ignore string
		want               template.Filter
		problem            string // a part of it
	}{
		"nothing":               {},
		"sorted, each once":     {ignore: " secret/b , ConfigMap/a,,configmap/a ", want: template.Filter{Ignore: "configmap/a,secret/b"}},
		"both":                  {only: "configmap/a*", ignore: "configmap/ab", want: template.Filter{Only: "configmap/a*", Ignore: "configmap/ab"}},
		"a wrong entry":         {ignore: "configmap/a,secrets/tls", want: template.Filter{Ignore: "configmap/a"}, problem: `.ignore: cannot use the entry "secrets/tls": it does not begin with "configmap/" or "secret/"; what cannot be used is not ignored`},
		"a wrong entry of only": {only: "configmap/a,secrets/tls", problem: `.only: cannot use the entry "secrets/tls": it does not begin with "configmap/" or "secret/"; it counts as absent, so everything counts`},
		"a wrong entry of also": {also: "configmap/a,web,secret/shop/tls:*.crt", want: template.Filter{Also: "configmap/a,secret/shop/tls:*.crt"}, problem: `.also: cannot use the entry "web": it does not begin with "configmap/" or "secret/"; what cannot be used does not count`},
		"a glob in also":        {also: "configmap/a*,secret/b", want: template.Filter{Also: "secret/b"}, problem: `.also: cannot use the entry "configmap/a*": wildcards cannot name configs that are read through the API, only their keys; what`},
		"another namespace":     {only: "configmap/shop/a", ignore: "configmap/shop/a", want: template.Filter{Ignore: "configmap/shop/a"}, problem: `.only: cannot use the entry "configmap/shop/a": only annotations that name what is read through the API, or is ignored, name other namespaces; it counts as absent`},
		"too many in also":      {also: many, problem: ".also: 101 entries are too many, the limit is 100"},
		"100 KiB":               {also: strings.Repeat("z", 100<<10), ignore: strings.Repeat("x", 100<<10), only: strings.Repeat("y", 100<<10), problem: "102400 bytes are too many, the limit is 4096"},
		"too many entries":      {ignore: many, problem: "101 entries are too many, the limit is 100"},
		"too many wildcards":    {ignore: wild, want: template.Filter{Ignore: strings.Join(slices.Sorted(slices.Values(strings.Split(wild, ",")[:10])), ",")}, problem: `cannot use the entry "configmap/web:10*": it is one of more than 10 entries with wildcards`},
	} {
		meta := &metav1.ObjectMeta{Annotations: map[string]string{annotation.OnlyAnnotation: test.only, annotation.AlsoAnnotation: test.also, annotation.IgnoreAnnotation: test.ignore}}
		policy, filter := policy.ReadWorkloadPolicy(meta, policy.Understood{})
		problem := ""
		if policy != nil {
			problem = policy.Problem
		}
		if filter != test.want || (problem == "") != (test.problem == "") || !strings.Contains(problem, test.problem) {
			t.Errorf("%s: %+v, %q", name, filter, problem)
		}
		if len(problem) > 1000 {
			t.Errorf("%s: the message has %d bytes", name, len(problem))
		}
	}
}

func TestAFilterLimitsWhatASelectionShows(t *testing.T) {
	everything, some := template.Selection{}, template.Selection{Names: []string{"A", "B", "COMMIT"}, DataOnly: true}
	keys := []string{"A", "B", "COMMIT", "Z"}
	for name, test := range map[string]struct {
		filter template.Filter
		keys   template.Selection
		want   []string
		isGone bool // no reference remains
		rules  string
	}{
		"no filter":                {template.Filter{}, everything, keys, false, ""},
		"another config":           {template.Filter{Ignore: "configmap/shop"}, everything, keys, false, ""},
		"another kind":             {template.Filter{Ignore: "secret/web"}, everything, keys, false, ""},
		"ignored":                  {template.Filter{Ignore: "configmap/w*"}, everything, nil, true, ""},
		"a key ignored":            {template.Filter{Ignore: "configmap/web:COMMIT"}, everything, []string{"A", "B", "Z"}, false, "all but COMMIT"},
		"a listed key ignored":     {template.Filter{Ignore: "configmap/web:COM*"}, some, []string{"A", "B"}, false, ""},
		"all listed keys ignored":  {template.Filter{Ignore: "configmap/web:?,configmap/web:COMMIT"}, some, nil, true, ""},
		"all keys ignored":         {template.Filter{Ignore: "configmap/web:*"}, everything, nil, true, ""},
		"only another":             {template.Filter{Only: "configmap/shop"}, everything, nil, true, ""},
		"only it":                  {template.Filter{Only: "configmap/web"}, everything, keys, false, ""},
		"only keys":                {template.Filter{Only: "configmap/web:Z,configmap/web:A"}, everything, []string{"A", "Z"}, false, ""},
		"only keys by globs":       {template.Filter{Only: "configmap/web:?"}, everything, []string{"A", "B", "Z"}, false, "?"},
		"only some of those":       {template.Filter{Only: "configmap/web:?", Ignore: "configmap/web:B"}, everything, []string{"A", "Z"}, false, "? but B"},
		"only keys and the config": {template.Filter{Only: "configmap/web:Z,configmap/*"}, everything, keys, false, ""},
		"only a listed key":        {template.Filter{Only: "configmap/web:Z,configmap/web:A"}, some, []string{"A"}, false, ""},
		"only keys not listed":     {template.Filter{Only: "configmap/web:Z"}, some, nil, true, ""},
	} {
		references := test.filter.Rules("ns").Limit([]template.Reference{{Config: objecttest.ConfigMapRef("web"), Keys: test.keys}})
		if len(references) == 0 {
			if !test.isGone {
				t.Errorf("%s: no reference", name)
			}
			continue
		}
		state := objecttest.Data{}
		for _, key := range keys {
			state[key] = "x"
		}
		config := content.NewConfigMap(objecttest.ConfigMap("web", state))
		if got := config.SelectedKeys(references); test.isGone || !slices.Equal(got, test.want) || references[0].Keys.Rules() != test.rules {
			t.Errorf("%s: %v, %q", name, got, references[0].Keys.Rules())
		}
	}
}

func TestARecordLeavesRoomForItsFilter(t *testing.T) {
	d := objecttest.Deployment(objecttest.ReadsAll("web", false))
	before := catalogtest.MustWorkload(d).Record.Room
	d.Annotations[annotation.IgnoreAnnotation], d.Annotations[annotation.AlsoAnnotation] = "configmap/"+objecttest.LongName, "secret/"+objecttest.LongName
	without, _ := record.Checksums{}.Annotations(record.Basis{})
	w := catalogtest.MustWorkload(d)
	with, err := record.Checksums{}.Annotations(record.Basis{Without: record.Without{Filter: w.Filter()}})
	if err != nil {
		t.Fatal(err)
	}
	note := len(annotation.IgnoreAnnotation) + len(d.Annotations[annotation.IgnoreAnnotation]) + len(annotation.AlsoAnnotation) + len(d.Annotations[annotation.AlsoAnnotation])
	if more, less := len(with[annotation.BasisAnnotation])-len(without[annotation.BasisAnnotation]), int(before-w.Record.Room)-note; more > less {
		t.Errorf("the basis is %d bytes longer, and there are %d for it", more, less)
	}
}

func TestARecordIsNotTrustedIfNoAnnotationCanSayWhatItLeavesOut(t *testing.T) {
	for name, test := range map[string]struct {
		filter  template.Filter
		ignored string
		want    bool
	}{
		"what an annotation can say": {template.Filter{Only: "configmap/web", Ignore: objecttest.EntriesOf("configmap/web:k%02d", template.MaxFilterEntries)}, "", true},
		"too many entries":           {template.Filter{Ignore: objecttest.EntriesOf("configmap/web:k%03d", template.MaxFilterEntries+1)}, "", false},
		"10,000 entries":             {template.Filter{Only: objecttest.EntriesOf("configmap/web:k%04d", 10_000)}, "", false},
		"too many bytes":             {template.Filter{Only: objecttest.EntriesOf("configmap/"+strings.Repeat("x", 50)+"%02d", template.MaxFilterEntries)}, "", false},
		"too many wildcards":         {template.Filter{Only: objecttest.EntriesOf("configmap/*:k%02d", template.MaxFilterGlobs+1)}, "", false},
		"in another form":            {template.Filter{Only: "configmap/web,configmap/shop"}, "", false},
		"too many ignored configs":   {template.Filter{}, strings.Repeat("configmap/ns/web,", 100), false},
		"unusable":                   {template.Filter{Only: "web"}, "", false},
		"what is read by the API":    {template.Filter{Also: "configmap/shop/web,configmap/web:k*"}, "", true},
		"that by wildcards":          {template.Filter{Also: "configmap/web*"}, "", false},
		"other namespaces":           {template.Filter{Only: "configmap/shop/web"}, "", false},
	} {
		d := objecttest.Deployment(objecttest.ReadsAll("web", false))
		written, err := record.Checksums{objecttest.ConfigMapRef("web"): 1}.Annotations(record.Basis{Template: catalogtest.MustWorkload(d).Template, Key: catalogtest.TestKey, Written: objecttest.NoonPlus(10), Without: record.Without{Filter: test.filter, Ignored: test.ignored}})
		if err != nil {
			t.Fatal(err)
		}
		maps.Copy(d.Annotations, written)
		d.ManagedFields = append(d.ManagedFields, objecttest.Owns(annotation.FieldManager, objecttest.NoonPlus(10), objecttest.AnnotationField(annotation.ChecksumsAnnotation), objecttest.AnnotationField(annotation.BasisAnnotation)))
		if w := catalogtest.MustWorkload(d); w.Record.Trusted != test.want || w.Filter() != (template.Filter{}) || (w.Filtering != nil) != test.want {
			t.Errorf("%s: %+v, %+v", name, w.Record, w.Filtering)
		}
	}
}

func TestLittleIsKeptOfAFilterForEachReference(t *testing.T) {
	const containers = 50
	d := objecttest.Deployment(corev1.Container{})
	d.Spec.Template.Spec.Containers = nil
	for i := range containers {
		container := corev1.Container{Name: fmt.Sprint("app", i)}
		for j := range template.MaxReferences / containers {
			container.EnvFrom = append(container.EnvFrom, objecttest.ReadsAll(fmt.Sprint("c", j), false).EnvFrom...)
		}
		d.Spec.Template.Spec.Containers = append(d.Spec.Template.Spec.Containers, container)
	}
	for name, only := range map[string]string{
		"names of keys": objecttest.EntriesOf("configmap/*:key%02d", template.MaxFilterGlobs),
		"rules":         "configmap/*:*x," + objecttest.EntriesOf("configmap/*:key%02d", template.MaxFilterGlobs-1),
	} {
		d.Annotations[annotation.OnlyAnnotation] = only
		lists := make(map[*string]bool)
		for _, reference := range catalogtest.MustWorkload(d).References {
			if len(reference.Keys.Names) != template.MaxFilterGlobs {
				t.Fatalf("%s: a reference has %d names", name, len(reference.Keys.Names))
			}
			lists[&reference.Keys.Names[0]] = true
		}
		if len(lists) != template.MaxReferences/containers {
			t.Errorf("%s: %d lists for %d configs", name, len(lists), template.MaxReferences/containers)
		}
	}
}

func BenchmarkAHostileFilterOn10000References(b *testing.B) {
	d := objecttest.ManyVariables(template.MaxReferences, func(i int) (string, string) { return fmt.Sprintf("%s-%05d", strings.Repeat("a", 90), i), "key" })
	for _, count := range []int{0, template.MaxFilterEntries} {
		b.Run(fmt.Sprint(count, " entries"), func(b *testing.B) {
			globs := min(count, template.MaxFilterGlobs)
			d.Annotations[annotation.AlsoAnnotation] = objecttest.EntriesOf("configmap/a%02d", count)
			d.Annotations[annotation.IgnoreAnnotation] = objecttest.EntriesOf("configmap/*"+strings.Repeat("a", 25)+"*%02d", globs) + "," +
				objecttest.EntriesOf("configmap/a%02d", count-globs)
			b.ReportAllocs()
			for b.Loop() {
				catalogtest.MustWorkload(d)
			}
		})
	}
}
