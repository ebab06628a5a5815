package parity

import (
	"fmt"
	"regexp"
	"slices"
)

// How a rolling update goes, step by step.
var rollingScenarios = []scenario{
	{"a template change rolls to a new ReplicaSet", func(s *scene) {
		web := s.create()
		web.settle("created")
		web.roll(image("i:2"))
		web.settle("rolled")
		web.roll(image("i:3"))
		web.settle("rolled again")
	}},
	{"a rollout goes on as pods become ready", func(s *scene) {
		web := s.create(replicas(10), rolling("25%", "25%"))
		web.await(complete)
		web.roll(image("i:2"), held)
		web.await(sizes(are{"i:1": 8, "i:2": 5}))
		web.checkpoint("as far as it goes without a new pod that is ready")
		web.letGoOneByOne("i:2", 10)
		web.settle("rolled")
	}},
	{"a rollout is overtaken by the next one", func(s *scene) {
		web := s.create(replicas(10), rolling(3, 2))
		web.await(complete)
		web.roll(image("i:2"), held)
		web.await(sizes(are{"i:1": 8, "i:2": 5}))
		web.letGoOneByOne("i:2", 2)
		web.roll(image("i:3"), held)
		web.await(replicaSetCount(3), observed)
		web.checkpoint("held up by the next template")
		web.letGoOneByOne("i:3", 10)
		web.settle("rolled")
	}},
	{"a rollout is turned back in the middle", func(s *scene) {
		web := s.create(replicas(5), rolling(2, 1))
		web.await(complete)
		web.roll(image("i:2"), held)
		web.await(sizes(are{"i:1": 4, "i:2": 3}))
		web.letGoOneByOne("i:2", 1)
		web.roll(image("i:1"), free)
		web.settle("back at the first template")
	}},
	{"minReadySeconds holds pods back", func(s *scene) {
		web := s.create(replicas(2), minReady(2))
		web.settle("created")
		web.roll(image("i:2"))
		web.settle("rolled")
		web.change(minReady(1))
		web.await(observed)
		web.checkpoint("the ReplicaSet takes over minReadySeconds")
	}},
	{"pods that are ready but not yet for long enough", func(s *scene) {
		web := s.create(replicas(2), minReady(3600), deadline(7200), rolling("50%", "50%"))
		web.await(sizes(are{"i:1": 2}), reported)
		web.checkpoint("ready, not available")
		web.roll(image("i:2"))
		web.await(observed, replicaSetCount(2))
		web.checkpoint("the next template")
		web.change(minReady(0))
		web.settle("available at last")
	}},
	{"old pods that are not ready go first", func(s *scene) {
		web := s.create(replicas(6), rolling(0, 2))
		web.await(complete)
		web.fail("i:1", 3)
		web.await(available(3))
		web.checkpoint("half of the pods have failed")
		web.roll(image("i:2"), held)
		web.await(observed, replicaSetCount(2))
		web.checkpoint("as far as it goes")
		web.letGoOneByOne("i:2", 2)
	}},
	{"old pods of which some are not ready go in one step", func(s *scene) {
		web := s.create(replicas(10), rolling(0, 3))
		web.await(complete)
		web.fail("i:1", 1)
		web.await(available(9))
		s.meant("one write and one Event for each ReplicaSet", (*snapshot).joinScalings)
		web.roll(image("i:2"), held)
		web.await(sizes(are{"i:1": 7, "i:2": 3}))
		web.checkpoint("as far as it goes")
	}},
	{"new pods fail after they were ready", func(s *scene) {
		web := s.create(replicas(4), rolling(1, 1))
		web.await(complete)
		web.roll(image("i:2"), held)
		web.await(sizes(are{"i:1": 3, "i:2": 2}))
		web.letGoOneByOne("i:2", 2)
		web.fail("i:2", 1)
		web.await(reported)
		web.checkpoint("one new pod has failed")
		web.recover("i:2", 1)
		web.await(reported)
		web.checkpoint("it has recovered")
		web.letGoOneByOne("i:2", 2)
		web.settle("rolled")
		web.fail("i:2", 3)
		web.await(available(1))
		web.checkpoint("pods fail when all is done")
		web.recover("i:2", 3)
		web.settle("they recover")
	}},
	{"the strategy changes in the middle", func(s *scene) {
		web := s.create(replicas(6), rolling(2, 1))
		web.await(complete)
		web.roll(image("i:2"), held)
		web.await(sizes(are{"i:1": 5, "i:2": 3}))
		web.change(rolling("50%", "50%"))
		web.await(sizes(are{"i:1": 3, "i:2": 6}))
		web.checkpoint("other limits")
		web.change(recreate)
		web.await(sizes(are{"i:2": 6}))
		web.checkpoint("Recreate")
		web.letGo("i:2", 6)
		web.settle("rolled")
		web.change(rolling(1, 1))
		web.await(observed)
		web.checkpoint("rolling again")
	}},
	{"a quantity in another notation is the same template", func(s *scene) {
		web := s.create(memory("1Gi"))
		web.settle("created")
		web.change(memory("1073741824"))
		web.await(observed)
		web.checkpoint("the same amount")
		web.roll(memory("1025Mi"))
		web.settle("another amount")
		web.change(memory("1049600Ki"))
		web.await(observed)
		web.checkpoint("the same amount again")
		web.roll(memory("1024Mi"))
		web.settle("the first ReplicaSet comes back")
	}},
}

// surgeScenarios play one rollout for each kind of limits.
func surgeScenarios() []scenario {
	var all []scenario
	for _, limits := range []struct {
		replicas           int32
		surge, unavailable any
	}{
		{3, 0, 1}, {3, 3, 0}, {3, 0, 3}, {4, 10, 10}, {7, "30%", "20%"}, {7, "0%", "30%"}, {5, "100%", "0%"}, {5, 0, "100%"},
		{3, 0, "1%"}, {3, "1%", "1%"}, {1, "25%", "25%"}, {1, 0, 1},
	} {
		name := fmt.Sprintf("%d replicas with maxSurge %v and maxUnavailable %v", limits.replicas, limits.surge, limits.unavailable)
		all = append(all, scenario{name, func(s *scene) {
			s.underway()
			web := s.create(replicas(limits.replicas), rolling(limits.surge, limits.unavailable))
			web.await(complete)
			web.roll(image("i:2"), held)
			web.await(observed, replicaSetCount(2))
			web.checkpoint("as far as it goes without a new pod that is ready")
			web.letGoOneByOne("i:2", int(limits.replicas))
			web.settle("rolled")
		}})
	}
	return all
}

// scaling is the message of an Event about a ReplicaSet that grew or shrank.
var scaling = regexp.MustCompile(`^(Scaled (?:up|down) replica set \S+ from )(\d+) to (\d+)$`)

// joinScalings makes one Event of those that together tell how a ReplicaSet grew, or shrank: "from
// 10 to 9" and "from 9 to 7" become "from 10 to 7". In how many steps the original goes depends on
// whether its second write in a sync meets a status that was written after the first one.
func (s *snapshot) joinScalings() {
	var joined []event
	for _, e := range s.Events {
		step := scaling.FindStringSubmatch(e.Message)
		before := slices.IndexFunc(joined, func(earlier event) bool {
			first := scaling.FindStringSubmatch(earlier.Message)
			return step != nil && first != nil && earlier.Deployment == e.Deployment && first[1] == step[1] && first[3] == step[2]
		})
		if before == -1 {
			joined = append(joined, e)
			continue
		}
		first := scaling.FindStringSubmatch(joined[before].Message)
		joined[before].Message = first[1] + first[2] + " to " + step[3]
	}
	s.Events = joined
}
