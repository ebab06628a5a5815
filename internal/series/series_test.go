package series_test

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"pgregory.net/rapid"

	"kubernetes-deployment-restart-controller/internal/series"
)

func newCounter(limit int, known ...string) *series.Counter {
	return series.NewCounter(prometheus.CounterOpts{Name: "writes_total", Help: "Writes."}, "manager", limit, known...)
}

func TestValuesBeyondTheLimitCountAsOther(t *testing.T) {
	c := newCounter(2, "kubectl")
	for _, value := range []string{"a", "b", "c", "a", "kubectl", "b"} {
		c.Inc(value)
	}
	want := `
# HELP writes_total Writes.
# TYPE writes_total counter
writes_total{manager="a"} 2
writes_total{manager="kubectl"} 1
writes_total{manager="other"} 3
`
	if err := testutil.CollectAndCompare(c, strings.NewReader(want)); err != nil {
		t.Error(err)
	}
}

func TestAThousandValuesMakeNoMoreSeriesThanTheLimitAndOne(t *testing.T) {
	c := newCounter(20)
	for i := range 1000 {
		c.Inc(fmt.Sprintf("manager-%d", i))
	}
	if count := testutil.CollectAndCount(c); count != 21 {
		t.Errorf("%d series", count)
	}
	if others := testutil.ToFloat64(c.Of("one more")); others != 980 {
		t.Errorf("%v count as others, want 980", others)
	}
}

func TestAValueThatIsCalledOtherOrIsNoTextDoesNoHarm(t *testing.T) {
	c := newCounter(2)
	for _, value := range []string{"other", "\xff", "c", "d"} {
		c.Inc(value)
	}
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(c)
	if _, err := registry.Gather(); err != nil {
		t.Error(err)
	}
	if others := testutil.ToFloat64(c.Of("other")); others != 3 {
		t.Errorf("%v count as others, want 3", others)
	}
}

func add(a, b float64) float64 { return a + b }

func TestSamplesBeyondTheLimitAreJoined(t *testing.T) {
	samples := []series.Sample{{"a", 3}, {"other", 2}, {"b", 5}, {"c", 7}, {"d", 4}}
	for limit, want := range map[int][]series.Sample{
		0: {{"other", 21}},
		2: {{"a", 3}, {"b", 5}, {"other", 13}},
		9: {{"a", 3}, {"b", 5}, {"c", 7}, {"d", 4}, {"other", 2}},
	} {
		if diff := gocmp.Diff(want, series.Limit(append([]series.Sample(nil), samples...), limit, add)); diff != "" {
			t.Errorf("limit %d (-want +got):\n%s", limit, diff)
		}
	}
}

func TestTheLargestSamplesAreThoseThatSortingFinds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		labels := rapid.SliceOfDistinct(rapid.SampledFrom([]string{"a", "b", "c", "d", "e", "other"}), rapid.ID[string]).Draw(t, "labels")
		samples := make([]series.Sample, 0, len(labels))
		for _, label := range labels {
			samples = append(samples, series.Sample{Label: label, Value: float64(rapid.IntRange(0, 3).Draw(t, "value"))})
		}
		limit := rapid.IntRange(0, 6).Draw(t, "limit")
		largest := series.Largest(samples, limit, add)
		slices.SortFunc(samples, func(a, b series.Sample) int {
			return cmp.Or(-cmp.Compare(a.Value, b.Value), cmp.Compare(a.Label, b.Label))
		})
		if diff := gocmp.Diff(series.Limit(samples, limit, add), largest); diff != "" {
			t.Errorf("the largest (-sorted +found):\n%s", diff)
		}
	})
}

func TestALimitLosesNothingAndNamesEachValueOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		labels := rapid.SliceOfDistinct(rapid.SampledFrom([]string{"a", "b", "c", "d", "e", "other"}), rapid.ID[string]).Draw(t, "labels")
		samples, sum := make([]series.Sample, 0, len(labels)), 0.0
		for i, label := range labels {
			samples = append(samples, series.Sample{Label: label, Value: float64(i + 1)})
			sum += float64(i + 1)
		}
		limit := rapid.IntRange(0, 6).Draw(t, "limit")
		limited, rest := series.Limit(samples, limit, add), 0.0
		names := make(map[string]struct{})
		for _, s := range limited {
			names[s.Label] = struct{}{}
			rest += s.Value
		}
		if len(limited) > limit+1 || len(names) != len(limited) || rest != sum {
			t.Errorf("%v of a sum of %v", limited, sum)
		}
	})
}
