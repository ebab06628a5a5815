package rollout

import (
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
)

// resizings are the sizes of ReplicaSets before and after a plan, where they differ.
func resizings(s *State) map[string][2]int64 {
	sizes := map[string][2]int64{}
	actions, _ := Plan(s)
	for _, action := range actions {
		switch a := action.(type) {
		case UpdateReplicaSet:
			if a.From != a.To {
				sizes[a.Target.Name] = [2]int64{a.From, a.To}
			}
		case CreateReplicaSet:
			sizes["new"] = [2]int64{0, a.Replicas}
		}
	}
	return sizes
}

// With 10 replicas, 3 may surge and 2 be unavailable: 13 and 8.
func TestARollingUpdateGoesAsFarAsItsLimitsAllow(t *testing.T) {
	type sizes = map[string][2]int64
	for name, test := range map[string]struct {
		sets []*ReplicaSet
		want sizes
	}{
		"nothing is there": {nil, sizes{"new": {0, 10}}},
		"it begins with the surge, and as many old ones less":       {[]*ReplicaSet{set("v1", 10, 10)}, sizes{"new": {0, 3}, "web-v1": {10, 8}}},
		"then old ones go, as many as may be unavailable":           {[]*ReplicaSet{set("v1", 10, 10), set("v9", 3, 0)}, sizes{"web-v1": {10, 8}}},
		"their room is filled":                                      {[]*ReplicaSet{set("v1", 8, 8), set("v9", 3, 0)}, sizes{"web-v9": {3, 5}}},
		"then nothing can be done":                                  {[]*ReplicaSet{set("v1", 8, 8), set("v9", 5, 0)}, sizes{}},
		"a new one is available":                                    {[]*ReplicaSet{set("v1", 8, 8), set("v9", 5, 1)}, sizes{"web-v1": {8, 7}}},
		"all five are":                                              {[]*ReplicaSet{set("v1", 8, 8), set("v9", 5, 5)}, sizes{"web-v1": {8, 3}}},
		"room for more than are wanted":                             {[]*ReplicaSet{set("v1", 3, 3), set("v9", 9, 5)}, sizes{"web-v9": {9, 10}}},
		"the last old ones go":                                      {[]*ReplicaSet{set("v1", 3, 3), set("v9", 10, 8)}, sizes{"web-v1": {3, 0}}},
		"not all of them may go":                                    {[]*ReplicaSet{set("v1", 3, 3), set("v9", 10, 7)}, sizes{"web-v1": {3, 1}}},
		"all done":                                                  {[]*ReplicaSet{set("v1", 0, 0), set("v9", 10, 10)}, sizes{}},
		"too many new ones":                                         {[]*ReplicaSet{set("v1", 0, 0), set("v9", 12, 10)}, sizes{"web-v9": {12, 10}}},
		"above the surge already":                                   {[]*ReplicaSet{set("v1", 20, 20), set("v9", 2, 0)}, sizes{"web-v1": {20, 8}}},
		"unhealthy old ones go first":                               {[]*ReplicaSet{set("v1", 6, 6), set("v2", 4, 2), set("v9", 3, 0)}, sizes{"web-v2": {4, 2}}},
		"the oldest first":                                          {[]*ReplicaSet{set("v1", 6, 6), set("v2", 4, 4), set("v9", 3, 0)}, sizes{"web-v1": {6, 4}}},
		"the oldest first, whatever their order":                    {[]*ReplicaSet{set("v9", 3, 0), set("v2", 4, 4), set("v1", 6, 6)}, sizes{"web-v1": {6, 4}}},
		"the oldest, and more of the next":                          {[]*ReplicaSet{set("v1", 1, 1), set("v2", 9, 9), set("v9", 3, 0)}, sizes{"web-v1": {1, 0}, "web-v2": {9, 8}}},
		"unhealthy ones of all, the oldest first":                   {[]*ReplicaSet{set("v1", 4, 3), set("v2", 6, 0), set("v9", 3, 0)}, sizes{"web-v1": {4, 3}, "web-v2": {6, 5}}},
		"unhealthy ones go though too few are available":            {[]*ReplicaSet{set("v1", 10, 5), set("v9", 3, 0)}, sizes{"web-v1": {10, 8}}},
		"unhealthy ones, and then healthy ones in their stead":      {[]*ReplicaSet{set("v1", 10, 9), set("v9", 3, 0)}, sizes{"web-v1": {10, 8}}},
		"new ones that crash hold up the rollout":                   {[]*ReplicaSet{set("v1", 8, 8), set("v9", 5, 0)}, sizes{}},
		"a rollover: the first new ones are old now, and unhealthy": {[]*ReplicaSet{set("v1", 8, 8), set("v2", 5, 0)}, sizes{"new": {0, 0}, "web-v2": {5, 0}}},
		"a rollover in the middle":                                  {[]*ReplicaSet{set("v1", 5, 5), set("v2", 5, 5)}, sizes{"new": {0, 3}, "web-v1": {5, 3}}},
		"it is not more than available although it says so":         {[]*ReplicaSet{set("v1", 8, 10), set("v9", 5, 0)}, sizes{}},
	} {
		t.Run(name, func(t *testing.T) {
			expect(t, "sizes", test.want, resizings(stateOf(web(10, "v9", withLimits("3", "2")), test.sets...)))
		})
	}
}

func TestTheLimitsDecideHowARolloutBegins(t *testing.T) {
	for name, test := range map[string]struct {
		surge, unavailable string
		sets               []*ReplicaSet
		want               map[string][2]int64
	}{
		"no surge creates an empty one":       {"0", "1", []*ReplicaSet{set("v1", 3, 3)}, map[string][2]int64{"new": {0, 0}, "web-v1": {3, 2}}},
		"no surge: first an old one goes":     {"0", "1", []*ReplicaSet{set("v1", 3, 3), set("v2", 0, 0)}, map[string][2]int64{"web-v1": {3, 2}}},
		"no surge: then a new one comes":      {"0", "1", []*ReplicaSet{set("v1", 2, 2), set("v2", 0, 0)}, map[string][2]int64{"web-v2": {0, 1}}},
		"no surge: it has to be available":    {"0", "1", []*ReplicaSet{set("v1", 2, 2), set("v2", 1, 0)}, map[string][2]int64{}},
		"both 0 are as 1 unavailable":         {"0", "0", []*ReplicaSet{set("v1", 3, 3), set("v2", 0, 0)}, map[string][2]int64{"web-v1": {3, 2}}},
		"all at once":                         {"100%", "100%", []*ReplicaSet{set("v1", 3, 3)}, map[string][2]int64{"new": {0, 3}, "web-v1": {3, 0}}},
		"all at once: old ones need not wait": {"100%", "100%", []*ReplicaSet{set("v1", 3, 3), set("v2", 3, 0)}, map[string][2]int64{"web-v1": {3, 0}}},
		"a surge and nobody unavailable":      {"1", "0", []*ReplicaSet{set("v1", 3, 3), set("v2", 1, 0)}, map[string][2]int64{}},
		"a surge, and it is available":        {"1", "0", []*ReplicaSet{set("v1", 3, 3), set("v2", 1, 1)}, map[string][2]int64{"web-v1": {3, 2}}},
		"a surge, but an old one is not":      {"1", "0", []*ReplicaSet{set("v1", 3, 2), set("v2", 1, 1)}, map[string][2]int64{"web-v1": {3, 2}}},
		"absent limits are 1 unavailable":     {"", "", []*ReplicaSet{set("v1", 3, 3), set("v2", 0, 0)}, map[string][2]int64{"web-v1": {3, 2}}},
	} {
		t.Run(name, func(t *testing.T) {
			expect(t, "sizes", test.want, resizings(stateOf(web(3, "v2", withLimits(test.surge, test.unavailable)), test.sets...)))
		})
	}
}

// The ReplicaSet controller notices a step within milliseconds, with a write of
// the ReplicaSet that a further step would collide with.
func TestAStepWaitsUntilTheLastOneWasNoticed(t *testing.T) {
	unnoticed := func(rs *ReplicaSet) { rs.Observed = false }
	for name, test := range map[string]struct {
		taken time.Time
		sets  []*ReplicaSet
		wait  bool
	}{
		"taken just now, unnoticed":   {now.Add(-time.Millisecond), []*ReplicaSet{set("v1", 10, 10), set("v2", 3, 0, unnoticed)}, true},
		"an old one, unnoticed":       {now.Add(-time.Millisecond), []*ReplicaSet{set("v1", 10, 10, unnoticed), set("v2", 3, 0)}, true},
		"taken just now, but noticed": {now.Add(-time.Millisecond), []*ReplicaSet{set("v1", 10, 10), set("v2", 3, 0)}, false},
		"long ago":                    {now.Add(-settleLimit), []*ReplicaSet{set("v1", 10, 10), set("v2", 3, 0, unnoticed)}, false},
		"never by this process":       {time.Time{}, []*ReplicaSet{set("v1", 10, 10), set("v2", 3, 0, unnoticed)}, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := stateOf(web(10, "v2", withLimits("3", "2")), test.sets...)
			s.StepTaken = test.taken
			_, wake := Plan(s)
			steps := resizings(s)
			if test.wait && (len(steps) > 0 || !wake.Equal(test.taken.Add(settleLimit))) {
				t.Errorf("steps %v, wake %s", steps, wake)
			}
			if !test.wait && len(steps) == 0 {
				t.Error("it waits")
			}
		})
	}
}

func TestTheFirstStepDoesNotWait(t *testing.T) {
	s := stateOf(web(10, "v2"), set("v1", 10, 10))
	s.StepTaken = now.Add(-time.Millisecond)
	expect(t, "sizes", map[string][2]int64{"new": {0, 3}, "web-v1": {10, 8}}, resizings(s))
}

func TestMinReadySecondsAreKeptUpToDateInTheNewReplicaSet(t *testing.T) {
	slow := func(d *appsv1.Deployment) { d.Spec.MinReadySeconds = 30 }
	s := stateOf(web(3, "v2", slow), set("v1", 0, 0), set("v2", 3, 3))
	expect(t, "orders", []string{"update replicaset web-v2, minReadySeconds=30"}, orders(s))
	s.ReplicaSets[1].MinReadySeconds = 30
	expect(t, "orders", []string{}, orders(s))
}

func TestFewerPodsAreOrderedBeforeMore(t *testing.T) {
	// In proportion, the second has too many; the first, which is the largest, gets them.
	s := stateOf(web(12, "v3", withLimits("0", "1")), set("v1", 5, 5, sized("11", "11")), set("v2", 4, 4, sized("16", "16")))
	expect(t, "orders", []string{
		"scale replicaset web-v2 from 4 to 3, desired-replicas 12, max-replicas 12",
		"scale replicaset web-v1 from 5 to 9, desired-replicas 12, max-replicas 12",
	}, orders(s))
}
