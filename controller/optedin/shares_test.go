package optedin

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/optin"
	"kubernetes-deployment-restart-controller/controller/kinds"
)

// largestOf says it again, slowly: of all objects that count, the largest are left alone until the others fit.
func largestOf(sizes map[int]int, limit int) map[int]bool {
	left := make(map[int]bool)
	sum := 0
	for _, key := range slices.SortedFunc(maps.Keys(sizes), func(a, b int) int { return cmp.Or(sizes[a]-sizes[b], a-b) }) {
		if sizes[key] <= LittleSize {
			continue
		}
		if sum += sizes[key]; sum > limit {
			left[key] = true
		}
	}
	return left
}

func TestWhichObjectsAreLeftAloneFollowsFromTheObjectsAlone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const limit = 200
		s, sizes, before := newShares(limit, cmp.Compare[int]), make(map[int]int), map[int]bool{}
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			key, size := rapid.IntRange(1, 12).Draw(t, "key"), rapid.SampledFrom([]int{0, 1, 16, 17, 40, 40, 90, 180, 201}).Draw(t, "size")
			leave, readmit := s.put("a", key, size)
			if sizes[key] = size; size == 0 {
				delete(sizes, key)
			}
			want := largestOf(sizes, limit)
			for other := range 13 {
				if got := s.leaves("a", other); got != want[other] {
					t.Fatalf("%v: %d is left alone: %t", sizes, other, got)
				}
				changed := other != key && want[other] != before[other]
				if changed && want[other] != slices.Contains(leave, other) || changed && want[other] == slices.Contains(readmit, other) {
					t.Fatalf("%v: %v are left alone, %v no longer; want %d, too", sizes, leave, readmit, other)
				}
				if !changed && (slices.Contains(leave, other) || slices.Contains(readmit, other)) {
					t.Fatalf("%v: %v are left alone, %v no longer; but not %d", sizes, leave, readmit, other)
				}
			}
			before = want
		}
		for key := range sizes {
			s.put("a", key, 0)
		}
		if len(s.namespaces) > 0 {
			t.Fatal("an empty namespace is remembered")
		}
	})
}

func TestAListLeavesAloneWhatItsObjectsOneByOneWould(t *testing.T) {
	sizes := rapid.MapOfN(rapid.IntRange(1, 12), rapid.SampledFrom([]int{0, 1, 16, 17, 40, 40, 90, 180, 201}), 0, 12)
	rapid.Check(t, func(t *rapid.T) {
		const limit = 200
		atOnce, single, all := newShares(limit, cmp.Compare[int]), newShares(limit, cmp.Compare[int]), make(map[int]int)
		for range rapid.IntRange(1, 4).Draw(t, "lists") {
			before := largestOf(all, limit)
			listed := sizes.Draw(t, "listed")
			former := maps.Clone(all)
			leave, readmit := atOnce.putAll("a", listed)
			for key, size := range listed {
				single.put("a", key, size)
			}
			maps.Copy(all, listed)
			left := largestOf(all, limit)
			for key := range 13 {
				if atOnce.leaves("a", key) != left[key] || single.leaves("a", key) != left[key] {
					t.Fatalf("%v: %d is left alone: %t", all, key, atOnce.leaves("a", key))
				}
				counts := all[key] > LittleSize && former[key] > LittleSize
				if slices.Contains(leave, key) != (counts && left[key] && !before[key]) || slices.Contains(readmit, key) != (counts && !left[key] && before[key]) {
					t.Fatalf("%v, then %v: %v are left alone, %v no longer", former, listed, leave, readmit)
				}
			}
		}
		for key := range all {
			all[key] = 0
		}
		if atOnce.putAll("a", all); len(atOnce.namespaces) > 0 {
			t.Fatal("an empty namespace is remembered")
		}
	})
}

// The first list of a leader may show a namespace with very many workloads, while others wait.
func BenchmarkTakeInSizesOf100000WorkloadsOfANamespace(b *testing.B) {
	all := make([]*kinds.Observation, 100_000)
	for i := range all {
		all[i] = &kinds.Observation{Workload: &kinds.WorkloadObservation{
			Ref:  names.WorkloadRef{Kind: names.Deployment, Namespace: "a", Name: fmt.Sprintf("deployment-%06d", (i*7919)%len(all))},
			Size: 17 + i%100,
		}}
	}
	for b.Loop() {
		NewOptIns(optin.Rules{}, nil).ListSizes(names.Deployment, "", all)
	}
}

func TestNamespacesHaveSharesOfTheirOwn(t *testing.T) {
	s := newShares(100, cmp.Compare[int])
	s.put("a", 1, 90)
	s.put("b", 1, 90)
	s.put("a", 2, 91)
	if s.leaves("a", 1) || !s.leaves("a", 2) || s.leaves("b", 1) {
		t.Error("want only the second one of a left alone")
	}
	if got := s.those("b"); !slices.Equal(got, []int{1}) {
		t.Errorf("%v count in b", got)
	}
}
