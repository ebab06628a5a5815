package deployment

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"kubernetes-deployment-restart-controller/deployment/rollout"
)

// orphan is a ReplicaSet of nobody with these labels.
func orphan(name string, labels map[string]string) *rollout.ReplicaSet {
	return set("v1", 0, 0, func(rs *rollout.ReplicaSet) {
		rs.Name, rs.UID, rs.Controller, rs.ControllerName = name, types.UID("uid-of-"+name), "", ""
		rs.SetLabels(labels)
	})
}

func selecting(selector *metav1.LabelSelector) func(*appsv1.Deployment) {
	return func(d *appsv1.Deployment) { d.Spec.Selector = selector }
}

// A namespace has thousands of ReplicaSets that nobody controls, and thousands of Deployments.
func TestASyncDoesNotLookAtOrphansOfOthers(t *testing.T) {
	const many = 5000
	c := crowd(0)
	sets, deployments := c.replicaSets.feed(""), c.deployments.feed("")
	name := func(number int) string { return fmt.Sprint("web-", number) }
	for number := range many {
		// All of them have the label of a product in common.
		labels := map[string]string{"product": "shop", "app": name(number)}
		sets.Observe(packReplicaSet(orphan(name(number), labels)))
		deployments.Observe(packDeployment(web(3, "v1", selecting(&metav1.LabelSelector{MatchLabels: labels}), func(d *appsv1.Deployment) {
			d.Name, d.UID = name(number), types.UID(name(number))
		})))
	}
	for _, number := range []int{0, 77, many - 1} {
		d := c.deployments.get(types.NamespacedName{Namespace: "ns", Name: name(number)})
		s := c.observe(d, writeHistory{}, now)
		if len(s.Orphans) != 1 || s.Orphans[0].Name != d.Name {
			t.Errorf("it looks at %d orphans, want its own", len(s.Orphans))
		}
		if adopters := c.adoptersOf(s.Orphans[0]); len(adopters) != 1 || adopters[0].Name != d.Name {
			t.Errorf("%d Deployments may adopt its orphan", len(adopters))
		}
	}
	d := web(3, "v1", selecting(&metav1.LabelSelector{MatchLabels: map[string]string{"product": "shop"}}))
	if found := len(c.orphansFor(d)); found != maxOrphans {
		t.Errorf("one that selects them all looks at %d at a time", found)
	}
}

func byName(a, b types.NamespacedName) int { return strings.Compare(a.Name, b.Name) }

// Whatever a Deployment selects among the orphans is found, from either side.
func TestOrphansAndTheirAdoptersFindEachOther(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pairs := func(name string, most int) map[string]string {
			return rapid.MapOfN(rapid.SampledFrom([]string{"a", "b", "c"}), rapid.SampledFrom([]string{"1", "2"}), 0, most).Draw(t, name)
		}
		c := crowd(0)
		var orphans []*rollout.ReplicaSet
		for number := range rapid.IntRange(0, 6).Draw(t, "orphans") {
			labels := pairs("labels", 3)
			if rapid.IntRange(0, 4).Draw(t, "is manifold") == 0 {
				for extra := range maxPairs {
					labels[fmt.Sprint("extra-", extra)] = "x"
				}
			}
			rs := orphan(fmt.Sprint("orphan-", number), labels)
			rs.Deleting = rapid.IntRange(0, 3).Draw(t, "is deleted") == 0
			c.replicaSets.feed("").Observe(packReplicaSet(rs))
			orphans = append(orphans, rs)
		}
		var deployments []*rollout.Deployment
		for number := range rapid.IntRange(0, 6).Draw(t, "deployments") {
			selector := &metav1.LabelSelector{MatchLabels: pairs("selector", 2)}
			if len(selector.MatchLabels) == 0 || rapid.Bool().Draw(t, "has an expression") {
				selector.MatchExpressions = []metav1.LabelSelectorRequirement{{Key: "a", Operator: rapid.SampledFrom([]metav1.LabelSelectorOperator{metav1.LabelSelectorOpExists, metav1.LabelSelectorOpDoesNotExist}).Draw(t, "operator")}}
			}
			d := web(3, "v1", selecting(selector), func(d *appsv1.Deployment) { d.Name, d.UID = fmt.Sprint("web-", number), types.UID(fmt.Sprint(number)) })
			c.deployments.feed("").Observe(packDeployment(d))
			deployments = append(deployments, d)
		}
		for _, d := range deployments {
			found := map[string]bool{}
			for _, rs := range c.orphansFor(d) {
				if _, again := found[rs.Name]; again {
					t.Fatalf("%s finds %s twice", d.Name, rs.Name)
				}
				found[rs.Name] = d.Selects(rs)
			}
			for _, rs := range orphans {
				if want := d.Selects(rs) && !rs.Deleting; found[rs.Name] != want {
					t.Fatalf("%s finds %v, %s is %t", d.Name, found, rs.Name, want)
				}
			}
		}
		for _, rs := range orphans {
			found := c.adoptersOf(rs)
			if once := slices.Compact(slices.SortedFunc(slices.Values(found), byName)); len(once) != len(found) {
				t.Fatalf("%s finds %v, some of them twice", rs.Name, found)
			}
			for _, d := range deployments {
				if d.Selects(rs) && !slices.Contains(found, d.Key()) {
					t.Fatalf("%s with %v finds %v, want %s, too", rs.Name, slices.Sorted(maps.Keys(rs.AllLabels())), found, d.Name)
				}
			}
		}
	})
}

// Anyone who can write ReplicaSets can write orphans in a loop, beside any number of Deployments.
func TestAnOrphanThatChangesWakesOnlyDeploymentsThatCouldNotAdoptItBefore(t *testing.T) {
	const many = maxAdopters + 500
	e := newCluster(func() time.Time { return now }).newEngine(newMetrics())
	for number := range many {
		e.caches.deployments.feed("").Observe(packDeployment(web(3, "v1", func(d *appsv1.Deployment) {
			d.Name, d.UID = fmt.Sprint("web-", number), types.UID(fmt.Sprint(number))
		})))
	}
	drained := func() (count int) {
		for key, found := e.queue.Get(); found; key, found = e.queue.Get() {
			e.queue.Done(key)
			count++
		}
		return count
	}
	drained()
	free := orphan("free", map[string]string{"app": "web"})
	other := orphan("free", map[string]string{"app": "web", "tier": "front"})
	labels := map[string]string{"app": "web"}
	for number := range maxWakingLabels - 1 {
		labels[fmt.Sprint("label-", number)] = ""
	}
	manifold := orphan("manifold", labels)
	labels = maps.Clone(labels)
	labels["one more"] = ""
	overladen := orphan("overladen", labels)
	resized := orphan("free", other.AllLabels())
	resized.Replicas = 7
	dying := orphan("dying", free.AllLabels())
	dying.Deleting = true
	for _, step := range []struct {
		what          string
		before, after *rollout.ReplicaSet
		want          int
	}{
		{"it is new", nil, free, maxAdopters},
		{"it has other labels", free, other, maxAdopters},
		{"nothing else than its size changes", other, resized, 0},
		{"it is being deleted", nil, dying, 0},
		{"it has as many labels as may be", nil, manifold, maxAdopters},
		{"it has more", manifold, overladen, 0},
	} {
		e.onReplicaSet(step.before, step.after)
		if woken := drained(); woken != step.want {
			t.Errorf("when %s, %d are woken, want %d", step.what, woken, step.want)
		}
	}
}

// Anyone who can create ReplicaSets can name the UID of a Deployment of any namespace.
func TestAReplicaSetOfAnotherNamespaceHasNoPartInAPlan(t *testing.T) {
	pretended := func(name string, replicas int64, annotations map[string]string) *rollout.ReplicaSet {
		rs := set("v9", replicas, replicas)
		rs.Namespace, rs.Name, rs.UID, rs.Controller = "another", name, types.UID(name), web(3, "v2").UID
		rs.SetLabels(map[string]string{"app": "web"})
		rs.SetAnnotations(annotations)
		return rs
	}
	plan := func(d *rollout.Deployment, sets ...*rollout.ReplicaSet) []rollout.Action {
		c := crowd(0)
		c.deployments.feed("").Observe(packDeployment(d))
		for _, rs := range sets {
			c.replicaSets.feed("").Observe(packReplicaSet(rs))
		}
		actions, _ := rollout.Plan(c.observe(d, writeHistory{}, now))
		return actions
	}
	own := []*rollout.ReplicaSet{set("v1", 3, 3), set("v2", 1, 0)}
	finished := map[string]string{rollout.RevisionAnnotation: "1000"}
	for name, test := range map[string]struct {
		deployment *rollout.Deployment
		foreign    []*rollout.ReplicaSet
	}{
		"available, it would allow to take down the old pods": {web(3, "v2", withLimits("1", "0")), []*rollout.ReplicaSet{pretended("a", 1000, nil)}},
		"finished, it would use up the history":               {web(3, "v2", withHistoryLimit(1)), []*rollout.ReplicaSet{pretended("a", 0, finished), pretended("b", 0, finished)}},
		"of the latest revision, it would be rolled back to":  {web(3, "v2", annotated(map[string]string{rollout.RollbackAnnotation: "0"})), []*rollout.ReplicaSet{pretended("a", 0, finished)}},
	} {
		t.Run(name, func(t *testing.T) {
			want := plan(test.deployment, own...)
			if got := plan(test.deployment, append(test.foreign, own...)...); fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("the plan is %v, want %v", got, want)
			}
		})
	}
}
