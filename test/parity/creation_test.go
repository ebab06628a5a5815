package parity

import (
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// What becomes of a new Deployment: its ReplicaSet's name and hash, its status.
var creationScenarios = []scenario{
	{"a new Deployment gets a ReplicaSet", func(s *scene) {
		s.create(annotated("team", "blue"), annotated("kubernetes.io/change-cause", "first")).settle("all pods are available")
	}},
	{"a Deployment of no pods is complete at once", func(s *scene) {
		s.create(replicas(0)).settle("nothing to wait for")
	}},
	{"a new Deployment whose pods wait is progressing", func(s *scene) {
		web := s.create(held)
		web.await(sizes(are{"i:1": 3}), progressing("ReplicaSetUpdated"))
		web.checkpoint("no pod is ready")
		web.letGo("i:1", 1)
		web.await(available(1))
		web.checkpoint("one pod is ready")
		web.letGo("i:1", 2)
		web.settle("all pods are ready")
	}},
	{"a Deployment that is created paused has no ReplicaSet until it is resumed", func(s *scene) {
		web := s.create(paused)
		web.await(observed, progressing("DeploymentPaused"))
		web.checkpoint("paused")
		web.scale(2)
		web.await(observed)
		web.checkpoint("scaled while paused")
		web.resume()
		web.settle("resumed")
	}},
	{"long names are cut", func(s *scene) {
		for _, length := range []int{241, 242, 243, 244, 253} {
			s.create(named(longName(length)), replicas(1)).await(complete)
		}
		s.checkpoint("all complete")
	}},
	{"a long name is cut in a bad place", func(s *scene) {
		s.attemptsUncounted()
		s.statusWhileCreationFails()
		web := s.create(named(strings.Repeat("a", 241)+".b.cdefghijk"), replicas(1))
		web.await(hasEvent("ReplicaSetCreateError"), progressing("ReplicaSetCreateError"))
		web.checkpoint("no ReplicaSet can have such a name")
		web.delete(metav1.DeletePropagationBackground)
		s.await("it is gone", nothingLeft)
	}},
	{"a template may carry a pod-template-hash of its own", func(s *scene) {
		web := s.create(func(d *appsv1.Deployment) {
			d.Spec.Template.Labels[appsv1.DefaultDeploymentUniqueLabelKey] = "mine"
		})
		web.settle("created")
		web.roll(func(d *appsv1.Deployment) {
			d.Spec.Template.Labels[appsv1.DefaultDeploymentUniqueLabelKey] = "yours"
		})
		web.await(observed)
		web.checkpoint("with another hash")
	}},
	{"a template with everything has the original's hash", func(s *scene) {
		s.create(replicas(0), rich).settle("created")
	}},
	{"selectors may have expressions", func(s *scene) {
		web := s.create(expressive)
		web.settle("created")
		web.roll(image("i:2"))
		web.settle("rolled")
	}},
}

// longName is a name of that length whose cut does not end in a dot.
func longName(length int) string {
	return strings.Repeat("abcdefghi.", 26)[:length-1] + "z"
}
