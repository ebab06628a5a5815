package rollout

import (
	"testing"

	"k8s.io/apimachinery/pkg/types"
)

func TestRecreateStopsAllOldPodsBeforeItStartsNewOnes(t *testing.T) {
	created := []string{"create replicaset web-" + hashOf("v3") + " with 3, revision 3"}
	stopped := func(rs *ReplicaSet) { rs.Existing, rs.Ready, rs.Available = 0, 0, 0 }
	unnoticed := func(rs *ReplicaSet) { rs.Observed = false }
	existing := func(n int64) func(*ReplicaSet) { return func(rs *ReplicaSet) { rs.Existing = n } }
	for name, test := range map[string]struct {
		sets []*ReplicaSet
		pods map[types.UID]int
		want []string
	}{
		"old ones are stopped": {[]*ReplicaSet{set("v1", 1, 1), set("v2", 3, 2)}, nil, []string{
			"scale replicaset web-v1 from 1 to 0", "scale replicaset web-v2 from 3 to 0",
		}},
		"they still exist":        {[]*ReplicaSet{set("v1", 0, 0), set("v2", 0, 0, existing(3))}, nil, []string{}},
		"one has not noticed yet": {[]*ReplicaSet{set("v1", 0, 0), set("v2", 0, 0, unnoticed)}, nil, []string{}},
		"one still terminates":    {[]*ReplicaSet{set("v1", 0, 0), set("v2", 0, 0)}, map[types.UID]int{"uid-of-web-v2": 1}, []string{}},
		"one terminates that the watch of pods has not shown": {
			[]*ReplicaSet{set("v1", 0, 0), set("v2", 0, 0, func(rs *ReplicaSet) { rs.Terminating = new(int32(1)) })}, nil, []string{},
		},
		"pods of others do not matter":      {[]*ReplicaSet{set("v1", 0, 0), set("v2", 0, 0)}, map[types.UID]int{"uid-of-web-v7": 1}, created},
		"all have ended":                    {[]*ReplicaSet{set("v1", 0, 0), set("v2", 0, 0)}, map[types.UID]int{"uid-of-web-v2": 0}, created},
		"the new one is there":              {[]*ReplicaSet{set("v2", 0, 0), set("v3", 0, 0)}, nil, []string{"scale replicaset web-v3 from 0 to 3"}},
		"it has pods beside old ones":       {[]*ReplicaSet{set("v2", 1, 1), set("v3", 1, 1)}, nil, []string{"scale replicaset web-v2 from 1 to 0"}},
		"its own pods do not hold it up":    {[]*ReplicaSet{set("v2", 0, 0), set("v3", 1, 1)}, map[types.UID]int{"uid-of-web-v3": 1}, []string{"scale replicaset web-v3 from 1 to 3"}},
		"too many new ones":                 {[]*ReplicaSet{set("v3", 5, 5)}, nil, []string{"scale replicaset web-v3 from 5 to 3"}},
		"all done":                          {[]*ReplicaSet{set("v2", 0, 0, stopped), set("v3", 3, 3)}, nil, []string{}},
		"an earlier one comes back at last": {[]*ReplicaSet{set("v2", 0, 0), set("v3", 0, 0), set("v4", 0, 0)}, nil, []string{"scale replicaset web-v3 from 0 to 3, revision 5, revision-history 3"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := stateOf(web(3, "v3", recreated), test.sets...)
			if test.pods != nil {
				s.Pods = test.pods
			}
			expect(t, "orders", test.want, orders(s))
		})
	}
}

func TestRecreateWaitsUntilItsPodsAreKnown(t *testing.T) {
	stopped := func(rs *ReplicaSet) { rs.Existing = 0 }
	for name, test := range map[string]struct {
		sets []*ReplicaSet
		want []string
	}{
		"there are no old ones":        {nil, []string{"create replicaset web-" + hashOf("v3") + " with 3, revision 1"}},
		"old ones are to go":           {[]*ReplicaSet{set("v2", 3, 3)}, []string{"scale replicaset web-v2 from 3 to 0"}},
		"old ones seem to have gone":   {[]*ReplicaSet{set("v2", 0, 0)}, []string{}},
		"the new one is there":         {[]*ReplicaSet{set("v2", 0, 0), set("v3", 0, 0, stopped)}, []string{}},
		"the rollout seems to be over": {append(finished(20), set("v30", 3, 3)), []string{}},
	} {
		t.Run(name, func(t *testing.T) {
			image := "v3"
			if len(test.sets) > 2 {
				image = "v30"
			}
			s := stateOf(web(3, image, recreated, withHistoryLimit(1)), test.sets...)
			s.Pods = nil
			expect(t, "orders", test.want, orders(s))
			if status := statusOf(s); status == nil {
				t.Error("the status is not kept up to date")
			}
		})
	}
}

func TestARollingUpdateDoesNotWaitForPodsThatTerminate(t *testing.T) {
	s := stateOf(web(3, "v3"), set("v2", 0, 0), set("v3", 2, 2))
	s.Pods = map[types.UID]int{"uid-of-web-v2": 3}
	expect(t, "orders", []string{"scale replicaset web-v3 from 2 to 3"}, orders(s))
}

func TestRecreateCleansTheHistoryWhenItIsDone(t *testing.T) {
	s := stateOf(web(3, "v3", recreated, withHistoryLimit(1)), set("v1", 0, 0), set("v2", 0, 0), set("v3", 3, 3))
	expect(t, "orders", []string{"delete replicaset web-v1"}, orders(s))
	s.ReplicaSets[2].Available = 2
	expect(t, "orders", []string{}, orders(s))
}

// A rollback makes sure of the new ReplicaSet, so that revisions count up, but has
// no business starting its pods.
func TestARollbackOfRecreateStartsNoPodsBesideOldOnes(t *testing.T) {
	d := web(3, "v3", recreated, annotated(map[string]string{RollbackAnnotation: "1"}))
	expect(t, "orders", []string{
		"create replicaset web-" + hashOf("v3") + " with 0, revision 3",
		"roll back to revision 1, replicaset web-v1",
		`event Normal DeploymentRollback: Rolled back deployment "web" to revision 1`,
	}, orders(stateOf(d, set("v1", 0, 0), set("v2", 3, 3))))
}
