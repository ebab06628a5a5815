package deployment

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"kubernetes-deployment-restart-controller/deployment/rollout"
)

// table is one with a record of whom it has called.
type table struct {
	*podTable
	wanted []string
	ended  []types.NamespacedName
}

func newTable() *table {
	t := &table{}
	t.podTable = newPodTable(func(namespace string) { t.wanted = append(t.wanted, namespace) }, func(waiter types.NamespacedName) { t.ended = append(t.ended, waiter) })
	return t
}

// podOf is a pod of the ReplicaSet of an image.
func podOf(uid, image string) *pod {
	return &pod{Meta: rollout.Meta{Namespace: "ns", UID: types.UID(uid)}, controller: types.UID("uid-of-web-" + image), runs: true}
}

func finishedPod(p *pod) *pod {
	p.runs = false
	return p
}

func TestPodsAreKnownWhereTheyHaveBeenListed(t *testing.T) {
	p, d, sets := newTable(), web(3, "v2", recreated), []*rollout.ReplicaSet{set("v1", 0, 0), set("v2", 3, 3)}
	expect(t, "before", map[types.UID]int(nil), p.count(d, sets))
	expect(t, "wanted", []string{"ns"}, p.wanted)
	podFeed{p.podTable, "another"}.Replace([]*pod{podOf("a", "v1")}, "")
	expect(t, "listed in another namespace", map[types.UID]int(nil), p.count(d, sets))
	podFeed{p.podTable, "ns"}.Replace([]*pod{podOf("a", "v1"), podOf("b", "v2"), podOf("c", "v2"), finishedPod(podOf("d", "v1")), {Meta: rollout.Meta{UID: "e"}, runs: true}}, "")
	expect(t, "listed", map[types.UID]int{"uid-of-web-v1": 1, "uid-of-web-v2": 2}, p.count(d, sets))
	pretender := podOf("b", "v1")
	pretender.Namespace = "another"
	podFeed{p.podTable, ""}.Replace([]*pod{podOf("a", "v1"), pretender}, "")
	p.forget("ns")
	expect(t, "listed in all namespaces", map[types.UID]int{"uid-of-web-v1": 1}, p.count(d, sets))
	p.forget("")
	expect(t, "forgotten", map[types.UID]int(nil), p.count(d, sets))
	if len(p.scopes) != 1 {
		t.Errorf("%d scopes are left, want that of another namespace", len(p.scopes))
	}
}

func TestADeploymentIsWokenWhenAPodEndsThatItHasAskedFor(t *testing.T) {
	moved := podOf("a", "v2")
	for name, test := range map[string]struct {
		show  func(podFeed)
		wakes bool
	}{
		"a pod is gone":             {func(f podFeed) { f.Forget(podOf("a", "v1")) }, true},
		"a pod has finished":        {func(f podFeed) { f.Observe(finishedPod(podOf("a", "v1"))) }, true},
		"a pod has another owner":   {func(f podFeed) { f.Observe(moved) }, true},
		"a list does not have it":   {func(f podFeed) { f.Replace(nil, "") }, true},
		"it has changed":            {func(f podFeed) { f.Observe(podOf("a", "v1")) }, false},
		"another has come":          {func(f podFeed) { f.Observe(podOf("b", "v1")) }, false},
		"one of another is gone":    {func(f podFeed) { f.Forget(podOf("z", "v9")) }, false},
		"one that it does not have": {func(f podFeed) { f.Forget(podOf("y", "v1")) }, false},
	} {
		t.Run(name, func(t *testing.T) {
			p, d := newTable(), web(3, "v2", recreated)
			f := podFeed{p.podTable, "ns"}
			f.Replace([]*pod{podOf("a", "v1"), podOf("z", "v9")}, "")
			p.count(d, []*rollout.ReplicaSet{set("v1", 0, 0)})
			test.show(f)
			var want []types.NamespacedName
			if test.wakes {
				want = append(want, d.Key())
			}
			expect(t, "woken", want, p.ended)
		})
	}
}

// A list in between does not make it forget which Deployments wait.
func TestAListLeavesTheWaitersInPlace(t *testing.T) {
	p, d := newTable(), web(3, "v2", recreated)
	f := podFeed{p.podTable, "ns"}
	f.Replace([]*pod{podOf("a", "v1")}, "")
	p.count(d, []*rollout.ReplicaSet{set("v1", 0, 0)})
	f.Replace([]*pod{podOf("a", "v1")}, "")
	p.ended = nil
	f.Forget(podOf("a", "v1"))
	expect(t, "woken", []types.NamespacedName{d.Key()}, p.ended)
}

// The counts are those of the pods that the watch has shown, and nothing is left of those
// that are gone.
func TestPodsAreCounted(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := newTable()
		f := podFeed{p.podTable, "ns"}
		truth := map[string]*pod{}
		f.Replace(nil, "")
		for range rapid.IntRange(1, 50).Draw(t, "steps") {
			uid := rapid.SampledFrom([]string{"a", "b", "c", "d", "e"}).Draw(t, "pod")
			shown := podOf(uid, rapid.SampledFrom([]string{"v1", "v2"}).Draw(t, "replicaset"))
			switch rapid.IntRange(0, 4).Draw(t, "what") {
			case 0, 1:
				truth[uid] = shown
				f.Observe(shown)
			case 2:
				delete(truth, uid)
				f.Observe(finishedPod(shown))
			case 3:
				delete(truth, uid)
				f.Forget(shown)
			case 4:
				f.Replace(slices.Collect(maps.Values(truth)), "")
			}
		}
		want := map[types.UID]int{}
		for _, p := range truth {
			for _, uid := range []types.UID{"uid-of-web-v1", "uid-of-web-v2"} {
				if p.controller == uid {
					want[uid]++
				}
			}
		}
		if got := p.count(web(3, "v2"), []*rollout.ReplicaSet{set("v1", 0, 0), set("v2", 0, 0)}); !maps.Equal(got, want) {
			t.Fatalf("%v, want %v", got, want)
		}
		if scope := p.scopes["ns"]; len(scope.pods) != len(truth) || len(scope.controllers) != len(want) {
			t.Fatalf("%d pods of %d ReplicaSets are kept, of %d of %d", len(scope.pods), len(scope.controllers), len(truth), len(want))
		}
	})
}

func BenchmarkPodTable(b *testing.B) {
	const size = 100_000
	all := make([]*pod, 0, size)
	for i := range size {
		all = append(all, newPod(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{
			UID:             types.UID(fmt.Sprintf("1f0c6e5a-0000-0000-0000-%012d", i)),
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(&metav1.ObjectMeta{UID: types.UID(fmt.Sprint(i / 10))}, appsv1.SchemeGroupVersion.WithKind("ReplicaSet"))},
		}}))
	}
	var kept *podTable
	before := heap()
	for b.Loop() {
		kept = newTable().podTable
		podFeed{kept, ""}.Replace(all, "")
	}
	b.ReportMetric(float64(heap()-before)/size, "bytes/pod")
	if len(kept.scopes[""].pods) != len(all) {
		b.Fatal("pods are missing")
	}
}
