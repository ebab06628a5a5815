package glob

import (
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestAGlobMatchesWhateverTheRegularExpressionMatches(t *testing.T) {
	expression := rapid.StringMatching(`(\.\*|\.\+|\\\.|[ab-]){1,8}(\|(\.\*|\.\+|[ab-]){1,4})?`)
	rapid.Check(t, func(t *rapid.T) {
		text, name := expression.Draw(t, "expression"), rapid.StringMatching(`[ab.-]{1,8}`).Draw(t, "name")
		globs, err := OfRegexp(text)
		if err != nil {
			t.Fatalf("%q cannot be used: %v", text, err)
		}
		for i, alternative := range strings.Split(text, "|") {
			if regexp.MustCompile("^"+alternative+"$").MatchString(name) && !Matches(globs[i], name) {
				t.Errorf("%q of %q does not match %q", globs[i], text, name)
			}
		}
	})
}

func TestARegularExpressionWithoutACounterpartIsRejected(t *testing.T) {
	for _, text := range []string{"", "|", "a|", "[ab]", "a+", "a*", "a?", ".?", ".*?", `\d+`, "(a|b)", "a{2}", "a b", "ä", "*", "?", `a\`, strings.Repeat("a", 300)} {
		if globs, err := OfRegexp(text); err == nil {
			t.Errorf("%q counts as %q", text, globs)
		}
	}
}

func FuzzOfRegexp(f *testing.F) {
	for _, seed := range []string{"a", ".*", "a.+b.+c", `\.`, "a|b", "^x$"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		globs, err := OfRegexp(text)
		for _, glob := range globs {
			if checkErr := Check(glob); err == nil && checkErr != nil {
				t.Errorf("%q: %q: %v", text, glob, checkErr)
			}
		}
	})
}
