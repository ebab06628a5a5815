package rollout

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/types"
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
		"those whose revisions cannot be read go first": {
			withHistoryLimit(1), []*ReplicaSet{revised(set("v1", 0, 0), "1"), revised(set("v2", 0, 0), "x")}, []string{"delete replicaset web-v2"},
		},
		"those too whose revisions are too long": {
			withHistoryLimit(1), []*ReplicaSet{revised(set("v1", 0, 0), "1"), revised(set("v2", 0, 0), "99999999999999999999")}, []string{"delete replicaset web-v2"},
		},
		"one whose revision cannot be read, in age between others, disturbs no order": {
			withHistoryLimit(1), []*ReplicaSet{revised(set("v1", 0, 0, aged(1)), "2"), revised(set("v2", 0, 0, aged(2)), "x"), revised(set("v3", 0, 0, aged(3)), "")},
			[]string{"delete replicaset web-v2", "delete replicaset web-v3"},
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
		"paused":               {web(3, "v9", withHistoryLimit(0), paused), set("v9", 3, 3), []string{"delete replicaset web-v1"}},
		"paused, with a rollback waiting": {
			web(3, "v9", withHistoryLimit(0), paused, annotated(map[string]string{RollbackAnnotation: "1"})), set("v9", 3, 3), []string{},
		},
		"paused in the middle":               {web(3, "v9", withHistoryLimit(0), paused), set("v9", 3, 2), []string{}},
		"paused, after the template changed": {web(3, "v8", withHistoryLimit(0), paused), set("v9", 3, 3), []string{}},
	} {
		t.Run(name, func(t *testing.T) {
			expect(t, "orders", test.want, orders(stateOf(test.d, set("v1", 0, 0), test.current)))
		})
	}
}

// A paused Deployment that has no pods gives those it is to have to its newest
// ReplicaSet, which is an old one if the template has changed.
func TestAPlanDoesNotDeleteWhatItScalesUp(t *testing.T) {
	s := stateOf(web(3, "v9", withHistoryLimit(0), paused), set("v1", 0, 0), set("v2", 0, 0))
	expect(t, "orders", []string{"scale replicaset web-v2 from 0 to 3"}, orders(s))
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
			if p.newRS.Name != test.want || len(p.oldRSs) != 2 || p.oldRSs[0].Name != "web-v1" {
				t.Errorf("the new one is %s, the oldest %s", p.newRS.Name, p.oldRSs[0].Name)
			}
		})
	}
}

// finished are ReplicaSets without pods, from v1 on.
func finished(count int, changes ...func(*ReplicaSet)) (sets []*ReplicaSet) {
	for number := range count {
		sets = append(sets, set(fmt.Sprint("v", number+1), 0, 0, changes...))
	}
	return sets
}

func TestTooManyOldReplicaSetsArePrunedMidRollout(t *testing.T) {
	underway := func(n int64) []*ReplicaSet { return []*ReplicaSet{set("v98", 2, 2), set("v99", 2, n)} }
	twin := func(change func(*ReplicaSet)) []*ReplicaSet { return []*ReplicaSet{set("v70", 0, 0, change)} }
	asked := annotated(map[string]string{RollbackAnnotation: "1"})
	terminating := func(rs *ReplicaSet) { rs.Terminating = new(int32(1)) }
	for name, test := range map[string]struct {
		d           *Deployment
		sets        []*ReplicaSet
		first, last int // which of those that have no pods go; 0 if none do
	}{
		"a crowd":                           {web(3, "v99", withHistoryLimit(10)), append(finished(32), underway(0)...), 12, 22},
		"not a crowd yet":                   {web(3, "v99", withHistoryLimit(10)), append(finished(31), underway(0)...), 0, 0},
		"a small limit":                     {web(3, "v99", withHistoryLimit(2)), append(finished(16), underway(0)...), 4, 14},
		"a small limit, not a crowd yet":    {web(3, "v99", withHistoryLimit(2)), append(finished(15), underway(0)...), 0, 0},
		"a large limit":                     {web(3, "v99", withHistoryLimit(20)), append(finished(62), underway(0)...), 22, 42},
		"a large limit, not a crowd yet":    {web(3, "v99", withHistoryLimit(20)), append(finished(61), underway(0)...), 0, 0},
		"no history":                        {web(3, "v99", withHistoryLimit(0)), append(finished(12), underway(0)...), 2, 12},
		"no limit":                          {web(3, "v99", withHistoryLimit(math.MaxInt32)), append(finished(60), underway(0)...), 0, 0},
		"all of it, absent":                 {web(3, "v99", func(d *appsv1.Deployment) { d.Spec.RevisionHistoryLimit = nil }), append(finished(60), underway(0)...), 0, 0},
		"recreated":                         {web(3, "v99", withHistoryLimit(10), recreated), append(finished(32), set("v99", 3, 0)), 12, 22},
		"paused":                            {web(3, "v99", withHistoryLimit(10), paused), append(finished(32), underway(0)...), 12, 22},
		"one that has a pod does not count": {web(3, "v99", withHistoryLimit(10)), append(append(finished(31), underway(0)...), twin(func(rs *ReplicaSet) { rs.Existing = 1 })...), 0, 0},
		"one whose pods terminate does not count": {
			web(3, "v99", withHistoryLimit(10)), append(append(finished(31), underway(0)...), twin(terminating)...), 0, 0,
		},
		"one that is not observed does not count": {
			web(3, "v99", withHistoryLimit(10)), append(append(finished(31), underway(0)...), twin(func(rs *ReplicaSet) { rs.Observed = false })...), 0, 0,
		},
		"one that is being deleted does not count": {
			web(3, "v99", withHistoryLimit(10)), append(append(finished(31), underway(0)...), twin(func(rs *ReplicaSet) { rs.Deleting = true })...), 0, 0,
		},
		"a rollback is asked for":         {web(3, "v99", withHistoryLimit(10), asked), append(finished(32), underway(0)...), 0, 0},
		"the new ReplicaSet is not there": {web(3, "v100", withHistoryLimit(0), recreated), append(finished(12), underway(0)...), 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			var want []string
			for number := test.first; number > 0 && number <= test.last; number++ {
				want = append(want, fmt.Sprint("delete replicaset web-v", number))
			}
			expect(t, "deletions", want, deletions(stateOf(test.d, test.sets...)))
		})
	}
}

func deletions(s *State) (words []string) {
	for _, order := range orders(s) {
		if strings.HasPrefix(order, "delete") {
			words = append(words, order)
		}
	}
	return words
}

// The last one that worked is the way back, even if its revision is a later one than that of some that failed: it was
// the way back before.
func TestTheLastCompletedReplicaSetIsNotPrunedMidRollout(t *testing.T) {
	for limit := range int32(4) {
		for _, revision := range []string{"", "40"} {
			sets := finished(int(limit)) // what was left when v9 was complete
			for i, rs := range sets {
				rs.Name = fmt.Sprint("web-older", i)
			}
			sets = append(sets, set("v9", 0, 0))
			if revision != "" {
				sets[limit] = revised(sets[limit], revision)
			}
			for number := range 60 { // each is in the way of the next
				failed := set(fmt.Sprint("v", 10+number), 0, 0)
				failed.Name = fmt.Sprint("web-", number) // names say nothing about age
				s := stateOf(web(1, fmt.Sprint("v", 10+number), recreated, withHistoryLimit(limit)), append(sets, failed)...)
				sets = s.ReplicaSets
				for _, gone := range deletions(s) {
					sets = slices.DeleteFunc(sets, func(rs *ReplicaSet) bool { return gone == "delete replicaset "+rs.Name })
				}
			}
			if !slices.ContainsFunc(sets, func(rs *ReplicaSet) bool { return rs.Name == "web-v9" }) {
				t.Errorf("with a limit of %d, the last completed one is gone", limit)
			}
			if most := 2*int(limit) + 12 + 1; len(sets) > most {
				t.Errorf("with a limit of %d, %d are left, want %d at most", limit, len(sets), most)
			}
		}
	}
}

// With the Recreate strategy, what terminates is in the way of the new pods, so it
// must not be lost sight of.
func TestAReplicaSetWithTerminatingPodsIsNotPruned(t *testing.T) {
	s := stateOf(web(3, "v99", withHistoryLimit(0), recreated), append(finished(12), set("v99", 0, 0))...)
	s.Pods = map[types.UID]int{"uid-of-web-v1": 1}
	expect(t, "orders", []string{}, orders(s))
}

func TestAReplicaSetWithTerminatingPodsIsNotPrunedWhenScaledToZero(t *testing.T) {
	s := stateOf(web(0, "v99", withHistoryLimit(0), recreated), set("v1", 0, 0), set("v99", 0, 0))
	s.Pods = map[types.UID]int{"uid-of-web-v1": 1}
	expect(t, "orders", []string{}, orders(s))
}
