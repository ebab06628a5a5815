package parity

import appsv1 "k8s.io/api/apps/v1"

// Changes of size, alone and together with a rollout.
var scalingScenarios = []scenario{
	{"scaling up and down", func(s *scene) {
		web := s.create()
		web.await(complete)
		web.scale(6)
		web.settle("up")
		web.scale(2)
		web.settle("down")
		web.scale(0)
		web.settle("to nothing")
		web.scale(3)
		web.settle("back")
	}},
	{"scaling a Deployment of several ReplicaSets that is complete", func(s *scene) {
		web := s.create()
		web.await(complete)
		web.roll(image("i:2"))
		web.await(complete)
		web.scale(5)
		web.settle("only the new one grows")
		web.roll(image("i:1"))
		web.settle("the old one comes back at the new size")
	}},
	{"scaling up in the middle of a rollout", func(s *scene) {
		web := s.create(replicas(10), rolling(3, 2))
		web.await(complete)
		web.roll(image("i:2"), held)
		web.await(sizes(are{"i:1": 8, "i:2": 5}))
		web.scale(15)
		web.await(observed, sizes(are{"i:1": 11, "i:2": 7}))
		web.checkpoint("both grow in proportion")
		web.scale(17)
		web.await(observed)
		web.checkpoint("both grow again")
	}},
	{"scaling down in the middle of a rollout", func(s *scene) {
		web := s.create(replicas(10), rolling(3, 2))
		web.await(complete)
		web.roll(image("i:2"), held)
		web.await(sizes(are{"i:1": 8, "i:2": 5}))
		web.scale(5)
		web.await(observed)
		web.checkpoint("both shrink in proportion")
		web.scale(1)
		web.await(observed)
		web.checkpoint("to one")
		web.change(free)
		web.settle("without the hold-up")
	}},
	{"scaling over three ReplicaSets leaves a rest", func(s *scene) {
		s.underway()
		web := threeGenerations(s)
		web.scale(22)
		web.await(observed)
		web.checkpoint("22")
		web.scale(25)
		web.await(observed)
		web.checkpoint("25")
		s.scalingsInAnyStep("old pods go as it becomes known which of them are available")
		web.scale(7)
		web.await(observed)
		web.checkpoint("7")
		web.scale(2)
		web.await(observed)
		web.checkpoint("2")
	}},
	{"three ReplicaSets are scaled to nothing and back", func(s *scene) {
		s.underway()
		web := threeGenerations(s)
		web.scale(0)
		web.await(observed, sizes(are{}))
		web.checkpoint("nothing")
		web.scale(6)
		web.await(observed)
		web.checkpoint("back")
		web.letGo("i:3", 2)
		web.checkpoint("two pods are ready")
	}},
	{"scaling while paused", func(s *scene) {
		web := s.create(replicas(4))
		web.await(complete)
		web.pause()
		web.await(observed)
		web.scale(6)
		web.await(observed, available(6))
		web.checkpoint("up")
		web.roll(image("i:2"))
		web.scale(3)
		web.await(observed, sizes(are{"i:1": 3}))
		web.checkpoint("down with another template, the old ReplicaSet is scaled")
		web.resume()
		web.settle("resumed")
	}},
	{"scaling while paused in the middle of a rollout", func(s *scene) {
		web := s.create(replicas(10), rolling("25%", "25%"))
		web.await(complete)
		web.roll(image("i:2"), held)
		web.await(sizes(are{"i:1": 8, "i:2": 5}))
		web.pause()
		web.await(observed)
		web.checkpoint("paused")
		web.scale(20)
		web.await(observed)
		web.checkpoint("scaled up while paused")
		web.scale(4)
		web.await(observed)
		web.checkpoint("scaled down while paused")
		web.letGo("i:2", 1)
		web.checkpoint("a new pod is ready, nothing moves")
		web.resume()
		web.await(observed)
		web.checkpoint("resumed")
	}},
	{"an autoscaler writes during a rollout", func(s *scene) {
		web := s.create(replicas(4), rolling(2, 1))
		web.await(complete)
		web.roll(image("i:2"), held)
		web.await(sizes(are{"i:1": 3, "i:2": 3}))
		for _, size := range []int32{6, 9, 5, 8} {
			web.scale(size)
			web.await(observed)
			web.checkpoint("scaled")
			web.letGo("i:2", 1)
			web.checkpoint("one more new pod is ready")
		}
	}},
	{"the size and the limits change at once", func(s *scene) {
		web := s.create(replicas(10), rolling(3, 2))
		web.await(complete)
		web.roll(image("i:2"), held)
		web.await(sizes(are{"i:1": 8, "i:2": 5}))
		web.change(replicas(12), rolling("50%", 0))
		web.await(observed)
		web.checkpoint("size and limits")
		web.change(rolling(1, 0))
		web.await(observed)
		web.checkpoint("limits alone")
	}},
	{"the size and the template change at once", func(s *scene) {
		s.underway()
		web := s.create(replicas(4))
		web.await(complete)
		web.roll(image("i:2"), replicas(6), held)
		web.await(observed, replicaSetCount(2))
		web.checkpoint("up")
		web.roll(image("i:3"), replicas(2), held)
		web.await(observed, replicaSetCount(3))
		web.checkpoint("down")
		web.letGo("i:3", 1)
		web.checkpoint("a new pod is ready")
	}},
	{"somebody scales a ReplicaSet by hand", func(s *scene) {
		web := s.create()
		web.await(complete)
		web.changeReplicaSet("i:1", func(rs *appsv1.ReplicaSet) { rs.Spec.Replicas = new(int32(5)) })
		web.settle("up and put right")
		s.conditionsInAnyOrder("its pods may be replaced before the status reports that they are missing")
		web.changeReplicaSet("i:1", func(rs *appsv1.ReplicaSet) { rs.Spec.Replicas = new(int32(0)) })
		web.settle("down and put right")
		web.roll(image("i:2"))
		web.settle("rolled")
		web.changeReplicaSet("i:1", func(rs *appsv1.ReplicaSet) { rs.Spec.Replicas = new(int32(2)) })
		web.settle("an old one, up and put right")
	}},
	{"somebody scales up an old ReplicaSet in the middle of a rollout", func(s *scene) {
		web := s.create(rolling("25%", "25%"))
		web.await(complete)
		web.roll(image("i:2"))
		web.await(complete)
		web.scale(8)
		web.await(complete)
		web.roll(image("i:3"), held)
		web.await(sizes(are{"i:2": 6, "i:3": 4}), observed)
		web.checkpoint("in the middle")
		s.ignore("Events: the original's steps lead elsewhere", func(s *snapshot) { s.Events = nil })
		s.meant("no ReplicaSet grows while all together shrink, even if it remembers that there were fewer", func(oracle *snapshot) {
			for _, rs := range oracle.ReplicaSets {
				if size := (are{"i:1": 3, "i:2": 3, "i:3": 4})[imageOf(rs)]; imageOf(rs) != "i:3" {
					rs.Spec.Replicas = new(size)
					rs.Status.Replicas, rs.Status.FullyLabeledReplicas, rs.Status.ReadyReplicas, rs.Status.AvailableReplicas = size, size, size, size
				}
			}
		})
		web.changeReplicaSet("i:1", func(rs *appsv1.ReplicaSet) { rs.Spec.Replicas = new(int32(3)) })
		web.await(observed, available(6))
		web.checkpoint("scaled up by hand")
	}},
	{"the size is right and the annotation of it wrong", func(s *scene) {
		web := s.create()
		web.await(complete)
		const desired, most = "deployment.kubernetes.io/desired-replicas", "deployment.kubernetes.io/max-replicas"
		s.meant("the annotation is mended, so that the next template is rolled out", func(oracle *snapshot) {
			for _, rs := range oracle.ReplicaSets {
				rs.Annotations[desired], rs.Annotations[most] = "3", "4"
			}
		})
		web.changeReplicaSet("i:1", func(rs *appsv1.ReplicaSet) { rs.Annotations[desired], rs.Annotations[most] = "7", "9" })
		web.checkpoint("wrong")
		web.changeReplicaSet("i:1", func(rs *appsv1.ReplicaSet) { rs.Annotations[desired], rs.Annotations[most] = "3", "4" })
		web.roll(image("i:2"))
		web.await(complete)
		web.checkpoint("put right and rolled")
	}},
	{"somebody spoils the annotations of sizes", func(s *scene) {
		web := s.create(replicas(4), rolling(2, 1))
		web.await(complete)
		const desired, most = "deployment.kubernetes.io/desired-replicas", "deployment.kubernetes.io/max-replicas"
		for _, spoil := range []func(map[string]string){
			func(a map[string]string) { a[most] = "77" },
			func(a map[string]string) { a[desired] = "four" },
			func(a map[string]string) { delete(a, desired) },
			func(a map[string]string) { delete(a, most) },
		} {
			web.changeReplicaSet("i:1", func(rs *appsv1.ReplicaSet) { spoil(rs.Annotations) })
			web.checkpoint("spoilt")
		}
		web.scale(5)
		web.settle("scaled")
		web.roll(image("i:2"), held)
		web.await(observed, replicaSetCount(2))
		web.checkpoint("rolled halfway")
		for _, spoil := range []func(map[string]string){
			func(a map[string]string) { a[most] = "many" },
			func(a map[string]string) { a[most] = "3" },
			func(a map[string]string) { delete(a, most) },
		} {
			web.changeReplicaSet("i:1", func(rs *appsv1.ReplicaSet) { spoil(rs.Annotations) })
			web.scale(20)
			web.await(observed)
			web.checkpoint("scaled up in spite of it")
			web.scale(6)
			web.await(observed)
			web.checkpoint("and down")
		}
	}},
}

// threeGenerations makes a Deployment in the middle of its second rollout, with
// 6 pods of the first template, 2 of the second and 5 of the third that wait.
func threeGenerations(s *scene) workload {
	s.Helper()
	web := s.create(replicas(10), rolling(3, 2))
	web.await(complete)
	web.roll(image("i:2"), held)
	web.await(sizes(are{"i:1": 8, "i:2": 5}))
	web.letGo("i:2", 1)
	web.checkpoint("one of the second template is ready")
	web.letGo("i:2", 1)
	web.checkpoint("two of the second template are ready")
	web.roll(image("i:3"), held)
	web.await(sizes(are{"i:1": 6, "i:2": 2, "i:3": 5}))
	web.checkpoint("three generations")
	return web
}
