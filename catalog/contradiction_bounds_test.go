package catalog

import (
	"fmt"
	"strconv"
	"testing"
)

// One tenant can have thousands of configs, edit each key of each, take all of it back, and read
// all of them in a few workloads.
func TestTheIntervalsOfOneWorkloadAreBounded(t *testing.T) {
	const configs, keys = 100, 8
	c := New()
	content := func(number, version int) Config {
		content := data{}
		for key := range keys {
			content[fmt.Sprint("key-", key)] = strconv.Itoa(version)
		}
		return NewConfigMap(configMap(fmt.Sprintf("config-%06d", number), content))
	}
	for number := range configs {
		c.ObserveConfig(content(number, 0), noon)
	}
	w := readsConfigs(configs, 0)
	c.ObserveWorkload(w)
	view, _ := c.View(w.Ref)
	w.Applied = AppliedState{Checksums: Decide(view).Checksums, Trusted: true, Written: noon}
	w.ResourceVersion = "2"
	c.ObserveWorkload(w)
	for version := 1; version <= maxPastOfKey+1; version++ {
		for number := range configs {
			c.ObserveConfig(content(number, version%(maxPastOfKey+1)), noonPlus(float64(10*version)))
		}
	}
	view, _ = c.View(w.Ref)
	if spans := view.spans(view.sights()); len(spans) <= maxSpans || len(spans) > maxSpans+maxPast+configs {
		t.Errorf("%d intervals", len(spans))
	}
	for name, test := range map[string]struct {
		mounted  float64
		restarts bool
	}{
		"within the first one": {11, true},
		"within the last one":  {85, true},
		"before them":          {-60, false},
		"after them":           {200, false},
	} {
		got := DecideByPods(view, []Pod{{Mounted: noonPlus(test.mounted)}})
		if restarts := got.Outcome == Restart; restarts != test.restarts {
			t.Errorf("a pod that read its configs %s: %v, want a restart: %t", name, got.Outcome, test.restarts)
		}
	}
}
