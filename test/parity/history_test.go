package parity

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
)

// The annotations in which the restart controller keeps its record.
const (
	checksumsAnnotation = "com.xing.deployment-restart.applied-config-checksums"
	basisAnnotation     = "com.xing.deployment-restart.applied-config-basis"
)

// Revisions, the history of ReplicaSets, and the annotations that go with them.
var historyScenarios = []scenario{
	{"no history is kept with a limit of 0", func(s *scene) {
		web := s.create(replicas(1), historyLimit(0))
		web.await(complete)
		web.roll(image("i:2"))
		web.await(complete, replicaSetCount(1))
		web.checkpoint("only the new one is left")
		web.roll(image("i:1"))
		web.await(complete, replicaSetCount(1))
		web.checkpoint("the first template again, recreated")
	}},
	{"a limited history keeps the newest revisions", func(s *scene) {
		s.namesTheComplete()
		web := s.create(replicas(0), historyLimit(2))
		web.await(complete)
		for number := 2; number <= 5; number++ {
			web.roll(image(fmt.Sprintf("i:%d", number)))
			web.await(complete)
		}
		web.await(replicaSetCount(3))
		web.checkpoint("five templates")
		web.roll(image("i:3"))
		web.await(complete, revision("6"))
		web.checkpoint("the oldest one comes back")
		web.roll(image("i:6"))
		web.await(complete, revision("7"), replicaSetCount(3))
		web.checkpoint("the one with the lowest revision goes, not the one that was made first")
	}},
	{"the limit is lowered", func(s *scene) {
		web := fiveRevisions(s)
		web.change(historyLimit(3))
		web.await(observed, replicaSetCount(4))
		web.checkpoint("3")
		web.change(historyLimit(1))
		web.await(observed, replicaSetCount(2))
		web.checkpoint("1")
		web.change(historyLimit(0))
		web.await(observed, replicaSetCount(1))
		web.checkpoint("0")
	}},
	{"the limit is lowered while paused", func(s *scene) {
		web := fiveRevisions(s)
		web.pause()
		web.await(observed)
		web.change(historyLimit(1))
		web.await(observed)
		web.checkpoint("paused")
		web.resume()
		web.await(observed, replicaSetCount(2))
		web.checkpoint("resumed")
	}},
	{"the history is not cut in the middle of a rollout", func(s *scene) {
		s.underway()
		web := s.create(replicas(2), historyLimit(1))
		web.await(complete)
		web.roll(image("i:2"))
		web.await(complete)
		web.roll(image("i:3"), held)
		web.await(observed, replicaSetCount(3))
		web.checkpoint("rolled halfway")
		web.roll(image("i:4"), held)
		web.await(observed, replicaSetCount(4))
		web.checkpoint("overtaken")
		web.change(historyLimit(0))
		web.await(observed)
		web.checkpoint("limit 0")
		web.letGoOneByOne("i:4", 2)
		web.await(complete, replicaSetCount(1))
		web.checkpoint("complete")
	}},
	{"an old template comes back several times", func(s *scene) {
		s.namesTheComplete()
		web := s.create(replicas(0))
		web.await(complete)
		for round, name := range []string{"i:2", "i:1", "i:2", "i:1", "i:3", "i:2"} {
			web.roll(image(name), annotated("kubernetes.io/change-cause", fmt.Sprintf("change %d to %s", round, name)))
			web.await(complete, revision(fmt.Sprint(round+2)))
			web.checkpoint("back to " + name)
		}
	}},
	{"annotations are copied, changed and removed", func(s *scene) {
		web := s.create(replicas(1), annotated("a", "1"), annotated("kubernetes.io/change-cause", "first"),
			annotated("kubectl.kubernetes.io/last-applied-configuration", "{}"))
		web.settle("created")
		web.change(annotated("a", "2"), annotated("b", "1"))
		web.await(observed)
		web.checkpoint("changed and added")
		web.change(annotated("a", ""), annotated("kubernetes.io/change-cause", ""))
		web.await(observed)
		web.checkpoint("removed")
		web.roll(image("i:2"), annotated("c", "1"))
		web.settle("on the next ReplicaSet")
		web.roll(image("i:1"), annotated("c", "2"))
		web.settle("on the first one again")
		web.pause()
		web.change(annotated("c", "3"))
		web.await(observed)
		web.checkpoint("changed while paused")
	}},
	{"the record of the restart controller stays on the Deployment", func(s *scene) {
		s.meant("digests of configs are not spread", func(oracle *snapshot) {
			for _, rs := range oracle.ReplicaSets {
				delete(rs.Annotations, checksumsAnnotation)
				delete(rs.Annotations, basisAnnotation)
			}
		})
		// Not enabled: the restart controller, which runs on one side only, leaves it alone.
		web := s.create(replicas(1), annotated("com.xing.deployment-restart", "no"), annotated(checksumsAnnotation, "{}"))
		web.settle("created")
		web.change(annotated(checksumsAnnotation, `{"a":"b"}`), annotated(basisAnnotation, "{}"))
		web.await(observed)
		web.checkpoint("changed and added")
		web.roll(image("i:2"))
		web.settle("on the next ReplicaSet")
		web.change(rollBackTo("1"))
		web.await(hasEvent("DeploymentRollback"), revision("3"), complete)
		web.checkpoint("back on the first one")
	}},
	{"somebody changes the annotations of ReplicaSets", func(s *scene) {
		web := s.create(replicas(1), annotated("a", "1"))
		web.await(complete)
		web.roll(image("i:2"))
		web.settle("two templates")
		for _, image := range []string{"i:1", "i:2"} {
			web.changeReplicaSet(image, func(rs *appsv1.ReplicaSet) { rs.Annotations["a"], rs.Annotations["b"] = "spoilt", "added" })
			web.checkpoint("changed on " + image)
			web.changeReplicaSet(image, func(rs *appsv1.ReplicaSet) { delete(rs.Annotations, "a") })
			web.checkpoint("removed from " + image)
		}
	}},
	{"somebody changes revisions", func(s *scene) {
		web := s.create(replicas(1))
		web.await(complete)
		web.roll(image("i:2"))
		web.settle("two templates")
		for _, spoil := range []struct{ image, value string }{
			{"i:1", "12"}, {"i:1", "one"}, {"i:2", "two"}, {"i:2", "7"}, {"i:1", "20"},
		} {
			web.changeReplicaSet(spoil.image, func(rs *appsv1.ReplicaSet) { rs.Annotations[revisionAnnotation] = spoil.value })
			web.checkpoint(fmt.Sprintf("that of %s becomes %q", spoil.image, spoil.value))
		}
		web.changeReplicaSet("i:2", func(rs *appsv1.ReplicaSet) { delete(rs.Annotations, revisionAnnotation) })
		web.checkpoint("that of i:2 is gone")
		web.change(annotated(revisionAnnotation, "55"))
		web.checkpoint("that of the Deployment is changed")
		web.change(annotated(revisionAnnotation, ""))
		web.checkpoint("that of the Deployment is gone")
		web.roll(image("i:3"))
		web.settle("the next template")
	}},
	{"somebody deletes ReplicaSets", func(s *scene) {
		web := s.create(replicas(2))
		web.await(complete)
		web.roll(image("i:2"))
		web.await(complete)
		web.deleteReplicaSet("i:1")
		web.checkpoint("the old one")
		web.nextSecond()
		web.deleteReplicaSet("i:2")
		web.await(complete, replicaSetCount(1))
		s.scalingsInAnyStep("the ReplicaSet's pods go while those of its successor come")
		web.checkpoint("the new one is made again")
	}},
}

// fiveRevisions makes a Deployment that has had five templates, and has no pods.
func fiveRevisions(s *scene) workload {
	s.Helper()
	web := s.create(replicas(0))
	web.await(complete)
	for number := 2; number <= 5; number++ {
		web.roll(image(fmt.Sprintf("i:%d", number)))
		web.await(complete)
	}
	web.await(replicaSetCount(5))
	web.checkpoint("five templates")
	return web
}
