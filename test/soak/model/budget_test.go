package model

import (
	"strings"
	"testing"
	"time"
)

func TestTheBudget(t *testing.T) {
	budget := &Budget{Free: 3, Grace: time.Second, Limit: 10 * time.Second}
	for _, c := range []struct {
		name     string
		restarts []float64
		want     []string
	}{
		{"lets three restarts go and doubles the spacing up to the limit", []float64{100, 101, 102, 103.1, 105.2, 109.3, 117.4, 127.5, 137.6}, nil},
		{"holds back the fourth restart", []float64{100, 101, 102, 102.5}, []string{OverBudget}},
		{"holds back those after more and more", []float64{100, 101, 102, 103.1, 104.2}, []string{OverBudget}},
		{"is not held back for more than the limit", []float64{100, 101, 102, 103.1, 105.2, 109.3, 117.4, 127.5, 137}, []string{OverBudget}},
		{"begins anew after a calm", []float64{100, 101, 102, 103.1, 120, 121, 122}, nil},
		{"does not begin anew before", []float64{100, 101, 102, 103.1, 113, 114}, []string{OverBudget}},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newPlay(Options{Budget: budget}, usesAll)
			for i, restart := range c.restarts {
				p.edit(restart-0.1, "a="+strings.Repeat("x", i+1))
				p.restart(restart, strings.Repeat("x", i+1))
			}
			p.rest(200)
			p.requireRules(t, c.want...)
		})
	}
}

func TestTheBudgetAllowsForTimesInSeconds(t *testing.T) {
	for last, want := range map[float64][]string{104.2: nil, 104: {OverBudget}} { // two seconds after the one before are due
		p := newPlay(Options{Budget: &Budget{Free: 3, Grace: time.Second, Limit: 10 * time.Second}}, usesAll)
		p.sight.InSeconds = true
		for i, restart := range []float64{100, 101, 102, 103.1, last} {
			p.edit(restart-0.1, "a="+strings.Repeat("x", i+1))
			p.restart(restart, strings.Repeat("x", i+1))
		}
		p.rest(200)
		p.requireRules(t, want...)
	}
}

// The third restart may have come 11.5 s after the second, although their times are 11 s apart, and have been decided later still after
// that, if the write of the second took its time.
func TestARowMayHaveEndedWithinASecondOfItsTimes(t *testing.T) {
	for _, c := range []struct {
		write time.Duration
		third float64
		want  []string
	}{{0, 112, nil}, {0, 111, []string{OverBudget}}, {2 * time.Second, 110, nil}, {2 * time.Second, 109, []string{OverBudget}}} {
		p := newPlay(Options{Budget: &Budget{Free: 2, Grace: time.Second, Limit: 10 * time.Second, Write: c.write}}, usesAll)
		p.sight.InSeconds = true
		for i, restart := range []float64{100, 101, c.third, c.third + 1, c.third + 2} {
			p.edit(restart-0.1, "a="+strings.Repeat("x", i+1))
			p.restart(restart, strings.Repeat("x", i+1))
		}
		p.rest(200)
		p.requireRules(t, c.want...)
	}
}
