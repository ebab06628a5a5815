package digest

import "testing"

func TestADigestDependsOnWhereTextsEnd(t *testing.T) {
	digests := map[Digest][]string{}
	for _, texts := range [][]string{{"a", "b"}, {"ab"}, {"ab", ""}, {"", "ab"}, {"a", "b", ""}, {"b", "a"}} {
		if other, found := digests[Of(texts...)]; found {
			t.Errorf("%q has the digest of %q", texts, other)
		}
		digests[Of(texts...)] = texts
	}
}
