package deployment

import (
	"fmt"
	"maps"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubernetes-deployment-restart-controller/deployment/rollout"
)

// capped is a policy that lets no ReplicaSet have more than two replicas.
func capped(_, after metav1.Object) {
	if rs, ok := after.(*appsv1.ReplicaSet); ok {
		rs.Spec.Replicas = new(min(*rs.Spec.Replicas, 2))
	}
}

// stripped is a policy that takes an annotation of the engine's from ReplicaSets, and changes
// another one each time, so that the version moves all the same.
func stripped(before, after metav1.Object) {
	rs, ok := after.(*appsv1.ReplicaSet)
	if !ok {
		return
	}
	count := 0
	if before != nil {
		count, _ = strconv.Atoi(before.GetAnnotations()["count"])
	}
	rs.Annotations = maps.Clone(rs.Annotations)
	delete(rs.Annotations, rollout.RevisionAnnotation)
	rs.Annotations["count"] = strconv.Itoa(count + 1)
}

// muted is a policy that takes the conditions from Deployments.
func muted(_, after metav1.Object) {
	if d, ok := after.(*appsv1.Deployment); ok {
		d.Status.Conditions = nil
	}
}

func TestAWriteWithoutEffectIsRetriedLessAndLessOftenAndReportedOnce(t *testing.T) {
	for name, test := range map[string]struct {
		policy   func(before, after metav1.Object)
		reported string
	}{
		"replicas are capped":      {capped, "differs from the request (replicas)"},
		"an annotation is removed": {stripped, "annotation " + rollout.RevisionAnnotation + ""},
		"the status is stripped":   {muted, "the deployment differs from the request (status)"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a := newAttempts()
				a.cluster.policy = test.policy
				writes := 0
				a.cluster.refuse = func(string) error {
					writes++
					return nil
				}
				for begun := time.Now(); time.Since(begun) < time.Hour && writes < 1000; {
					a.sync(t)
				}
				if writes > 100 {
					t.Errorf("%d writes in an hour", writes)
				}
				reported := 0
				for _, event := range a.cluster.events {
					if strings.HasPrefix(event, "Warning WriteIneffective: ") && strings.Contains(event, test.reported) {
						reported++
					}
				}
				if reported != 1 {
					t.Errorf("reported %d times: %q", reported, a.cluster.events)
				}
				if counted := testutil.ToFloat64(a.engine.metrics.writeErrors.WithLabelValues("ineffective")); counted < 50 {
					t.Errorf("%v failures are counted", counted)
				}
				d := a.cluster.deployments["web"]
				if d.Status.ObservedGeneration != d.Generation {
					t.Error("the status is not kept up to date")
				}
			})
		})
	}
}

// The status follows the pods although a step is without effect, and when the policy is
// lifted, the rollout continues.
func TestTheStatusFollowsThePodsOfACappedReplicaSet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAttempts()
		a.cluster.policy = capped
		for range 20 {
			a.sync(t)
		}
		rs := a.onlyReplicaSet(t)
		a.cluster.changeReplicaSet(rs, func(rs *appsv1.ReplicaSet) {
			rs.Status = appsv1.ReplicaSetStatus{ObservedGeneration: rs.Generation, Replicas: 2, ReadyReplicas: 2, AvailableReplicas: 2}
		})
		a.cluster.list(a.engine)
		a.sync(t)
		if available := a.cluster.deployments["web"].Status.AvailableReplicas; available != 2 {
			t.Errorf("%d are available, the status says", available)
		}
		a.cluster.policy = nil
		a.sync(t)
		if replicas := *a.onlyReplicaSet(t).Spec.Replicas; replicas != 3 {
			t.Errorf("%d replicas", replicas)
		}
	})
}

func (a *attempts) onlyReplicaSet(t *testing.T) *appsv1.ReplicaSet {
	t.Helper()
	if len(a.cluster.replicaSets) != 1 {
		t.Fatalf("there are %d ReplicaSets", len(a.cluster.replicaSets))
	}
	for _, rs := range a.cluster.replicaSets {
		return rs
	}
	return nil
}

// Taken for one of an earlier template, it would be followed by another one, and that by
// another, each with another name.
func TestAReplicaSetWhoseTemplateIsAlteredIsNotCreatedAgainAndAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAttempts()
		a.cluster.policy = func(_, after metav1.Object) {
			if rs, ok := after.(*appsv1.ReplicaSet); ok {
				rs.Spec.Template.Spec.Containers[0].Image = "altered"
			}
		}
		for range 20 {
			a.engine.add(a.key)
			a.sync(t)
			time.Sleep(time.Minute)
		}
		rs := a.onlyReplicaSet(t)
		reported := strings.Count(strings.Join(a.cluster.events, "\n"), "Warning "+rollout.ReasonCreateFailed)
		status := &a.cluster.deployments["web"].Status
		if reported != 1 || !hasCondition(status, appsv1.DeploymentProgressing, rollout.ReasonCreateFailed) && !hasCondition(status, appsv1.DeploymentProgressing, rollout.ReasonTimedOut) {
			t.Errorf("reported %d times; conditions %+v", reported, status.Conditions)
		}

		a.cluster.policy = nil
		a.cluster.delete(rs)
		a.cluster.list(a.engine)
		a.sync(t)
		if again := a.onlyReplicaSet(t); again.Name != rs.Name || again.Spec.Template.Spec.Containers[0].Image == "altered" {
			t.Errorf("created again: %s of %s", again.Name, again.Spec.Template.Spec.Containers[0].Image)
		}
	})
}

// strict is a policy of one namespace that takes terminatingReplicas from its Deployments.
func strict(_, after metav1.Object) {
	if d, ok := after.(*appsv1.Deployment); ok && d.Namespace == "strict" {
		d.Status.TerminatingReplicas = nil
	}
}

func TestANamespaceThatDropsTerminatingReplicasDoesNotAffectOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(time.Now)
		vanished, writes := 0, 0
		c.policy = func(before, after metav1.Object) {
			strict(before, after)
			d, ok := after.(*appsv1.Deployment)
			if ok && d.Namespace == "ns" && d.Status.TerminatingReplicas == nil {
				vanished++
			}
		}
		c.refuse = func(string) error { writes++; return nil }
		e := c.newEngine(newMetrics())
		for _, namespace := range []string{"ns", "strict"} {
			d := deploymentObject(0, "v0")
			d.Namespace, d.Name, d.UID, d.Generation, d.Status = namespace, "web-in-"+namespace, "", 1, appsv1.DeploymentStatus{}
			c.put(d)
		}
		for round := range 6 {
			for name := range c.deployments {
				c.changeDeployment(name, func(d *appsv1.Deployment) { d.Spec.Template = templateOf(fmt.Sprint("v", round+1)) })
			}
			if round == 5 {
				c.policy = nil
			}
			writes = 0
			for begun := time.Now(); time.Since(begun) < 10*time.Second; time.Sleep(50 * time.Millisecond) {
				c.list(e)
				for key, found := e.queue.Get(); found; key, found = e.queue.Get() {
					e.sync(t.Context(), key)
					e.queue.Done(key)
				}
				if writes > 20 {
					t.Fatalf("%d writes for one change", writes)
				}
			}
		}
		if vanished > 0 {
			t.Errorf("the number of the other namespace vanished %d times", vanished)
		}
		if c.deployments["web-in-strict"].Status.TerminatingReplicas == nil {
			t.Error("the number is not written when the policy is gone")
		}
	})
}
