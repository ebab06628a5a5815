package pack

import (
	"maps"
	"math"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestValuesAreUnpackedAsTheyWere(t *testing.T) {
	number := rapid.OneOf(rapid.Int64(), rapid.SampledFrom([]int64{0, -1, 63, 64, math.MaxInt64, math.MinInt64}))
	rapid.Check(t, func(t *rapid.T) {
		m := rapid.MapOf(rapid.String(), rapid.String()).Draw(t, "map")
		first, second, text, isSet := number.Draw(t, "first"), number.Draw(t, "second"), rapid.String().Draw(t, "text"), rapid.Bool().Draw(t, "flag")
		at := time.Unix(rapid.Int64Range(0, 1<<33).Draw(t, "time"), 0)
		var p Packer
		p.Numbers(first, second)
		p.Texts(text, text)
		p.Flags(isSet, !isSet)
		p.Time(at)
		p.Values(m, []string{"a", "", "b"})
		p.TextMap(m, func(key string) bool { return !strings.Contains(key, "a") })

		u := UnpackerOf(p.String())
		if u.Number() != first || u.Number() != second || u.Text() != text || u.OwnText() != text {
			t.Fatal("other numbers or texts")
		}
		var one, other bool
		if u.Flags(&one, &other); one != isSet || other == isSet || !u.Time().Equal(at) {
			t.Fatal("other flags, or another time")
		}
		values := map[string]string{}
		u.Values(values, []string{"a", "", "b"})
		wanted := maps.Clone(m)
		maps.DeleteFunc(wanted, func(key, _ string) bool { return key != "a" && key != "" && key != "b" })
		if !maps.Equal(values, wanted) {
			t.Fatalf("values %q, want %q", values, wanted)
		}
		rest := u.TextMap(3)
		maps.DeleteFunc(m, func(key, _ string) bool { return strings.Contains(key, "a") })
		if !maps.Equal(rest, m) || u != UnpackerOf("") {
			t.Fatalf("map %q, want %q; %q is left", rest, m, u.packed)
		}
	})
}
