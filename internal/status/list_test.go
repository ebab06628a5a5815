package status_test

import (
	"cmp"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"kubernetes-deployment-restart-controller/internal/status"
)

func TestAShortlistHasTheFirstValuesAndCountsAll(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		all := rapid.SliceOfN(rapid.IntRange(0, 1000), 0, 3*status.Limit).Draw(t, "values")
		list := status.NewShortlist(cmp.Compare[int])
		for _, value := range all {
			list.Add(value)
		}
		got := status.ListOf(list, func(value int) int { return value })
		slices.Sort(all)
		if want := all[:min(len(all), status.Limit)]; !slices.Equal(got.Items, want) || got.Items == nil || got.Total != len(all) || got.More() != len(all)-len(want) {
			t.Fatalf("got %+v, want %v of %d", got, want, len(all))
		}
	})
}
