package catalog

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"
)

func TestGlobsMatchAsThoseOfPathsDo(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		glob := rapid.StringMatching(`[ab?*]{1,8}`).Draw(t, "glob")
		text := rapid.StringMatching(`[ab]{0,10}`).Draw(t, "text")
		if checkGlob(glob) != nil {
			t.Skip("not a glob")
		}
		if want, err := path.Match(glob, text); err != nil || matchesGlob(glob, text) != want {
			t.Fatalf("%q and %q: not %t (%v)", glob, text, want, err)
		}
	})
}

func TestKeysCountAsIfEachRuleWereComparedWithThem(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		draw := func(name string) []string { return rapid.SliceOf(rapid.StringMatching(`[a-c*]{1,3}`)).Draw(t, name) }
		only, ignored, key := draw("only"), draw("ignored"), rapid.StringMatching(`[a-c]{1,3}`).Draw(t, "key")
		matches := func(glob string) bool { return matchesGlob(glob, key) }
		want := (len(only) == 0 || slices.ContainsFunc(only, matches)) && !slices.ContainsFunc(ignored, matches)
		f := Filter{Only: strings.Join(only, ",configmap/web:"), Ignore: strings.Join(ignored, ",configmap/web:")}
		for _, text := range []*string{&f.Only, &f.Ignore} {
			if *text != "" {
				*text = "configmap/web:" + *text
			}
		}
		rules := f.rules("ns").of(configMapRef("web"))
		if got := rules.counts(key); got != want {
			t.Fatalf("%q by %+v: %t, want %t", key, f, got, want)
		}
		all, isAny := rules.limit(Selection{})
		if got := isAny && all.names(key); got != want {
			t.Fatalf("%q among all keys by %+v: %t, want %t", key, f, got, want)
		}
	})
}

func TestEntriesThatCannotBeUsedHaveAMessage(t *testing.T) {
	const kinds = `it does not begin with "configmap/" or "secret/"`
	for text, want := range map[string]string{
		"configmap/web":            "",
		"ConfigMap/web:COMMIT":     "",
		"secret/*-tls":             "",
		"secret/a*b?":              "",
		"web":                      kinds,
		"configmaps/web":           kinds,
		"configmap/":               "a name is missing",
		"configmap/web:":           "a name is missing",
		"configmap/web:a:b":        "a name has a character that no name has",
		"configmap/shop/web":       "",
		"configmap/shop/web:a*":    "",
		"configmap/shop/w*":        "wildcards cannot name configs of other namespaces",
		"configmap/*/web":          "wildcards cannot name configs of other namespaces",
		"configmap//web":           "a name is missing",
		"configmap/shop/":          "a name is missing",
		"configmap/a/b/c":          "a name has a character that no name has",
		"configmap/[ab]":           "a name has a character that no name has",
		"configmap/*?*":            "a question mark is between two asterisks",
		"configmap/web:*a?a*":      "a question mark is between two asterisks",
		"secret/" + longName + "x": "a name is too long",
	} {
		if _, err := parseEntry(text); (err == nil) != (want == "") || err != nil && err.Error() != want {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

var longName = strings.Repeat("x", 253)

func TestAFilterKeepsWhatItCanUse(t *testing.T) {
	many := strings.Repeat("configmap/a,", 100)
	wild := ""
	for i := range 11 {
		wild += fmt.Sprintf("configmap/web:%d*,", i)
	}
	for name, test := range map[string]struct {
		only, also, ignore string
		want               Filter
		problem            string // a part of it
	}{
		"nothing":               {},
		"sorted, each once":     {ignore: " secret/b , ConfigMap/a,,configmap/a ", want: Filter{Ignore: "configmap/a,secret/b"}},
		"both":                  {only: "configmap/a*", ignore: "configmap/ab", want: Filter{Only: "configmap/a*", Ignore: "configmap/ab"}},
		"a wrong entry":         {ignore: "configmap/a,secrets/tls", want: Filter{Ignore: "configmap/a"}, problem: `.ignore: cannot use the entry "secrets/tls": it does not begin with "configmap/" or "secret/"; what cannot be used is not ignored`},
		"a wrong entry of only": {only: "configmap/a,secrets/tls", problem: `.only: cannot use the entry "secrets/tls": it does not begin with "configmap/" or "secret/"; it counts as absent, so everything counts`},
		"a wrong entry of also": {also: "configmap/a,web,secret/shop/tls:*.crt", want: Filter{Also: "configmap/a,secret/shop/tls:*.crt"}, problem: `.also: cannot use the entry "web": it does not begin with "configmap/" or "secret/"; what cannot be used does not count`},
		"a glob in also":        {also: "configmap/a*,secret/b", want: Filter{Also: "secret/b"}, problem: `.also: cannot use the entry "configmap/a*": wildcards cannot name configs that are read through the API, only their keys; what`},
		"another namespace":     {only: "configmap/shop/a", ignore: "configmap/shop/a", want: Filter{Ignore: "configmap/shop/a"}, problem: `.only: cannot use the entry "configmap/shop/a": only annotations that name what is read through the API, or is ignored, name other namespaces; it counts as absent`},
		"too many in also":      {also: many, problem: ".also: 101 entries are too many, the limit is 100"},
		"100 KiB":               {also: strings.Repeat("z", 100<<10), ignore: strings.Repeat("x", 100<<10), only: strings.Repeat("y", 100<<10), problem: "102400 bytes are too many, the limit is 4096"},
		"too many entries":      {ignore: many, problem: "101 entries are too many, the limit is 100"},
		"too many wildcards":    {ignore: wild, want: Filter{Ignore: strings.Join(slices.Sorted(slices.Values(strings.Split(wild, ",")[:10])), ",")}, problem: `cannot use the entry "configmap/web:10*": it is one of more than 10 entries with wildcards`},
	} {
		meta := &metav1.ObjectMeta{Annotations: map[string]string{OnlyAnnotation: test.only, AlsoAnnotation: test.also, IgnoreAnnotation: test.ignore}}
		policy, filter := readWorkloadPolicy(meta, Understood{})
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
	everything, some := Selection{}, Selection{Names: []string{"A", "B", "COMMIT"}, DataOnly: true}
	keys := []string{"A", "B", "COMMIT", "Z"}
	for name, test := range map[string]struct {
		filter Filter
		keys   Selection
		want   []string
		isGone bool // no reference remains
		rules  string
	}{
		"no filter":                {Filter{}, everything, keys, false, ""},
		"another config":           {Filter{Ignore: "configmap/shop"}, everything, keys, false, ""},
		"another kind":             {Filter{Ignore: "secret/web"}, everything, keys, false, ""},
		"ignored":                  {Filter{Ignore: "configmap/w*"}, everything, nil, true, ""},
		"a key ignored":            {Filter{Ignore: "configmap/web:COMMIT"}, everything, []string{"A", "B", "Z"}, false, "all but COMMIT"},
		"a listed key ignored":     {Filter{Ignore: "configmap/web:COM*"}, some, []string{"A", "B"}, false, ""},
		"all listed keys ignored":  {Filter{Ignore: "configmap/web:?,configmap/web:COMMIT"}, some, nil, true, ""},
		"all keys ignored":         {Filter{Ignore: "configmap/web:*"}, everything, nil, true, ""},
		"only another":             {Filter{Only: "configmap/shop"}, everything, nil, true, ""},
		"only it":                  {Filter{Only: "configmap/web"}, everything, keys, false, ""},
		"only keys":                {Filter{Only: "configmap/web:Z,configmap/web:A"}, everything, []string{"A", "Z"}, false, ""},
		"only keys by globs":       {Filter{Only: "configmap/web:?"}, everything, []string{"A", "B", "Z"}, false, "?"},
		"only some of those":       {Filter{Only: "configmap/web:?", Ignore: "configmap/web:B"}, everything, []string{"A", "Z"}, false, "? but B"},
		"only keys and the config": {Filter{Only: "configmap/web:Z,configmap/*"}, everything, keys, false, ""},
		"only a listed key":        {Filter{Only: "configmap/web:Z,configmap/web:A"}, some, []string{"A"}, false, ""},
		"only keys not listed":     {Filter{Only: "configmap/web:Z"}, some, nil, true, ""},
	} {
		references := test.filter.rules("ns").limit([]Reference{{Config: configMapRef("web"), Keys: test.keys}})
		if len(references) == 0 {
			if !test.isGone {
				t.Errorf("%s: no reference", name)
			}
			continue
		}
		content := data{}
		for _, key := range keys {
			content[key] = "x"
		}
		config := NewConfigMap(configMap("web", content))
		if got := config.SelectedKeys(references); test.isGone || !slices.Equal(got, test.want) || references[0].Keys.Rules() != test.rules {
			t.Errorf("%s: %v, %q", name, got, references[0].Keys.Rules())
		}
	}
}

func TestAWorkloadIsNotInTheIndexOfWhatDoesNotCount(t *testing.T) {
	s := begin(deployment(readsAll("web", false)))
	s.deployment.Annotations[IgnoreAnnotation] = "configmap/web"
	s.listed(configMap("web", data{"key": "1"}))
	if readers := s.catalog.WorkloadsReferencing(configMapRef("web")); len(readers) > 0 {
		t.Fatalf("read by %v", refsOf(readers))
	}
	delete(s.deployment.Annotations, IgnoreAnnotation)
	if !s.catalog.ObserveWorkload(s.reduced()) || len(s.catalog.WorkloadsReferencing(configMapRef("web"))) != 1 {
		t.Fatal("the end of the filter is no news")
	}
}

func TestARecordLeavesRoomForItsFilter(t *testing.T) {
	d := deployment(readsAll("web", false))
	before := mustWorkload(d).Room
	d.Annotations[IgnoreAnnotation], d.Annotations[AlsoAnnotation] = "configmap/"+longName, "secret/"+longName
	without, _ := Checksums{}.Annotations(Basis{})
	w := mustWorkload(d)
	with, err := Checksums{}.Annotations(Basis{Without: Without{Filter: w.Filter()}})
	if err != nil {
		t.Fatal(err)
	}
	annotation := len(IgnoreAnnotation) + len(d.Annotations[IgnoreAnnotation]) + len(AlsoAnnotation) + len(d.Annotations[AlsoAnnotation])
	if more, less := len(with[BasisAnnotation])-len(without[BasisAnnotation]), int(before-w.Room)-annotation; more > less {
		t.Errorf("the basis is %d bytes longer, and there are %d for it", more, less)
	}
}

func TestARecordIsNotTrustedIfNoAnnotationCanSayWhatItLeavesOut(t *testing.T) {
	for name, test := range map[string]struct {
		filter  Filter
		ignored string
		want    bool
	}{
		"what an annotation can say": {Filter{Only: "configmap/web", Ignore: entriesOf("configmap/web:k%02d", maxFilterEntries)}, "", true},
		"too many entries":           {Filter{Ignore: entriesOf("configmap/web:k%03d", maxFilterEntries+1)}, "", false},
		"10,000 entries":             {Filter{Only: entriesOf("configmap/web:k%04d", 10_000)}, "", false},
		"too many bytes":             {Filter{Only: entriesOf("configmap/"+strings.Repeat("x", 50)+"%02d", maxFilterEntries)}, "", false},
		"too many wildcards":         {Filter{Only: entriesOf("configmap/*:k%02d", maxFilterGlobs+1)}, "", false},
		"in another form":            {Filter{Only: "configmap/web,configmap/shop"}, "", false},
		"too many ignored configs":   {Filter{}, strings.Repeat("configmap/ns/web,", 100), false},
		"unusable":                   {Filter{Only: "web"}, "", false},
		"what is read by the API":    {Filter{Also: "configmap/shop/web,configmap/web:k*"}, "", true},
		"that by wildcards":          {Filter{Also: "configmap/web*"}, "", false},
		"other namespaces":           {Filter{Only: "configmap/shop/web"}, "", false},
	} {
		d := deployment(readsAll("web", false))
		written, err := Checksums{configMapRef("web"): 1}.Annotations(Basis{Template: mustWorkload(d).Template, Key: testKey, Written: noonPlus(10), Without: Without{Filter: test.filter, Ignored: test.ignored}})
		if err != nil {
			t.Fatal(err)
		}
		maps.Copy(d.Annotations, written)
		d.ManagedFields = append(d.ManagedFields, owns(FieldManager, noonPlus(10), annotationField(ChecksumsAnnotation), annotationField(BasisAnnotation)))
		if w := mustWorkload(d); w.Applied.Trusted != test.want || w.Filter() != (Filter{}) || (w.Filtering != nil) != test.want {
			t.Errorf("%s: %+v, %+v", name, w.Applied, w.Filtering)
		}
	}
}

func entriesOf(format string, count int) string {
	entries := make([]string, count)
	for i := range entries {
		entries[i] = fmt.Sprintf(format, i)
	}
	return strings.Join(entries, ",")
}

func TestLittleIsKeptOfAFilterForEachReference(t *testing.T) {
	const containers = 50
	d := deployment(corev1.Container{})
	d.Spec.Template.Spec.Containers = nil
	for i := range containers {
		container := corev1.Container{Name: fmt.Sprint("app", i)}
		for j := range MaxReferences / containers {
			container.EnvFrom = append(container.EnvFrom, readsAll(fmt.Sprint("c", j), false).EnvFrom...)
		}
		d.Spec.Template.Spec.Containers = append(d.Spec.Template.Spec.Containers, container)
	}
	for name, only := range map[string]string{
		"names of keys": entriesOf("configmap/*:key%02d", maxFilterGlobs),
		"rules":         "configmap/*:*x," + entriesOf("configmap/*:key%02d", maxFilterGlobs-1),
	} {
		d.Annotations[OnlyAnnotation] = only
		lists := make(map[*string]bool)
		for _, reference := range mustWorkload(d).References {
			if len(reference.Keys.Names) != maxFilterGlobs {
				t.Fatalf("%s: a reference has %d names", name, len(reference.Keys.Names))
			}
			lists[&reference.Keys.Names[0]] = true
		}
		if len(lists) != MaxReferences/containers {
			t.Errorf("%s: %d lists for %d configs", name, len(lists), MaxReferences/containers)
		}
	}
}

func BenchmarkAHostileFilterOn10000References(b *testing.B) {
	d := manyVariables(MaxReferences, func(i int) (string, string) { return fmt.Sprintf("%s-%05d", strings.Repeat("a", 90), i), "key" })
	for _, count := range []int{0, maxFilterEntries} {
		b.Run(fmt.Sprint(count, " entries"), func(b *testing.B) {
			globs := min(count, maxFilterGlobs)
			d.Annotations[AlsoAnnotation] = entriesOf("configmap/a%02d", count)
			d.Annotations[IgnoreAnnotation] = entriesOf("configmap/*"+strings.Repeat("a", 25)+"*%02d", globs) + "," +
				entriesOf("configmap/a%02d", count-globs)
			b.ReportAllocs()
			for b.Loop() {
				mustWorkload(d)
			}
		})
	}
}

func TestAChangeOfTheFilterIsRememberedUntilARecordHasWhatCounts(t *testing.T) {
	s := begin(deployment(readsAll("web", true)))
	s.deployment.Annotations[OnlyAnnotation] = "configmap/web:a"
	s.listed(configMap("web", data{"a": "1", "b": "1"}))
	s.recorded(10)
	for i := range 3 {
		s.deployment.Annotations[OnlyAnnotation] = fmt.Sprintf("configmap/web:a,configmap/web:b,configmap/other-%d", i)
		s.catalog.ObserveWorkload(s.reduced())
		s.config("web", data{"a": "1", "b": fmt.Sprint(i + 2)}, 20)
	}
	first := s.present().Filtering.changed
	s.release("web:2")
	s.catalog.ObserveWorkload(s.reduced())
	if changed := s.present().Filtering.changed; first == 0 || changed != first {
		t.Errorf("it changed at %d, and after a release at %d", first, changed)
	}
	s.recorded(30)
	if changed := s.present().Filtering.changed; changed != 0 {
		t.Errorf("it changed at %d, before the record", changed)
	}
}

// Nothing else says whether it counted before.
func TestWithoutARecordEachEditOfWhatCountsNowIsAReason(t *testing.T) {
	s := begin(deployment(readsAll("web", true)))
	s.deployment.Annotations[OnlyAnnotation] = "configmap/web:a"
	s.listed(configMap("web", data{"a": "1", "b": "1"}))
	s.config("web", data{"a": "1", "b": "2"}, 20)
	s.deployment.Annotations[OnlyAnnotation] = "configmap/web:b"
	s.catalog.ObserveWorkload(s.reduced())
	if got := s.decide(t, startedAt(noonPlus(5))); got.Outcome != Restart {
		t.Errorf("%+v", got)
	}
}

// Nobody knows the keys of the config that counted by the former filter and count by the present one.
func TestNoRestartIsLostForAConfigThatIsGoneWhileTheFilterChanges(t *testing.T) {
	s := begin(deployment(readsAll("web", false)))
	s.listed(configMap("web", data{"a": "1", "b": "1"}))
	s.recorded(10)
	s.restartController()
	s.deployment.Annotations[IgnoreAnnotation] = "configmap/web:a"
	s.catalog.ObserveWorkload(s.reduced())
	s.recorded(20)
	s.created("web", data{"a": "1", "b": "2"}, 30)
	if got := s.decide(t); got.Outcome != Restart {
		t.Errorf("%+v", got)
	}
	s.recorded(40)
	if got := s.present().Applied.filter(); got != (Filter{Ignore: "configmap/web:a"}) {
		t.Errorf("recorded by %+v", got)
	}
}

// A filter that comes back before it was recorded is recorded, so that a later change counts from itself.
func TestAFilterThatCameBackIsRecordedAgain(t *testing.T) {
	d := deployment(readsAll("web", false))
	s := begin(d)
	d.Annotations[OnlyAnnotation] = "configmap/web:a"
	s.listed(configMap("web", data{"a": "1", "b": "1"}))
	s.recorded(10)
	for _, only := range []string{"configmap/web:a,configmap/web:c", "configmap/web:a"} {
		d.Annotations[OnlyAnnotation] = only
		s.catalog.ObserveWorkload(s.reduced())
	}
	if got := s.decide(t); got.Outcome != RecordOnly {
		t.Fatalf("the filter is back: %+v", got)
	}
	s.recorded(20)
	s.config("web", data{"a": "1", "b": "2"}, 5000) // does not count
	if got := s.decide(t); got.Outcome != Keep {
		t.Fatalf("after an edit that does not count: %+v", got)
	}
	d.Annotations[OnlyAnnotation] = "configmap/web:a,configmap/web:b"
	s.catalog.ObserveWorkload(s.reduced())
	if got := s.decide(t, startedAt(noonPlus(5))); got.Outcome != RecordOnly {
		t.Errorf("the key counts from now on: %+v", got)
	}
}
