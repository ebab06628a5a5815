package glob

import (
	"path"
	"testing"

	"pgregory.net/rapid"
)

func TestGlobsMatchAsThoseOfPathsDo(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pattern := rapid.StringMatching(`[ab?*]{1,8}`).Draw(t, "pattern")
		text := rapid.StringMatching(`[ab]{0,10}`).Draw(t, "text")
		if Check(pattern) != nil {
			t.Skip("not a glob")
		}
		if want, err := path.Match(pattern, text); err != nil || Matches(pattern, text) != want {
			t.Fatalf("%q and %q: not %t (%v)", pattern, text, want, err)
		}
	})
}
