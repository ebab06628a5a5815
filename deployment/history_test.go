package deployment

import (
	"math"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
)

func TestTheHistoryIsCutToItsLimitWhenARolloutIsComplete(t *testing.T) {
	unlimited := func(d *appsv1.Deployment) { d.Spec.RevisionHistoryLimit = nil }
	unobserved := func(rs *ReplicaSet) { rs.Observed = false }
	deleted := func(rs *ReplicaSet) { rs.Deleting = true }
	existing := func(rs *ReplicaSet) { rs.Existing = 1 }
	aged := func(seconds float64) func(*ReplicaSet) {
		return func(rs *ReplicaSet) { rs.Created = noonPlus(seconds) }
	}
	for name, test := range map[string]struct {
		limit func(*appsv1.Deployment)
		sets  []*ReplicaSet
		want  []string
	}{
		"within its limit":    {withHistoryLimit(2), []*ReplicaSet{set("v1", 0, 0), set("v2", 0, 0)}, []string{}},
		"earliest first":      {withHistoryLimit(1), []*ReplicaSet{set("v3", 0, 0), set("v1", 0, 0), set("v2", 0, 0)}, []string{"delete replicaset web-v1", "delete replicaset web-v2"}},
		"no history":          {withHistoryLimit(0), []*ReplicaSet{set("v1", 0, 0), set("v2", 0, 0)}, []string{"delete replicaset web-v1", "delete replicaset web-v2"}},
		"all of it, absent":   {unlimited, []*ReplicaSet{set("v1", 0, 0), set("v2", 0, 0)}, []string{}},
		"all of it, greatest": {withHistoryLimit(math.MaxInt32), []*ReplicaSet{set("v1", 0, 0), set("v2", 0, 0)}, []string{}},
		"the revision counts and not the age": {
			withHistoryLimit(1), []*ReplicaSet{revised(set("v1", 0, 0), "3"), revised(set("v2", 0, 0), "1")}, []string{"delete replicaset web-v2"},
		},
		"numbers and not texts are compared": {
			withHistoryLimit(1), []*ReplicaSet{revised(set("v1", 0, 0), "8"), revised(set("v2", 0, 0), "07")}, []string{"delete replicaset web-v2"},
		},
		"where revisions cannot be read, the age counts": {
			withHistoryLimit(1), []*ReplicaSet{revised(set("v1", 0, 0), "x"), revised(set("v2", 0, 0), "1")}, []string{"delete replicaset web-v1"},
		},
		"of the same revision, the older goes": {
			withHistoryLimit(1), []*ReplicaSet{revised(set("v1", 0, 0, aged(5)), "1"), revised(set("v2", 0, 0, aged(3)), "1")}, []string{"delete replicaset web-v2"},
		},
		"of the same second, the name decides": {
			withHistoryLimit(1), []*ReplicaSet{revised(set("v2", 0, 0, aged(5)), ""), revised(set("v1", 0, 0, aged(5)), "")}, []string{"delete replicaset web-v1"},
		},
		"one that is not observed stays":                {withHistoryLimit(0), []*ReplicaSet{set("v1", 0, 0, unobserved), set("v2", 0, 0)}, []string{"delete replicaset web-v2"}},
		"one that stays counts":                         {withHistoryLimit(1), []*ReplicaSet{set("v1", 0, 0, unobserved), set("v2", 0, 0)}, []string{}},
		"one that is being deleted does not count":      {withHistoryLimit(1), []*ReplicaSet{set("v1", 0, 0, deleted), set("v2", 0, 0)}, []string{}},
		"one that is being deleted is not deleted":      {withHistoryLimit(0), []*ReplicaSet{set("v1", 0, 0, deleted)}, []string{}},
		"one that has a pod holds up the whole rollout": {withHistoryLimit(0), []*ReplicaSet{set("v1", 0, 0, existing), set("v2", 0, 0)}, []string{}},
	} {
		t.Run(name, func(t *testing.T) {
			s := stateOf(web(3, "v9", test.limit), append(test.sets, set("v9", 3, 3))...)
			expect(t, "orders", test.want, orders(s))
		})
	}
}

func TestTheHistoryIsCutOnlyWhenItIsTime(t *testing.T) {
	for name, test := range map[string]struct {
		d       *Deployment
		current *ReplicaSet
		want    []string
	}{
		"complete":             {web(3, "v9", withHistoryLimit(0)), set("v9", 3, 3), []string{"delete replicaset web-v1"}},
		"one is not available": {web(3, "v9", withHistoryLimit(0)), set("v9", 3, 2), []string{}},
		"paused":               {web(3, "v9", withHistoryLimit(0), paused), set("v9", 3, 2), []string{"delete replicaset web-v1"}},
		"paused, with a rollback waiting": {
			web(3, "v9", withHistoryLimit(0), paused, annotated(map[string]string{rollbackAnnotation: "1"})), set("v9", 3, 2), []string{},
		},
		"paused, and one that has a pod": {web(3, "v8", withHistoryLimit(0), paused), set("v9", 3, 2), []string{"delete replicaset web-v1"}},
	} {
		t.Run(name, func(t *testing.T) {
			expect(t, "orders", test.want, orders(stateOf(test.d, set("v1", 0, 0), test.current)))
		})
	}
}

func TestTheOldestReplicaSetOfATemplateIsTheNewOne(t *testing.T) {
	for name, test := range map[string]struct {
		age  time.Duration // of the other
		want string
	}{
		"the older":                             {time.Second, "web-v2"},
		"the newer":                             {-time.Second, "web-a-twin"},
		"of the same second, the first by name": {0, "web-a-twin"},
	} {
		t.Run(name, func(t *testing.T) {
			twin := set("v2", 0, 0)
			twin.Name, twin.UID, twin.Created = "web-a-twin", "uid-of-twin", twin.Created.Add(test.age)
			p := newPlan(stateOf(web(3, "v2"), set("v2", 0, 0), twin, set("v1", 0, 0)))
			if p.current.Name != test.want || len(p.old) != 2 || p.old[0].Name != "web-v1" {
				t.Errorf("the new one is %s, the oldest %s", p.current.Name, p.old[0].Name)
			}
		})
	}
}
