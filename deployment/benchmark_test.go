package deployment

import (
	"fmt"
	"maps"
	"runtime"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"kubernetes-deployment-restart-controller/deployment/rollout"
	"kubernetes-deployment-restart-controller/internal/status"
)

// A sync may cost no more for what else lives in the namespace.
func BenchmarkSyncInANamespaceOf(b *testing.B) {
	for _, deployments := range []int{20, 2000} {
		b.Run(fmt.Sprint(deployments, " Deployments"), func(b *testing.B) {
			c := crowd(deployments)
			first := c.deployments.get(types.NamespacedName{Namespace: "ns", Name: "web-0"})
			b.ReportAllocs()
			for b.Loop() {
				if actions, _ := rollout.Plan(c.observe(first, writeHistory{}, now)); len(actions) != 1 {
					b.Fatal(actions)
				}
			}
		})
	}
}

// crowd is a namespace full of Deployments with a history of five.
func crowd(n int) *caches {
	c := &caches{
		deployments: newCache(packDeployment, groupsOfDeployment, func(_, _ *rollout.Deployment) {}), replicaSets: newCache(packReplicaSet, groupsOfReplicaSet, func(_, _ *rollout.ReplicaSet) {}), pods: newPodTable(func(string) {}, func(types.NamespacedName) {}),
	}
	for i := range n {
		d := web(0, "v6")
		d.Name, d.UID = fmt.Sprint("web-", i), types.UID(fmt.Sprint("uid-", i))
		c.deployments.feed("").Observe(packDeployment(d))
		for j := 1; j <= 6; j++ {
			rs := set(fmt.Sprint("v", j), 0, 0)
			rs.Name, rs.UID, rs.Controller, rs.ControllerName = fmt.Sprintf("%s-%d", d.Name, j), types.UID(fmt.Sprintf("%s-%d", d.UID, j)), d.UID, d.Name
			c.replicaSets.feed("").Observe(packReplicaSet(rs))
		}
	}
	return c
}

// The scrape of a cluster with 10,000 Deployments.
func BenchmarkCollectOf10000Deployments(b *testing.B) {
	e := newIdleEngine(b)
	for i := range 10_000 {
		d := web(3, "v1", withStatus(appsv1.DeploymentStatus{Conditions: []appsv1.DeploymentCondition{
			condition(appsv1.DeploymentAvailable, corev1.ConditionTrue, reasonAvailable, "Deployment has minimum availability.", 10),
			progressed(corev1.ConditionFalse, rollout.ReasonTimedOut),
		}}))
		d.Name = fmt.Sprint("web-", i)
		e.caches.deployments.feed("").Observe(packDeployment(d))
	}
	b.ReportAllocs()
	for b.Loop() {
		testutil.CollectAndCount(e)
	}
}

// Each Deployment and its ReplicaSets have as many annotations as the API server allows, or none.
func BenchmarkTheStatusOf50RolloutsWith(b *testing.B) {
	for _, annotations := range []int{0, 20_000} {
		b.Run(fmt.Sprint(annotations, " annotations"), func(b *testing.B) {
			e := newIdleEngine(b)
			chosen := map[string]string{}
			for i := range annotations {
				chosen[fmt.Sprint("a", i)] = ""
			}
			sets := e.caches.replicaSets.feed("")
			for i := range status.Limit {
				d := web(3, "v1")
				d.Name, d.UID, d.Annotations = fmt.Sprint("web-", i), types.UID(fmt.Sprint("uid-", i)), chosen
				e.caches.deployments.feed("").Observe(packDeployment(d))
				for j := range maxShownSets {
					rs := set(fmt.Sprint("v", j), 1, 1)
					rs.Name, rs.Controller = fmt.Sprint(d.Name, "-", j), d.UID
					rs.SetAnnotations(chosen)
					sets.Observe(packReplicaSet(rs))
				}
			}
			b.ReportAllocs()
			for b.Loop() {
				if got := e.Rollouts().Rolling; len(got.Items) != status.Limit || got.Items[0].New.Sets+got.Items[0].Old.Sets != maxShownSets {
					b.Fatal(got)
				}
			}
		})
	}
}

// chosenBy returns labels or annotations as an author may choose them.
func chosenBy(count int) map[string]string {
	chosen := map[string]string{"app": "web"}
	for i := range count {
		chosen[fmt.Sprint("a", i)] = ""
	}
	return chosen
}

// ofOneDeployment returns caches with a Deployment and its ReplicaSets, all of which have that many labels and annotations.
func ofOneDeployment(sets, chosen int) (*caches, *rollout.Deployment) {
	c, labels := crowd(0), chosenBy(chosen)
	d := web(3, "v0", annotated(labels))
	c.deployments.feed("").Observe(packDeployment(d))
	for i := range sets {
		rs := set(fmt.Sprint("v", i), 0, 0)
		all := maps.Clone(labels)
		all[rollout.RevisionAnnotation] = fmt.Sprint(i + 1)
		rs.SetAnnotations(all)
		rs.SetLabels(labels)
		c.replicaSets.feed("").Observe(packReplicaSet(rs))
	}
	return c, d
}

// Each ReplicaSet has as many annotations as the API server allows, or none.
func BenchmarkAPlanFor1000ReplicaSetsWith(b *testing.B) {
	for _, chosen := range []int{0, 20_000} {
		b.Run(fmt.Sprint(chosen, " labels and annotations"), func(b *testing.B) {
			c, d := ofOneDeployment(1000, chosen)
			b.ReportAllocs()
			for b.Loop() {
				if state := c.observe(c.deployments.get(d.Key()), writeHistory{}, now); len(state.ReplicaSets) != 1000 {
					b.Fatal(len(state.ReplicaSets))
				} else {
					rollout.Plan(state)
				}
			}
		})
	}
}

func TestAPlanUnpacksWhatAnAuthorChoseOnlyOnce(t *testing.T) {
	const chosen = 1000
	bytes := func(sets, chosen int) uint64 {
		c, d := ofOneDeployment(sets, chosen)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		rollout.Plan(c.observe(c.deployments.get(d.Key()), writeHistory{}, now))
		runtime.ReadMemStats(&after)
		return after.TotalAlloc - before.TotalAlloc
	}
	one, many := bytes(1, chosen)-bytes(1, 0), bytes(50, chosen)-bytes(50, 0)
	if many > 2*one {
		t.Errorf("%d bytes for the labels and annotations of 50 ReplicaSets, %d for those of one", many, one)
	}
}
