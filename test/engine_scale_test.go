package test

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestKubectlScales(t *testing.T) {
	s := newEngineScene(t)
	app := s.deploy("app", 2)
	s.awaitRollout(app)
	for _, replicas := range []string{"5", "0", "3"} {
		s.kubectl("scale", app.ref(), "--replicas="+replicas)
		requireContains(t, s.kubectl("rollout", "status", app.ref()), "successfully rolled out")
		s.awaitRollout(app)
	}
	_, complaint := s.kubectlFails("scale", app.ref(), "--current-replicas=9", "--replicas=1")
	requireContains(t, complaint, "Expected replicas to be 9, was 3")
	s.requireSizes(app, 3) // no template was new
}

// The example of Kubernetes' documentation: 10 replicas, 3 more allowed, 2 fewer
// allowed, and a new image that does not come up.
func TestAScaleDuringARolloutIsSharedInProportion(t *testing.T) {
	s := newEngineScene(t)
	app := s.deploy("app", 10, rolling(3, 2))
	s.awaitRollout(app)
	s.patchHeld(app, "example/main:2")
	s.awaitSizes(app, 8, 5)

	s.writeScale(app, 15) // as an autoscaler does
	s.awaitSizes(app, 11, 7)
	s.awaitObserved(app)
	s.writeScale(app, 10)
	s.awaitSizes(app, 8, 5)
	s.engineSettles()
	s.requireSizes(app, 8, 5)

	s.letAllGo(app)
	sets := s.awaitSizes(app, 0, 10)
	s.requirePodsOf(app, &sets[1], 10)
}

// writeScale writes the subresource scale.
func (s *scene) writeScale(w workload, replicas int32) {
	s.Helper()
	scale := &autoscalingv1.Scale{
		ObjectMeta: metav1.ObjectMeta{Name: w.name, Namespace: s.namespace},
		Spec:       autoscalingv1.ScaleSpec{Replicas: replicas},
	}
	_, err := s.client.AppsV1().Deployments(s.namespace).UpdateScale(s.Context(), w.name, scale, metav1.UpdateOptions{})
	s.must(err)
}

// Kubernetes' own autoscaler, which has no metrics here, but keeps to its limits.
func TestAnAutoscalerScalesDuringARollout(t *testing.T) {
	s := newEngineScene(t)
	app := s.deploy("app", 4, rolling(2, 0))
	s.awaitRollout(app)
	s.patchHeld(app, "example/main:2")
	s.awaitSizes(app, 4, 2)
	s.kubectl("autoscale", app.ref(), "--min=8", "--max=12", "--cpu=80%")
	s.awaitSizes(app, 7, 3) // 8 and the 2 more, in proportion: 4×10/6 = 6.67, 2×10/6 = 3.33
	s.letAllGo(app)
	sets := s.awaitSizes(app, 0, 8)
	s.requirePodsOf(app, &sets[1], 8)
}

func TestADeploymentThatIsScaledToNothingKeepsRolling(t *testing.T) {
	s := newEngineScene(t)
	app := s.deploy("app", 3)
	s.awaitRollout(app)
	s.patchHeld(app, "example/main:2")
	s.awaitSizes(app, 3, 1)
	s.kubectl("scale", app.ref(), "--replicas=0")
	s.awaitSizes(app, 0, 0)
	requireContains(t, s.kubectl("rollout", "status", app.ref()), "successfully rolled out")
	s.kubectl("scale", app.ref(), "--replicas=3")
	s.awaitSizes(app, 0, 3)
	s.letAllGo(app)
	d := s.awaitCondition(app, appsv1.DeploymentProgressing, "NewReplicaSetAvailable")
	if d.Status.ReadyReplicas != 3 {
		t.Errorf("%d pods are ready, want 3", d.Status.ReadyReplicas)
	}
}
