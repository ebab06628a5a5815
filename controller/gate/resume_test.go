package gate

import (
	"slices"
	"testing"
	"time"

	"kubernetes-deployment-restart-controller/catalog/names"
)

// Whoever followed the advice would let the content restart everybody when it comes back.
func TestNoHaltIsToBeResumedOfAContentThatIsGone(t *testing.T) {
	config := names.ConfigRef{Kind: names.ConfigMap, Namespace: "a", Name: "c"}
	for name, h := range map[string]*Halt{"that this process saw go": {isGone: true}, "of a former leader": {isUnsure: true}} {
		h.ID, h.Config = "dormant", config
		if problem := ProblemOfResume(config, "earlier", time.Time{}, slices.Values([]*Halt{h})); problem != "" {
			t.Errorf("%s: %s", name, problem)
		}
	}
}

// What a person has set before a halt began ended an earlier one, probably.
func TestAnIDOfAnEarlierHaltIsNoMistake(t *testing.T) {
	began := time.Date(2026, 5, 1, 12, 0, 0, 500, time.UTC)
	config := names.ConfigRef{Kind: names.ConfigMap, Namespace: "a", Name: "c"}
	halts := []*Halt{{ID: "present", Config: config, Since: began}}
	for name, c := range map[string]struct {
		id      string
		set     time.Time
		mistake bool
	}{
		"the present one":          {"present", began.Add(time.Minute), false},
		"set before it began":      {"earlier", began.Add(-time.Minute), false},
		"set after it began":       {"earlier", began.Add(time.Minute), true},
		"set in the same second":   {"earlier", began.Truncate(time.Second), true},
		"it is not known when":     {"earlier", time.Time{}, true},
		"set between two halts":    {"between", began.Add(5 * time.Minute), true},
		"nothing is to be resumed": {"", time.Time{}, false},
	} {
		halts := halts
		if c.id == "between" {
			halts = append(halts, &Halt{ID: "later", Config: config, Since: began.Add(10 * time.Minute)})
		}
		for range 2 {
			if problem := ProblemOfResume(config, c.id, c.set, slices.Values(halts)); (problem != "") != c.mistake {
				t.Errorf("%s: %q", name, problem)
			}
			slices.Reverse(halts)
		}
	}
}
