package content

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestAFinderFindsWhatIsThereInAnyOrder(t *testing.T) {
	names := rapid.StringMatching(`[a-c]{0,3}`)
	rapid.Check(t, func(t *rapid.T) {
		list := slices.Compact(slices.Sorted(slices.Values(rapid.SliceOf(names).Draw(t, "list"))))
		asked := rapid.SliceOf(names).Draw(t, "asked")
		if rapid.Bool().Draw(t, "in order") {
			slices.Sort(asked)
		}
		f := newNameFinder(list)
		for _, name := range asked {
			if got, found := f.find(name); found != slices.Contains(list, name) || found && got != name || !found && got != "" {
				t.Fatalf("%q in %q: %q, %t", name, list, got, found)
			}
		}
	})
}
