package parity

import corev1 "k8s.io/api/core/v1"

// Strategy Recreate: all old pods go before the first new one comes.
var recreateScenarios = []scenario{
	{"Recreate replaces all pods", func(s *scene) {
		s.namesTheComplete()
		web := s.create(recreate)
		web.settle("created")
		web.roll(image("i:2"))
		web.settle("replaced")
		web.roll(image("i:1"))
		web.settle("replaced by the first template again")
	}},
	{"Recreate waits for pods that terminate", func(s *scene) {
		s.oldPodsVanish()
		web := s.create(recreate, lingering, replicas(2))
		web.await(complete)
		web.roll(image("i:2"))
		web.await(sizes(are{}), terminating(2))
		web.checkpoint("two pods terminate")
		web.letFinish("i:1", 1)
		web.await(terminating(1))
		web.checkpoint("one pod terminates")
		web.letFinish("i:1", 1)
		web.settle("replaced")
	}},
	{"Recreate does not wait for pods that have ended", func(s *scene) {
		s.oldPodsVanish()
		web := s.create(recreate, lingering, replicas(3))
		web.await(complete)
		web.end("i:1", 1, corev1.PodFailed)
		web.await(podCount(4), available(3))
		web.end("i:1", 1, corev1.PodSucceeded)
		web.await(podCount(5), available(3))
		web.checkpoint("two pods have ended and been replaced")
		web.roll(image("i:2"))
		web.await(sizes(are{}), terminating(3))
		web.checkpoint("three pods terminate")
		web.letFinish("i:1", 3)
		web.await(sizes(are{"i:2": 3}), available(3))
		web.checkpoint("replaced, beside what is left of those that had ended")
	}},
	{"Recreate is overtaken by the next template", func(s *scene) {
		web := s.create(recreate)
		web.await(complete)
		web.roll(image("i:2"), held)
		web.await(sizes(are{"i:2": 3}))
		web.checkpoint("pods of the second template wait")
		web.roll(image("i:3"), held)
		web.await(sizes(are{"i:3": 3}))
		web.checkpoint("pods of the third template wait")
		web.letGoOneByOne("i:3", 3)
		web.settle("replaced")
	}},
	{"Recreate is scaled while old pods terminate", func(s *scene) {
		s.oldPodsVanish()
		web := s.create(recreate, lingering, replicas(2))
		web.await(complete)
		web.roll(image("i:2"))
		web.await(sizes(are{}), terminating(2))
		web.scale(4)
		web.await(observed)
		web.checkpoint("scaled up")
		web.letFinish("i:1", 2)
		web.await(sizes(are{"i:2": 4}), available(4))
		web.checkpoint("replaced")
	}},
	{"a rolling update becomes Recreate and comes back", func(s *scene) {
		s.conditionsInAnyOrder("all pods may be replaced before the status reports that they are missing")
		web := s.create(replicas(4), rolling("50%", 0))
		web.await(complete)
		web.change(recreate)
		web.await(observed)
		web.checkpoint("another strategy alone")
		web.roll(image("i:2"))
		web.settle("replaced")
		web.change(rolling("50%", 0))
		web.await(observed)
		web.checkpoint("the first strategy again")
		web.scale(5)
		web.settle("scaled")
	}},
}

// oldPodsVanish leaves out whether the disappearance of the old pods was seen as
// progress: only if one is reported to be gone before the others.
func (s *scene) oldPodsVanish() {
	const why = "old pods vanish all at once, or one by one, which is progress"
	s.progressingForAnyReason(why)
	s.conditionsInAnyOrder(why)
}
