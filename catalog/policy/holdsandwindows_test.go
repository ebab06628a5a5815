package policy

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"kubernetes-deployment-restart-controller/catalog/objecttest"
)

func TestTheHoldsAndWindowsThatApplyToARestart(t *testing.T) {
	type policies = []Delivery
	plain, hold, window, both := ConfigPolicy{}, ConfigPolicy{Hold: "approval"}, ConfigPolicy{Window: "night"}, ConfigPolicy{Hold: "why", Window: "noon"}
	a, b := objecttest.ConfigMapRef("a"), objecttest.SecretRef("b")
	ofController := []Wish{{By: ByController}}
	for name, test := range map[string]struct {
		everything     string
		workload       *WorkloadPolicy
		delivered      policies
		holds, windows []Wish
		held           string
	}{
		"nothing":               {windows: ofController},
		"configs without wish":  {workload: &WorkloadPolicy{Wave: 1}, delivered: policies{{Config: a, Policy: plain}}, windows: ofController},
		"everything is held":    {everything: "incident", held: "all restarts are held: incident", holds: []Wish{{Text: "incident"}}, windows: ofController},
		"the workload is held":  {workload: &WorkloadPolicy{Hold: "migration"}, held: "the workload is held: migration", holds: []Wish{{By: ByWorkload, Text: "migration"}}, windows: ofController},
		"a config is held":      {delivered: policies{{Config: a}, {Config: b, Policy: hold}}, held: "the secret/b is held: approval", holds: []Wish{{ByConfig, b, "approval"}}, windows: ofController},
		"it may be unchanged":   {delivered: policies{{Config: a, Policy: both, IsUncertain: true}}, held: "the configmap/a is held: why", holds: []Wish{{ByConfig, a, "why"}}, windows: ofController},
		"an urgent one is held": {delivered: policies{{Config: a, Policy: hold, IsUrgent: true}}, held: "the configmap/a is held: approval", holds: []Wish{{ByConfig, a, "approval"}}},
		"all are held": {
			everything: "incident", workload: &WorkloadPolicy{Hold: "migration"}, delivered: policies{{Config: a, Policy: hold}, {Config: b, Policy: both}},
			held:    "all restarts are held: incident",
			holds:   []Wish{{Text: "incident"}, {By: ByWorkload, Text: "migration"}, {ByConfig, a, "approval"}, {ByConfig, b, "why"}},
			windows: []Wish{{ByConfig, b, "noon"}},
		},
		"the workload has a window":     {workload: &WorkloadPolicy{Window: "day"}, delivered: policies{{Config: a, Policy: window}}, windows: []Wish{{By: ByWorkload, Text: "day"}}},
		"configs have windows":          {delivered: policies{{Config: a, Policy: window}, {Config: b}}, windows: []Wish{{ByConfig, a, "night"}}},
		"one of several is urgent":      {delivered: policies{{Config: a, Policy: window, IsUrgent: true}, {Config: b}}, windows: []Wish{{ByConfig, a, "night"}}},
		"all are urgent":                {workload: &WorkloadPolicy{Window: "day"}, delivered: policies{{Config: a, Policy: window, IsUrgent: true}, {Config: b, IsUrgent: true}}},
		"the last one is not urgent":    {workload: &WorkloadPolicy{Window: "day"}, delivered: policies{{Config: a, IsUrgent: true}, {Config: b}}, windows: []Wish{{By: ByWorkload, Text: "day"}}},
		"nothing is known to be urgent": {workload: &WorkloadPolicy{Window: "day"}, windows: []Wish{{By: ByWorkload, Text: "day"}}},
	} {
		t.Run(name, func(t *testing.T) {
			wishes := Wishes{test.everything, test.workload, slices.Values(test.delivered)}
			if diff := cmp.Diff(test.holds, slices.Collect(wishes.Holds())); diff != "" {
				t.Errorf("holds (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.windows, slices.Collect(wishes.Windows())); diff != "" {
				t.Errorf("windows (-want +got):\n%s", diff)
			}
			if got := wishes.Held(); got != test.held {
				t.Errorf("it says %q, want %q", got, test.held)
			}
		})
	}
}

func TestTheFirstClosedWindowCounts(t *testing.T) {
	wishes := Wishes{Delivered: slices.Values([]Delivery{
		{Config: objecttest.ConfigMapRef("a"), Policy: ConfigPolicy{Window: "open"}},
		{Config: objecttest.ConfigMapRef("b"), Policy: ConfigPolicy{Window: "closed"}},
		{Config: objecttest.ConfigMapRef("c"), Policy: ConfigPolicy{Window: "never asked"}},
	})}
	var asked []string
	window, opens := wishes.Closed(func(window Wish) (bool, time.Time, error) {
		asked = append(asked, window.Text)
		return window.Text == "closed", objecttest.Noon, nil
	})
	if window != "the window of configmap/b" || !opens.Equal(objecttest.Noon) || !cmp.Equal(asked, []string{"open", "closed"}) {
		t.Errorf("%q is closed until %s, asked %q", window, opens, asked)
	}
	window, opens = wishes.Closed(func(Wish) (bool, time.Time, error) { return false, objecttest.Noon, nil })
	if window != "" || !opens.IsZero() {
		t.Errorf("all are open, but: %q until %s", window, opens)
	}
	for want, wishes := range map[string]Wishes{
		"its window":                     {Workload: &WorkloadPolicy{Window: "closed"}, Delivered: wishes.Delivered},
		"the window of --restart-window": {Delivered: slices.Values([]Delivery{{Config: objecttest.ConfigMapRef("a")}})},
	} {
		if window, _ := wishes.Closed(func(Wish) (bool, time.Time, error) { return true, objecttest.Noon, nil }); window != want {
			t.Errorf("%q is closed, want %q", window, want)
		}
	}
	mine := Wishes{Workload: &WorkloadPolicy{Window: "at night"}, Delivered: wishes.Delivered}
	for want, err := range map[string]error{"its window cannot be read: two words, an example is six": errors.New("two words, an example is six"), "its window does not open within five years": nil} {
		if window, opens := mine.Closed(func(Wish) (bool, time.Time, error) { return true, time.Time{}, err }); window != want || !opens.IsZero() {
			t.Errorf("%q is closed, want %q", window, want)
		}
	}
}
