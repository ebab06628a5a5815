package parity

import (
	"errors"
	"math"
	"time"
)

// deadlineAndMore is when a deadline of a second has certainly passed.
const deadlineAndMore = 3 * time.Second

// Pausing, resuming, and the progress deadline.
var pauseScenarios = []scenario{
	{"pausing and resuming with nothing to do", func(s *scene) {
		web := s.create()
		web.await(complete)
		web.pause()
		web.await(observed, progressing("DeploymentPaused"))
		web.checkpoint("paused")
		web.resume()
		web.await(observed, progressing("NewReplicaSetAvailable"))
		web.checkpoint("resumed")
	}},
	{"a template that changes while paused waits", func(s *scene) {
		web := s.create()
		web.await(complete)
		web.pause()
		web.await(observed)
		web.roll(image("i:2"), annotated("note", "2"))
		web.await(observed)
		web.checkpoint("changed while paused")
		web.roll(image("i:3"), annotated("note", "3"))
		web.await(observed)
		web.checkpoint("changed again")
		web.resume()
		web.settle("only the last template is rolled out")
	}},
	{"a template that changes and comes back while paused", func(s *scene) {
		web := s.create()
		web.await(complete)
		web.pause()
		web.roll(image("i:2"))
		web.await(observed)
		web.roll(image("i:1"))
		web.await(observed)
		web.checkpoint("as it was")
		web.resume()
		web.await(observed, progressing("NewReplicaSetAvailable"))
		web.checkpoint("nothing to roll out")
	}},
	{"pausing in the middle of a rollout", func(s *scene) {
		web := s.create(replicas(10), rolling("25%", "25%"))
		web.await(complete)
		web.roll(image("i:2"), held)
		web.await(sizes(are{"i:1": 8, "i:2": 5}))
		web.pause()
		web.await(observed, progressing("DeploymentPaused"))
		web.checkpoint("paused")
		web.letGoOneByOne("i:2", 3)
		web.resume()
		web.await(observed, sizes(are{"i:1": 5, "i:2": 8}))
		web.checkpoint("resumed")
		web.letGoOneByOne("i:2", 7)
		web.settle("rolled")
	}},
	{"there is no deadline while paused", func(s *scene) {
		web := s.create(replicas(2), held, deadline(10))
		web.await(sizes(are{"i:1": 2}))
		web.pause()
		web.await(observed, progressing("DeploymentPaused"))
		s.passTime(12 * time.Second)
		web.checkpoint("long after the deadline")
		web.resume()
		web.await(observed, progressing("ProgressDeadlineExceeded"))
		web.checkpoint("the deadline counts from the resumption")
	}},
	{"pausing after the deadline has passed", func(s *scene) {
		web := s.create(replicas(2), held, deadline(1))
		web.await(timedOut(2))
		web.pause()
		web.await(observed)
		web.checkpoint("paused")
		web.resume()
		web.await(observed)
		s.passTime(deadlineAndMore)
		web.checkpoint("resumed")
		web.letGo("i:1", 2)
		web.settle("complete")
	}},
	{"the deadline passes and the rollout recovers", func(s *scene) {
		web := s.create(deadline(2))
		web.await(complete)
		web.roll(image("i:2"), held)
		web.await(timedOut(1))
		web.checkpoint("the deadline has passed")
		web.letGo("i:2", 1)
		web.await(progressing("ReplicaSetUpdated"))
		web.await(progressing("ProgressDeadlineExceeded"))
		web.checkpoint("some progress, and the deadline has passed again")
		web.letGoOneByOne("i:2", 2)
		web.settle("complete")
	}},
	{"the deadline passes for a new Deployment", func(s *scene) {
		web := s.create(held, deadline(1))
		web.await(timedOut(3))
		web.checkpoint("the deadline has passed")
		web.scale(5)
		web.await(observed, sizes(are{"i:1": 5}), timedOut(5))
		web.checkpoint("scaled, and the deadline has passed again")
		web.letGo("i:1", 5)
		web.settle("complete")
	}},
	{"a new template after the deadline has passed", func(s *scene) {
		web := s.create(deadline(2))
		web.await(complete)
		web.roll(image("i:2"), held)
		web.await(timedOut(1))
		web.roll(image("i:3"), free)
		web.settle("the next template is complete")
	}},
	{"the first template again after the deadline has passed", func(s *scene) {
		web := s.create(deadline(2))
		web.await(complete)
		web.roll(image("i:2"), held)
		web.await(timedOut(1))
		web.roll(image("i:1"), free)
		web.settle("back at the first template")
	}},
	{"a deadline that is shortened passes at once", func(s *scene) {
		web := s.create(held, deadline(600))
		web.await(sizes(are{"i:1": 3}))
		s.passTime(2 * time.Second)
		web.change(deadline(1))
		web.await(progressing("ProgressDeadlineExceeded"))
		web.checkpoint("passed")
		web.change(deadline(600))
		web.await(observed)
		web.checkpoint("a longer one does not take it back")
		web.letGo("i:1", 3)
		web.settle("complete")
	}},
	{"a Deployment without a deadline", func(s *scene) {
		web := s.create(held, deadline(math.MaxInt32))
		web.await(observed, sizes(are{"i:1": 3}))
		web.checkpoint("created")
		web.pause()
		web.await(observed)
		web.checkpoint("paused")
		web.resume()
		web.await(observed)
		web.checkpoint("resumed")
		web.letGo("i:1", 3)
		web.settle("complete")
		web.roll(image("i:2"), held)
		web.await(observed, replicaSetCount(2))
		web.checkpoint("rolled halfway")
	}},
	{"the deadline is taken away and given back", func(s *scene) {
		web := s.create(held, deadline(1))
		web.await(timedOut(3))
		web.change(deadline(math.MaxInt32))
		web.await(observed)
		web.checkpoint("taken away")
		web.change(deadline(2))
		web.await(observed, timedOut(3))
		web.checkpoint("given back")
	}},
	{"a complete rollout keeps its condition when pods fail after the deadline", func(s *scene) {
		web := s.create(deadline(1))
		web.await(complete)
		web.fail("i:1", 2)
		web.await(available(1))
		s.passTime(deadlineAndMore)
		web.checkpoint("two pods have failed")
		web.recover("i:1", 2)
		web.settle("they have recovered")
	}},
}

// passTime lets time pass, for what depends on the clock alone.
func (s *scene) passTime(duration time.Duration) {
	s.Helper()
	until := time.Now().Add(duration)
	s.await("time passes", func(*view) error {
		if time.Now().Before(until) {
			return errors.New("it has not passed")
		}
		return nil
	})
}
