package deployment

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubernetes-deployment-restart-controller/deployment/deploymenttest"
	"kubernetes-deployment-restart-controller/deployment/rollout"
)

// weigh makes a pod template heavy.
func weigh(template *corev1.PodTemplateSpec) {
	template.Spec.Containers[0].Env = []corev1.EnvVar{{Name: "LARGE", Value: strings.Repeat("x", 32<<10)}}
}

func TestStepsForHeavyDeploymentsWaitForOneAnother(t *testing.T) {
	for name, hidden := range map[string]struct {
		change func(c *cluster, d *appsv1.Deployment)
		waits  bool
	}{
		"a small one":     {},
		"by its template": {func(_ *cluster, d *appsv1.Deployment) { weigh(&d.Spec.Template) }, true},
		"by its ReplicaSet": {func(c *cluster, d *appsv1.Deployment) {
			c.put(largeReplicaSet(metav1.NewControllerRef(d, rollout.DeploymentKind)))
		}, true},
		"by an orphan": {func(c *cluster, _ *appsv1.Deployment) { c.put(largeReplicaSet(nil)) }, true},
		"by an orphan of others": {func(c *cluster, _ *appsv1.Deployment) {
			rs := largeReplicaSet(nil)
			rs.Labels = map[string]string{"app": "other"}
			c.put(rs)
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a := newAttempts()
				d := *a.cluster.deployments["web"]
				if hidden.change != nil {
					hidden.change(a.cluster, &d)
				}
				a.cluster.put(&d)
				e := a.cluster.newEngine(newMetrics())
				a.cluster.list(e)
				e.heavy.Enter("another")
				isDone := false
				go func() {
					e.sync(t.Context(), a.key)
					isDone = true
				}()
				synctest.Wait()
				if isDone == hidden.waits {
					t.Errorf("done while another goes on: %t", isDone)
				}
				e.heavy.Leave()
				synctest.Wait()
				if !isDone || len(a.cluster.replicaSets) == 0 {
					t.Errorf("done at last: %t, with %d ReplicaSets", isDone, len(a.cluster.replicaSets))
				}
			})
		})
	}
}

func TestAStepForAHeavyDeploymentThatHangsKeepsOthersWaitingForASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAttempts()
		d := *a.cluster.deployments["web"]
		weigh(&d.Spec.Template)
		a.cluster.put(&d)
		a.cluster.list(a.engine)
		start := time.Now()
		leave := a.engine.enter(a.key) // and hangs
		a.engine.enter(a.key)()
		if waited := time.Since(start); waited != turnOfHeavy {
			t.Errorf("the next one waited for %s", waited)
		}
		leave()
		a.engine.heavy.Enter("another") // whoever left late has not left for others
		isIn := false
		go func() {
			a.engine.enter(a.key)()
			isIn = true
		}()
		synctest.Wait()
		if isIn {
			t.Error("two are in")
		}
		a.engine.heavy.Leave()
		synctest.Wait()
	})
}

func TestADeploymentWithAVeryLargeSelectorIsHeavy(t *testing.T) {
	d := deploymenttest.Deployment(1, "v1")
	d.Spec.Selector.MatchExpressions = []metav1.LabelSelectorRequirement{{Key: "app", Operator: metav1.LabelSelectorOpIn, Values: make([]string, 20_000)}}
	if !rollout.NewDeployment(d).Heavy {
		t.Error("it is not")
	}
}

// largeReplicaSet has labels that the Deployment web selects.
func largeReplicaSet(controller *metav1.OwnerReference) *appsv1.ReplicaSet {
	rs := deploymenttest.ReplicaSet("v0", 0, 0)
	rs.OwnerReferences = nil
	if controller != nil {
		rs.OwnerReferences = []metav1.OwnerReference{*controller}
	}
	weigh(&rs.Spec.Template)
	return rs
}
