package parity

import appsv1 "k8s.io/api/apps/v1"

// rollBackTo asks for a rollback in the way of the first versions of the API, which
// is still served: 0 for the revision before.
func rollBackTo(revision string) option { return annotated(appsv1.DeprecatedRollbackTo, revision) }

// Rollbacks by annotation. (Values that are not numbers are refused by the API
// server, whatever the engine.)
var rollbackScenarios = []scenario{
	{"rolling back to the revision before", func(s *scene) {
		web := threeRevisions(s)
		web.change(rollBackTo("0"))
		web.await(hasEvent("DeploymentRollback"), revision("4"), complete)
		web.checkpoint("back to the second template")
		web.change(rollBackTo("0"))
		web.await(revision("5"), complete)
		web.checkpoint("back to the third")
	}},
	{"rolling back to a certain revision", func(s *scene) {
		web := threeRevisions(s)
		web.change(rollBackTo("1"))
		web.await(hasEvent("DeploymentRollback"), revision("4"), complete)
		web.checkpoint("back to the first template")
	}},
	{"rolling back to an unknown revision", func(s *scene) {
		web := threeRevisions(s)
		web.change(rollBackTo("77"))
		web.await(hasEvent("DeploymentRollbackRevisionNotFound"), observed)
		web.checkpoint("nothing has changed")
	}},
	{"rolling back to the present revision", func(s *scene) {
		web := threeRevisions(s)
		web.change(rollBackTo("3"))
		web.await(hasEvent("DeploymentRollbackTemplateUnchanged"), observed)
		web.checkpoint("nothing has changed")
	}},
	{"rolling back where there is no history", func(s *scene) {
		web := s.create(replicas(1))
		web.await(complete)
		web.change(rollBackTo("0"))
		web.await(hasEvent("DeploymentRollbackRevisionNotFound"), observed)
		web.checkpoint("nothing has changed")
	}},
	{"rolling back while paused waits for the resumption", func(s *scene) {
		web := threeRevisions(s)
		web.pause()
		web.await(observed)
		web.change(rollBackTo("1"))
		web.await(observed)
		web.checkpoint("paused")
		web.resume()
		web.await(hasEvent("DeploymentRollback"), revision("4"), complete)
		web.checkpoint("rolled back")
	}},
	{"rolling back in the middle of a rollout", func(s *scene) {
		web := s.create(replicas(4), rolling(2, 1))
		web.await(complete)
		web.roll(image("i:2"), held, annotated("kubernetes.io/change-cause", "second"), annotated("owner", "two"))
		web.await(sizes(are{"i:1": 3, "i:2": 3}))
		web.change(rollBackTo("0"))
		web.await(hasEvent("DeploymentRollback"), revision("3"), complete)
		web.checkpoint("back at the first template")
	}},
	{"rolling back a Deployment of no pods", func(s *scene) {
		s.namesTheComplete()
		web := threeRevisions(s)
		web.scale(0)
		web.await(complete)
		web.change(rollBackTo("2"))
		web.await(hasEvent("DeploymentRollback"), revision("4"), complete)
		web.checkpoint("rolled back")
		s.conditionsInAnyOrder("the original has not changed Progressing when it was to name another ReplicaSet")
		web.scale(2)
		web.settle("scaled up")
	}},
	{"rolling back takes the annotations along", func(s *scene) {
		web := s.create(replicas(1), annotated("kubernetes.io/change-cause", "first"), annotated("only-first", "1"), annotated("both", "1"))
		web.await(complete)
		web.roll(image("i:2"), annotated("kubernetes.io/change-cause", "second"), annotated("only-first", ""), annotated("both", "2"), annotated("only-second", "2"))
		web.await(complete)
		web.change(rollBackTo("1"))
		web.await(hasEvent("DeploymentRollback"), revision("3"), complete)
		web.checkpoint("rolled back")
		web.change(rollBackTo("2"))
		web.await(revision("4"), complete)
		web.checkpoint("and forth")
	}},
}

// threeRevisions makes a Deployment that has had three templates.
func threeRevisions(s *scene) workload {
	s.Helper()
	web := s.create(replicas(1))
	web.await(complete)
	web.roll(image("i:2"))
	web.await(complete)
	web.roll(image("i:3"))
	web.settle("three templates")
	return web
}

// revision: the Deployment is at the revision.
func revision(want string) condition {
	return annotation(revisionAnnotation, want)
}
