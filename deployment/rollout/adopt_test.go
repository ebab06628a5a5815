package rollout

import (
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestADeploymentClaimsWhatItSelects(t *testing.T) {
	orphan := func(rs *ReplicaSet) { rs.Controller, rs.ControllerName = "", "" }
	stranger := func(rs *ReplicaSet) { rs.SetLabels(map[string]string{"app": "api"}) }
	dying := func(rs *ReplicaSet) { rs.Deleting = true }
	deleting := func(d *appsv1.Deployment) { d.DeletionTimestamp = &metav1.Time{Time: noon} }
	for name, test := range map[string]struct {
		d             *Deployment
		sets, orphans []*ReplicaSet
		want          []string
	}{
		"nothing to claim":                  {web(3, "v1"), []*ReplicaSet{set("v1", 3, 3)}, nil, []string{}},
		"orphans, the oldest first":         {web(3, "v3"), nil, []*ReplicaSet{set("v2", 3, 3, orphan), set("v1", 3, 3, orphan)}, []string{"adopt replicaset web-v1", "adopt replicaset web-v2"}},
		"orphans that it does not select":   {web(3, "v1"), []*ReplicaSet{set("v1", 3, 3)}, []*ReplicaSet{set("v2", 3, 3, orphan, stranger)}, []string{}},
		"orphans that are being deleted":    {web(3, "v1"), []*ReplicaSet{set("v1", 3, 3)}, []*ReplicaSet{set("v2", 3, 3, orphan, dying)}, []string{}},
		"one that it selects no more":       {web(3, "v1"), []*ReplicaSet{set("v1", 3, 3), set("v2", 3, 3, stranger)}, nil, []string{"release replicaset web-v2"}},
		"first it releases":                 {web(3, "v1"), []*ReplicaSet{set("v1", 3, 3, stranger)}, []*ReplicaSet{set("v2", 3, 3, orphan)}, []string{"release replicaset web-v1", "adopt replicaset web-v2"}},
		"being deleted, it claims nothing":  {web(3, "v1", deleting), []*ReplicaSet{set("v1", 3, 3)}, []*ReplicaSet{set("v2", 3, 3, orphan)}, []string{}},
		"being deleted, it keeps its own":   {web(3, "v1", deleting), []*ReplicaSet{set("v1", 3, 3, stranger)}, nil, []string{}},
		"paused, it claims all the same":    {web(3, "v1", paused), nil, []*ReplicaSet{set("v2", 3, 3, orphan)}, []string{"adopt replicaset web-v2"}},
		"being deleted, it starts no pods":  {web(5, "v2", deleting), []*ReplicaSet{set("v1", 3, 3)}, nil, []string{}},
		"its own that are deleted are kept": {web(3, "v1"), []*ReplicaSet{set("v1", 3, 3, dying)}, nil, []string{}},
	} {
		t.Run(name, func(t *testing.T) {
			s := stateOf(test.d, test.sets...)
			s.Orphans = test.orphans
			expect(t, "orders", test.want, orders(s))
		})
	}
}

func TestAClaimComesAlone(t *testing.T) {
	s := stateOf(web(3, "v2"))
	s.Orphans = []*ReplicaSet{set("v1", 3, 3)}
	got, wake := Plan(s)
	expect(t, "actions", []Action{AdoptReplicaSet{Target: set("v1", 3, 3).Meta}}, got)
	expect(t, "wake", time.Time{}, wake)
}

// Thousands of ReplicaSets are dealt with a hundred at a time.
func TestAPlanClaimsAndDeletesAHundredAtMost(t *testing.T) {
	orphan := func(rs *ReplicaSet) { rs.Controller, rs.ControllerName = "", "" }
	stranger := func(rs *ReplicaSet) { rs.SetLabels(map[string]string{"app": "api"}) }
	adopting := stateOf(web(3, "v999"))
	adopting.Orphans = finished(250, orphan)
	releasing := stateOf(web(3, "v999"), finished(250, stranger)...)
	pruning := stateOf(web(3, "v999", withHistoryLimit(0)), append(finished(250), set("v999", 3, 3))...)
	for name, s := range map[string]*State{"adopt": adopting, "release": releasing, "delete": pruning} {
		orders := orders(s)
		if len(orders) != maxBatch || orders[0] != name+" replicaset web-v1" || orders[maxBatch-1] != name+" replicaset web-v100" {
			t.Errorf("%d to %s, from %s", len(orders), name, orders[0])
		}
	}
}

func TestASelectorMayNameTheHash(t *testing.T) {
	hashed := func(hash map[string]string) func(*ReplicaSet) {
		return func(rs *ReplicaSet) {
			hash["app"] = "web"
			rs.SetLabels(hash)
		}
	}
	d := web(3, "v1", func(d *appsv1.Deployment) {
		d.Spec.Selector.MatchExpressions = []metav1.LabelSelectorRequirement{{Key: HashLabel, Operator: metav1.LabelSelectorOpNotIn, Values: []string{"5d"}}}
	})
	sets := []*ReplicaSet{
		set("v1", 0, 0, hashed(map[string]string{HashLabel: "6e"})), set("v2", 0, 0, hashed(map[string]string{HashLabel: "5d"})),
		set("v3", 0, 0, hashed(map[string]string{})), set("v4", 0, 0, hashed(map[string]string{HashLabel: ""})),
	}
	selected, others := d.selected(sets)
	expect(t, "selected", []*ReplicaSet{sets[0], sets[2], sets[3]}, selected)
	expect(t, "not selected", []*ReplicaSet{sets[1]}, others)
	d.Selector.MatchExpressions[0].Operator, d.Selector.MatchExpressions[0].Values = metav1.LabelSelectorOpExists, nil
	_, others = d.selected(sets)
	expect(t, "not selected by a hash at all", []*ReplicaSet{sets[2]}, others)
}
