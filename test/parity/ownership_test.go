package parity

import (
	"context"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Which ReplicaSets belong to a Deployment: adoption, release, deletion,
// collisions of names.
var ownershipScenarios = []scenario{
	{"a Deployment that is deleted without its ReplicaSets takes them up again", func(s *scene) {
		web := s.create()
		web.await(complete)
		web.roll(image("i:2"))
		web.await(complete)
		web.delete(metav1.DeletePropagationOrphan)
		s.await("the Deployment is gone and the ReplicaSets are orphans", orphaned(2))
		s.checkpoint("orphans")
		again := s.create(image("i:2"))
		again.await(complete, replicaSetCount(2))
		again.checkpoint("taken up again")
	}},
	{"a Deployment that is deleted and made again in the middle of a rollout goes on", func(s *scene) {
		web := s.create(replicas(6), rolling(2, 1))
		web.await(complete)
		web.roll(image("i:2"), held)
		web.await(sizes(are{"i:1": 5, "i:2": 3}))
		web.delete(metav1.DeletePropagationOrphan)
		s.await("the Deployment is gone and the ReplicaSets are orphans", orphaned(2))
		web = s.create(replicas(6), rolling(2, 1), image("i:2"), held)
		web.await(observed, replicaSetCount(2))
		web.checkpoint("taken up again")
		web.letGoOneByOne("i:2", 6)
		web.settle("rolled")
	}},
	{"a Deployment made again with another template replaces the orphans", func(s *scene) {
		web := s.create()
		web.await(complete)
		web.delete(metav1.DeletePropagationOrphan)
		s.await("the Deployment is gone and the ReplicaSet is an orphan", orphaned(1))
		s.nextSecond()
		s.create(image("i:2"), replicas(2)).settle("replaced")
	}},
	{"a ReplicaSet whose labels change is released, and adopted when they come back", func(s *scene) {
		web := s.create(replicas(2))
		web.await(complete)
		web.roll(image("i:2"))
		web.await(complete)
		web.changeReplicaSet("i:1", func(rs *appsv1.ReplicaSet) { rs.Labels["app"] = "other" })
		web.await(replicaSetCount(1))
		web.checkpoint("the old one is released")
		web.changeReplicaSet("i:1", func(rs *appsv1.ReplicaSet) { rs.Labels["app"] = "web" })
		web.await(replicaSetCount(2))
		web.checkpoint("adopted")
	}},
	{"the present ReplicaSet is released", func(s *scene) {
		web := s.create(replicas(2))
		web.await(complete)
		web.nextSecond()
		web.changeReplicaSet("i:1", func(rs *appsv1.ReplicaSet) { rs.Labels["app"] = "other" })
		web.await(complete, collisions(1))
		web.checkpoint("its name is taken, so another one is made")
	}},
	{"somebody takes the owner reference away", func(s *scene) {
		web := s.create(replicas(2))
		web.await(complete)
		web.changeReplicaSet("i:1", func(rs *appsv1.ReplicaSet) { rs.OwnerReferences = nil })
		web.await(replicaSetCount(1))
		web.checkpoint("adopted at once")
	}},
	{"somebody makes the owner reference an ordinary one", func(s *scene) {
		web := s.create(replicas(2))
		web.await(complete)
		web.changeReplicaSet("i:1", func(rs *appsv1.ReplicaSet) { rs.OwnerReferences[0].Controller = nil })
		web.await(replicaSetCount(1))
		web.checkpoint("it controls again")
	}},
	{"a ReplicaSet made by hand is adopted as an old one", func(s *scene) {
		web := s.create(replicas(2))
		web.await(complete)
		s.nextSecond()
		s.createReplicaSet(replicaSet("by-hand", "web", "i:hand", 1))
		web.await(complete, replicaSetCount(2))
		web.checkpoint("adopted and scaled down")
	}},
	{"a ReplicaSet made by hand with the template of the Deployment is its own", func(s *scene) {
		s.createReplicaSet(replicaSet("by-hand", "web", "i:1", 1))
		web := s.create(replicas(2))
		web.await(complete, replicaSetCount(1))
		web.checkpoint("adopted, no other is made")
		web.roll(image("i:2"))
		web.settle("rolled")
		web.roll(image("i:1"))
		web.settle("back")
	}},
	{"a ReplicaSet of another controller is left alone", func(s *scene) {
		s.both("create a ReplicaSet that a ConfigMap controls", func(ctx context.Context, on *side) error {
			owner, err := on.client.CoreV1().ConfigMaps(s.namespace).
				Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "owner"}}, metav1.CreateOptions{})
			if err != nil {
				return err
			}
			rs := replicaSet("strange", "web", "i:1", 1)
			rs.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(owner, corev1.SchemeGroupVersion.WithKind("ConfigMap"))}
			_, err = on.client.AppsV1().ReplicaSets(s.namespace).Create(ctx, rs, metav1.CreateOptions{})
			return err
		})
		web := s.create(replicas(1))
		web.await(complete, replicaSetCount(1))
		web.checkpoint("beside it")
	}},
	{"Deployments with overlapping selectors keep to their own", func(s *scene) {
		one := s.create()
		one.await(complete)
		other := s.create(named("other"), func(d *appsv1.Deployment) {
			d.Spec.Selector.MatchLabels["app"], d.Spec.Template.Labels["app"] = "web", "web"
		})
		other.await(complete)
		s.checkpoint("two with the same template")
		other.roll(image("i:2"))
		other.await(complete)
		one.scale(1)
		one.await(complete)
		s.checkpoint("each has gone its way")
		one.roll(image("i:2"))
		one.settle("the same template again")
	}},
	{"deleting a Deployment deletes all of it", func(s *scene) {
		web := s.create()
		web.await(complete)
		web.delete(metav1.DeletePropagationBackground)
		s.await("all is gone", nothingLeft)
		s.checkpoint("gone")
		s.create(image("i:2")).settle("made again")
	}},
	{"while a Deployment is being deleted only its status is kept", func(s *scene) {
		web := s.create(lingering)
		web.await(complete)
		web.delete(metav1.DeletePropagationForeground)
		web.await(observed, terminating(3), available(0))
		web.checkpoint("its pods terminate")
		web.scale(5)
		web.change(image("i:2"))
		web.await(observed)
		web.checkpoint("changes lead to nothing")
		web.letFinish("i:1", 1)
		web.await(terminating(2))
		web.checkpoint("one pod has gone")
		web.letFinish("i:1", 2)
		s.await("all is gone", nothingLeft)
		s.checkpoint("gone")
	}},
	{"a Deployment that lingers does nothing more", func(s *scene) {
		web := s.create(func(d *appsv1.Deployment) { d.Finalizers = []string{finalizer} })
		web.await(complete)
		web.delete(metav1.DeletePropagationBackground)
		web.change(image("i:2"), replicas(5))
		web.await(observed)
		web.checkpoint("changes lead to nothing")
		web.deleteReplicaSet("i:1")
		web.await(replicaSetCount(0), podCount(0))
		web.checkpoint("its ReplicaSet is not made again")
		web.change(func(d *appsv1.Deployment) { d.Finalizers = nil })
		s.await("it is gone", nothingLeft)
	}},
	{"a name is taken by a stranger's ReplicaSet", func(s *scene) {
		name := s.nameFor("i:1")
		s.createReplicaSet(replicaSet(name, "stranger", "i:strange", 0))
		web := s.create()
		web.await(complete, collisions(1))
		web.checkpoint("another name")
		web.roll(image("i:2"))
		web.settle("the next template")
		web.roll(image("i:1"))
		web.settle("and back")
	}},
	{"two names are taken", func(s *scene) {
		first := s.nameFor("i:1")
		s.createReplicaSet(replicaSet(first, "stranger", "i:strange", 0))
		web := s.create(replicas(1))
		web.await(complete, collisions(1))
		second := s.names(ofImage("i:1"))
		web.delete(metav1.DeletePropagationBackground)
		s.await("only the stranger's is left", orphaned(1))
		s.createReplicaSet(replicaSet(second, "stranger", "i:stranger", 0))
		web = s.create(replicas(1))
		web.await(complete, collisions(2))
		web.checkpoint("a third name")
	}},
	{"a name is taken by an orphan of another Deployment with the same template", func(s *scene) {
		name := s.nameFor("i:1")
		orphan := replicaSet(name, "web", "i:1", 0)
		orphan.Labels = map[string]string{"app": "elsewhere"}
		s.createReplicaSet(orphan)
		web := s.create(replicas(1))
		web.await(complete, collisions(1))
		web.checkpoint("another name")
	}},
}

// replicaSet describes a ReplicaSet made by hand, with pods like those of the
// Deployment "web".
func replicaSet(name, app, image string, replicas int32) *appsv1.ReplicaSet {
	labels := map[string]string{"app": app}
	return &appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels},
		Spec: appsv1.ReplicaSetSpec{
			Replicas: new(replicas),
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec: corev1.PodSpec{
					TerminationGracePeriodSeconds: new(int64(0)),
					Containers:                    []corev1.Container{{Name: "c", Image: image}},
				},
			},
		},
	}
}

func (s *scene) createReplicaSet(rs *appsv1.ReplicaSet) {
	s.Helper()
	s.both("create ReplicaSet "+rs.Name, func(ctx context.Context, on *side) error {
		_, err := on.client.AppsV1().ReplicaSets(s.namespace).Create(ctx, rs.DeepCopy(), metav1.CreateOptions{})
		return err
	})
}

// nameFor finds out how the ReplicaSet of the Deployment "web" with the image is
// called, by making and deleting it.
func (s *scene) nameFor(name string) string {
	s.Helper()
	web := s.create(image(name), replicas(0))
	web.settle("as if nothing were in the way")
	found := s.names(ofImage(name))
	web.delete(metav1.DeletePropagationBackground)
	s.await("all is gone", nothingLeft)
	return found
}

func ofImage(name string) func(*appsv1.ReplicaSet) bool {
	return func(rs *appsv1.ReplicaSet) bool { return imageOf(rs) == name }
}

// names returns the name of the only ReplicaSet that is meant, the same on both
// sides.
func (s *scene) names(meant func(*appsv1.ReplicaSet) bool) string {
	s.Helper()
	found := map[string]bool{}
	var last string
	for _, on := range s.sides {
		for _, rs := range on.mirror.view(s.namespace).replicaSets {
			if meant(rs) {
				last = rs.Name
				found[last] = true
			}
		}
	}
	if len(found) != 1 {
		s.Fatalf("there is no one ReplicaSet: %v", found)
	}
	return last
}
