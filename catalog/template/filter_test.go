package template

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"kubernetes-deployment-restart-controller/catalog/glob"
	"kubernetes-deployment-restart-controller/catalog/objecttest"
)

func TestKeysCountAsIfEachRuleWereComparedWithThem(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		draw := func(name string) []string { return rapid.SliceOf(rapid.StringMatching(`[a-c*]{1,3}`)).Draw(t, name) }
		only, ignored, key := draw("only"), draw("ignored"), rapid.StringMatching(`[a-c]{1,3}`).Draw(t, "key")
		matches := func(pattern string) bool { return glob.Matches(pattern, key) }
		want := (len(only) == 0 || slices.ContainsFunc(only, matches)) && !slices.ContainsFunc(ignored, matches)
		f := Filter{Only: strings.Join(only, ",configmap/web:"), Ignore: strings.Join(ignored, ",configmap/web:")}
		for _, text := range []*string{&f.Only, &f.Ignore} {
			if *text != "" {
				*text = "configmap/web:" + *text
			}
		}
		rules := f.Rules("ns").of(objecttest.ConfigMapRef("web"))
		if got := rules.counts(key); got != want {
			t.Fatalf("%q by %+v: %t, want %t", key, f, got, want)
		}
		all, isAny := rules.limit(Selection{})
		if got := isAny && all.HasName(key); got != want {
			t.Fatalf("%q among all keys by %+v: %t, want %t", key, f, got, want)
		}
	})
}

func TestEntriesThatCannotBeUsedHaveAMessage(t *testing.T) {
	const kinds = `it does not begin with "configmap/" or "secret/"`
	for text, want := range map[string]string{
		"configmap/web":                       "",
		"ConfigMap/web:COMMIT":                "",
		"secret/*-tls":                        "",
		"secret/a*b?":                         "",
		"web":                                 kinds,
		"configmaps/web":                      kinds,
		"configmap/":                          "a name is missing",
		"configmap/web:":                      "a name is missing",
		"configmap/web:a:b":                   "a name has a character that no name has",
		"configmap/shop/web":                  "",
		"configmap/shop/web:a*":               "",
		"configmap/shop/w*":                   "wildcards cannot name configs of other namespaces",
		"configmap/*/web":                     "wildcards cannot name configs of other namespaces",
		"configmap//web":                      "a name is missing",
		"configmap/shop/":                     "a name is missing",
		"configmap/a/b/c":                     "a name has a character that no name has",
		"configmap/[ab]":                      "a name has a character that no name has",
		"configmap/*?*":                       "a question mark is between two asterisks",
		"configmap/web:*a?a*":                 "a question mark is between two asterisks",
		"secret/" + objecttest.LongName + "x": "a name is too long",
	} {
		if _, err := parseEntry(text); (err == nil) != (want == "") || err != nil && err.Error() != want {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}
