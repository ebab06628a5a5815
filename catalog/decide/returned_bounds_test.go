package decide

import (
	"fmt"
	"strconv"
	"testing"

	"kubernetes-deployment-restart-controller/catalog"
	"kubernetes-deployment-restart-controller/catalog/catalogtest"
	"kubernetes-deployment-restart-controller/catalog/content"
	"kubernetes-deployment-restart-controller/catalog/objecttest"
	"kubernetes-deployment-restart-controller/catalog/record"
)

// One tenant can have thousands of configs, edit each key of each, take all of it back, and read
// all of them in a few workloads.
func TestTheIntervalsOfOneWorkloadAreBounded(t *testing.T) {
	const configs, keys = 100, 8
	c := catalog.New()
	state := func(number, version int) content.Config {
		state := objecttest.Data{}
		for key := range keys {
			state[fmt.Sprint("key-", key)] = strconv.Itoa(version)
		}
		return content.NewConfigMap(objecttest.ConfigMap(fmt.Sprintf("config-%06d", number), state))
	}
	for number := range configs {
		c.ObserveConfig(state(number, 0), objecttest.Noon)
	}
	w := catalogtest.ReadsConfigs(configs, 0)
	c.ObserveWorkload(w)
	view, _ := c.View(w.Ref)
	w.Record = record.Record{Checksums: Decide(view).Checksums, Trusted: true, Written: objecttest.Noon}
	w.ResourceVersion = "2"
	c.ObserveWorkload(w)
	for version := 1; version <= content.MaxPastOfKey+1; version++ {
		for number := range configs {
			c.ObserveConfig(state(number, version%(content.MaxPastOfKey+1)), objecttest.NoonPlus(float64(10*version)))
		}
	}
	view, _ = c.View(w.Ref)
	if spans := spans(&view, seenConfigs(&view)); len(spans) <= maxSpans || len(spans) > maxSpans+content.MaxPast+configs {
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
		got := ByPods(view, []Pod{{Mounted: objecttest.NoonPlus(test.mounted)}})
		if restarts := got.Outcome == Restart; restarts != test.restarts {
			t.Errorf("a pod that read its configs %s: %v, want a restart: %t", name, got.Outcome, test.restarts)
		}
	}
}
