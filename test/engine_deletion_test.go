package test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// awaitGone waits until the Deployment is gone.
func (s *scene) awaitGone(w workload) {
	s.Helper()
	s.eventually(w.name+" is gone", func(ctx context.Context) error {
		_, err := s.client.AppsV1().Deployments(s.namespace).Get(ctx, w.name, metav1.GetOptions{})
		return gone(err)
	})
}

// gone returns nil for a NotFound error, and an error for nil.
func gone(err error) error {
	switch {
	case apierrors.IsNotFound(err):
		return nil
	case err == nil:
		return errors.New("it is still there")
	}
	return err
}

func TestADeploymentThatIsDeletedWithoutItsPodsAndMadeAgainGoesOn(t *testing.T) {
	s := newEngineScene(t)
	app := s.deploy("app", 4, rolling(1, 0))
	s.awaitRollout(app)
	s.patchHeld(app, "example/main:2")
	before := s.awaitSizes(app, 4, 1)
	d := s.awaitDeployment(app, "has its new pod", func(d *appsv1.Deployment) error {
		if d.Status.Replicas != 5 {
			return fmt.Errorf("it has %d pods", d.Status.Replicas)
		}
		return nil
	})
	pods := map[types.UID]bool{}
	for _, pod := range s.runningPods(app) {
		pods[pod.UID] = true
	}

	requireContains(t, s.kubectl("delete", app.ref(), "--cascade=orphan"), "deleted")
	s.awaitGone(app)
	s.engineSettles()
	for _, rs := range s.replicaSetsNow(app) {
		if len(rs.OwnerReferences) != 0 {
			t.Errorf("orphan %s has owners: %v", rs.Name, rs.OwnerReferences)
		}
	}
	s.requireSizes(app, 4, 1)

	again := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: app.name}, Spec: d.Spec}
	_, err := s.client.AppsV1().Deployments(s.namespace).Create(t.Context(), again, metav1.CreateOptions{})
	s.must(err)
	s.eventually("the orphans are adopted", func(ctx context.Context) error {
		sets, err := s.replicaSets(ctx, app)
		if err != nil {
			return err
		}
		for i := range sets {
			if metav1.GetControllerOf(&sets[i]) == nil {
				return fmt.Errorf("%s has no controller", sets[i].Name)
			}
		}
		return nil
	})
	s.engineSettles()
	s.requireSizes(app, 4, 1) // the rollout waits where it waited
	s.requireSamePods(app, pods)

	s.letAllGo(app)
	after := s.awaitSizes(app, 0, 4)
	for i := range after {
		if after[i].UID != before[i].UID {
			t.Errorf("ReplicaSet %s was recreated", after[i].Name)
		}
	}
	s.requirePodsOf(app, &after[1], 4)
	requireContains(t, s.kubectl("rollout", "status", app.ref()), "successfully rolled out")
}

func TestADeploymentThatIsDeletedIsGoneWithAllThatItHad(t *testing.T) {
	t.Parallel()
	for _, cascade := range []string{"foreground", "background"} {
		t.Run(cascade, func(t *testing.T) {
			s := newEngineScene(t)
			app := s.deploy("app", 3, rolling(1, 0))
			s.awaitRollout(app)
			s.patchHeld(app, "example/main:2")
			s.awaitSizes(app, 3, 1)
			requireContains(t, s.kubectl("delete", app.ref(), "--cascade="+cascade), "deleted")
			s.awaitGone(app)
			s.eventually("its ReplicaSets and pods are gone", func(ctx context.Context) error {
				sets, err := s.replicaSets(ctx, app)
				if err != nil {
					return err
				}
				pods, err := s.client.CoreV1().Pods(s.namespace).List(ctx, metav1.ListOptions{LabelSelector: "app=" + app.name})
				if err != nil {
					return err
				}
				if len(sets) != 0 || len(pods.Items) != 0 {
					return fmt.Errorf("%d ReplicaSets, %d pods", len(sets), len(pods.Items))
				}
				return nil
			})
			s.engineSettles()
			s.requireSizes(app)
		})
	}
}

// lingering keeps the pods of a template from going, until their finalizer is taken.
func lingering(d *appsv1.Deployment) { d.Spec.Template.Finalizers = []string{"test/lingers"} }

// Of a namespace that is being deleted the pods go first. While one of them lingers,
// the Deployment is there, and its new template calls for a ReplicaSet that the API
// server does not let in.
func TestNothingIsCreatedInANamespaceThatIsTerminating(t *testing.T) {
	s := newEngineSceneApart(t)
	engine := s.startEngine()
	app := s.deploy("app", 1, lingering)
	s.awaitRollout(app)
	s.must(s.client.CoreV1().Namespaces().Delete(t.Context(), s.namespace, metav1.DeleteOptions{}))
	s.eventually("the namespace waits for its pod", func(ctx context.Context) error {
		pods, err := s.client.CoreV1().Pods(s.namespace).List(ctx, metav1.ListOptions{LabelSelector: "app=" + app.name})
		if err == nil && (len(pods.Items) != 1 || pods.Items[0].DeletionTimestamp == nil) {
			err = fmt.Errorf("%d pods", len(pods.Items))
		}
		return err
	})
	before := len(s.creations())
	s.patchImage(app, "example/main:2")
	s.eventually("the engine tries", func(context.Context) error {
		if len(s.creations()) == before {
			return errors.New("it has not asked for a ReplicaSet")
		}
		return nil
	})

	s.eventually("the engine has tried several times", func(context.Context) error {
		if tries := len(s.creations()) - before; tries < 4 { // 5 ms, 10 ms, … but after one that took seconds, as on a busy machine, that long, twice that …
			return fmt.Errorf("%d times", tries)
		}
		return nil
	})
	if done := succeeded(s.creations()[before:]); len(done) != 0 {
		t.Errorf("created in a terminating namespace: %v", done)
	}
	// Each try is one write, and there were some before. What would not wait between
	// its tries would make thousands.
	if writes := s.writes(); len(writes) > 60 {
		t.Errorf("%d writes in a namespace that is terminating", len(writes))
	}
	d, err := s.client.AppsV1().Deployments(s.namespace).Get(t.Context(), app.name, metav1.GetOptions{})
	s.must(err)
	for _, c := range d.Status.Conditions {
		if c.Reason == "ReplicaSetCreateError" {
			t.Errorf("the end of the namespace counts as a failure: %s", c.Message)
		}
	}

	s.takeFinalizers(app)
	s.eventually("the namespace is gone", func(ctx context.Context) error {
		_, err := s.client.CoreV1().Namespaces().Get(ctx, s.namespace, metav1.GetOptions{})
		return gone(err)
	})
	s.awaitMetric("deployment_engine_rollouts_in_progress", nil, 0)
	s.eventually("the engine has nothing to do", engine.Idle)
	s.awaitMetric("deployment_engine_queue_depth", nil, 0)
	if lines := engine.Log().Containing("level=ERROR"); len(lines) != 0 {
		t.Errorf("errors in the log: %q", lines)
	}
}

// takeFinalizers lets the lingering pods of a Deployment go.
func (s *scene) takeFinalizers(w workload) {
	s.Helper()
	pods, err := s.client.CoreV1().Pods(s.namespace).List(s.Context(), metav1.ListOptions{LabelSelector: "app=" + w.name})
	s.must(err)
	for i := range pods.Items {
		_, err := s.client.CoreV1().Pods(s.namespace).Patch(s.Context(), pods.Items[i].Name, types.MergePatchType,
			[]byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
		s.must(err)
	}
}

// The pods of the old template have to go before new ones come, those included that
// take their time to end.
func TestRecreateWaitsForPodsThatTerminate(t *testing.T) {
	s := newEngineScene(t)
	watched := map[string]string{"resource": "pods", "namespace": s.namespace}
	s.deploy("rolled", 1)
	app := s.deploy("app", 2, lingering)
	s.awaitRollout(app)
	if watches := s.metric(enginePrefix+"watch_up", watched); watches != 0 {
		t.Error("pods are watched without need")
	}
	s.patch(app, `{"spec":{"strategy":{"type":"Recreate","rollingUpdate":null}}}`)
	s.awaitMetric(enginePrefix+"watch_up", watched, 1)
	s.kubectl("set", "image", app.ref(), "main=example/main:2")
	s.awaitSizes(app, 0)
	s.eventually("the old pods terminate", func(ctx context.Context) error {
		pods, err := s.podsOf(ctx, app)
		if err == nil && len(pods) != 0 {
			err = fmt.Errorf("%d pods do not", len(pods))
		}
		return err
	})
	s.engineSettles()
	s.requireSizes(app, 0)
	s.takeFinalizers(app)
	sets := s.awaitSizes(app, 0, 2)
	s.awaitRollout(app)
	s.requirePodsOf(app, &sets[1], 2)
	s.takeFinalizers(app) // so that the namespace could be deleted
}

// A quota can leave no room for new pods until the old ones have ended. The ReplicaSet controller's pauses between its
// tries grow meanwhile.
func TestPodsThatAQuotaRefusedAreTriedAgainWhenOldOnesHaveEnded(t *testing.T) {
	s := newEngineScene(t)
	s.setQuota("3", "count/pods") // one is of the scene
	app := s.deploy("app", 2, lingering, rolling(0, 2))
	s.awaitRollout(app)
	s.patchImage(app, "example/main:2")
	s.eventually("the quota refuses new pods", func(ctx context.Context) error {
		d, err := s.client.AppsV1().Deployments(s.namespace).Get(ctx, app.name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		isRefused := slices.ContainsFunc(d.Status.Conditions, func(c appsv1.DeploymentCondition) bool { return c.Type == appsv1.DeploymentReplicaFailure })
		if terminating := d.Status.TerminatingReplicas; !isRefused || terminating == nil || *terminating != 2 {
			return fmt.Errorf("its status is %+v", d.Status)
		}
		return nil
	})
	s.takeFinalizers(app)
	s.eventually("the engine has it tried again", func(ctx context.Context) error {
		sets, err := s.replicaSets(ctx, app)
		if err == nil && sets[len(sets)-1].Annotations["com.xing.deployment-restart.pods-retried-at"] == "" {
			err = errors.New("nothing is written to the new ReplicaSet")
		}
		return err
	})
	s.awaitRollout(app)
	s.takeFinalizers(app) // so that the namespace could be deleted
}

// With the annotation, a pod makes room for another one when it has ended.
func TestNewPodsWaitUntilOldOnesHaveEndedIfTheirDeploymentSaysSo(t *testing.T) {
	s := newEngineScene(t)
	app := s.deploy("app", 4, lingering, rolling(0, 4), func(d *appsv1.Deployment) {
		d.Annotations = map[string]string{"com.xing.deployment-restart.pod-replacement-policy": "TerminationComplete"}
	})
	s.awaitRollout(app)
	s.patchImage(app, "example/main:2")
	s.awaitSizes(app, 0, 0)
	s.kubectl("scale", app.ref(), "--replicas=5") // room for one
	s.awaitSizes(app, 0, 1)
	s.engineSettles()
	s.requireSizes(app, 0, 1)
	s.takeFinalizers(app)
	s.awaitSizes(app, 0, 5)
	s.awaitRollout(app)
	s.awaitCondition(app, appsv1.DeploymentProgressing, "NewReplicaSetAvailable")
	s.takeFinalizers(app) // so that the namespace could be deleted
}
