package rollout

import (
	"math"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
)

// before says that a size was computed when so many replicas were wanted and so
// many pods allowed.
func TestAScalingIsProportional(t *testing.T) {
	type sizes = map[string][2]int64
	for name, test := range map[string]struct {
		replicas           int32
		surge, unavailable string
		sets               []*ReplicaSet
		status             int32 // its replicas
		want               sizes
	}{
		"the documentation's example: 10 become 15": {
			15, "3", "2", []*ReplicaSet{set("v1", 8, 8, sized("10", "13")), set("v2", 5, 0, sized("10", "13"))}, 13,
			sizes{"web-v1": {8, 11}, "web-v2": {5, 7}},
		},
		"the same with 30 %, so that more may surge": {
			15, "30%", "2", []*ReplicaSet{set("v1", 8, 8, sized("10", "13")), set("v2", 5, 0, sized("10", "13"))}, 13,
			sizes{"web-v1": {8, 12}, "web-v2": {5, 8}},
		},
		"down, by half": {
			5, "3", "2", []*ReplicaSet{set("v1", 8, 8, sized("10", "13")), set("v2", 5, 0, sized("10", "13"))}, 13,
			sizes{"web-v1": {8, 5}, "web-v2": {5, 3}},
		},
		"what rounding leaves over goes to the largest": {
			20, "0", "1", []*ReplicaSet{set("v1", 5, 5, sized("10", "11")), set("v2", 3, 3, sized("10", "11")), set("v3", 2, 0, sized("10", "11"))}, 10,
			sizes{"web-v1": {5, 11}, "web-v2": {3, 5}, "web-v3": {2, 4}},
		},
		"of two of a size, the newer grows": {
			3, "0", "1", []*ReplicaSet{set("v1", 1, 1, sized("2", "2")), set("v2", 1, 0, sized("2", "2"))}, 2,
			sizes{"web-v2": {1, 2}},
		},
		"of two of a size, the older shrinks": {
			3, "0", "1", []*ReplicaSet{set("v1", 2, 2, sized("4", "4")), set("v2", 2, 0, sized("4", "4"))}, 4,
			sizes{"web-v1": {2, 1}},
		},
		"to nothing": {
			0, "3", "2", []*ReplicaSet{set("v1", 8, 8, sized("10", "13")), set("v2", 5, 0, sized("10", "13"))}, 13,
			sizes{"web-v1": {8, 0}, "web-v2": {5, 0}},
		},
		"without room for more": {
			12, "1", "0", []*ReplicaSet{set("v1", 8, 8, sized("10", "13")), set("v2", 5, 0, sized("10", "13"))}, 13, sizes{},
		},
		"an unknown maximum counts as the pods that there were": {
			20, "0", "1", []*ReplicaSet{set("v1", 6, 6, sized("10", "none")), set("v2", 4, 0, sized("10", "-1"))}, 10,
			sizes{"web-v1": {6, 12}, "web-v2": {4, 8}},
		},
		"nothing is known of what was": {
			20, "0", "1", []*ReplicaSet{set("v1", 6, 6, sized("10", "0")), set("v2", 4, 0, sized("10", "none"))}, 0,
			sizes{"web-v1": {6, 16}},
		},
		"50,000 × 60,000 overflows an int32": {
			60000, "0", "1", []*ReplicaSet{set("v1", 50000, 50000, sized("50001", "50001")), set("v2", 1, 0, sized("50001", "50001"))}, 50001,
			sizes{"web-v1": {50000, 59999}},
		},
		"the greatest numbers": {
			math.MaxInt32, "100%", "1", []*ReplicaSet{set("v1", math.MaxInt32-1, 0, sized("5", "2147483647")), set("v2", 1, 0, sized("5", "2147483647"))}, 5,
			sizes{"web-v1": {math.MaxInt32 - 1, 4294967292}, "web-v2": {1, 2}},
		},
		"one that remembers less than there are does not grow while others shrink": {
			1, "1", "0", []*ReplicaSet{set("v1", 2, 2, sized("1", "2")), set("v2", 2, 2, sized("2", "none"))}, 1,
			sizes{"web-v1": {2, 0}},
		},
		"an outdated size of one is a scaling of all": {
			10, "3", "2", []*ReplicaSet{set("v1", 8, 8, sized("10", "13")), set("v2", 5, 0, sized("7", "10"))}, 13, sizes{},
		},
		"garbage is no scaling": {
			10, "3", "2", []*ReplicaSet{set("v1", 8, 8, sized("ten", "13")), set("v2", 3, 0, sized("", ""))}, 11, sizes{"web-v2": {3, 5}},
		},
		"a number beyond int32 is no scaling": {
			10, "3", "2", []*ReplicaSet{set("v1", 8, 8, sized("99999999999", "13")), set("v2", 3, 0)}, 11, sizes{"web-v2": {3, 5}},
		},
		"nor is a negative number": {
			10, "3", "2", []*ReplicaSet{set("v1", 8, 8, sized("-1", "13")), set("v2", 3, 0)}, 11, sizes{"web-v2": {3, 5}},
		},
		"a maximum beyond int32 is invalid": {
			20, "0", "1", []*ReplicaSet{set("v1", 6, 6, sized("10", "99999999999")), set("v2", 4, 0, sized("10", "2147483648"))}, 10,
			sizes{"web-v1": {6, 12}, "web-v2": {4, 8}},
		},
		"a ReplicaSet without pods has no say": {
			10, "3", "2", []*ReplicaSet{set("v1", 0, 0, sized("7", "9")), set("v2", 10, 10)}, 10, sizes{},
		},
	} {
		t.Run(name, func(t *testing.T) {
			image := test.sets[len(test.sets)-1].Name[len("web-"):]
			d := web(test.replicas, image, withLimits(test.surge, test.unavailable), withStatus(appsv1.DeploymentStatus{Replicas: test.status}))
			expect(t, "sizes", test.want, resizings(stateOf(d, test.sets...)))
		})
	}
}

func TestAScalingIsAnnotatedOnAllReplicaSetsWithPods(t *testing.T) {
	s := stateOf(web(15, "v2", withLimits("3", "2")), set("v1", 8, 8, sized("10", "13")), set("v2", 5, 0, sized("10", "13")), set("v3", 0, 0, sized("4", "5")))
	expect(t, "orders", []string{
		"scale replicaset web-v1 from 8 to 11, desired-replicas 15, max-replicas 18",
		// v3 has the greatest revision.
		"scale replicaset web-v2 from 5 to 7, desired-replicas 15, max-replicas 18, revision 4, revision-history 2",
	}, orders(s))
}

func TestTheOnlyReplicaSetWithPodsIsScaledToTheFullSize(t *testing.T) {
	for name, test := range map[string]struct {
		d    *Deployment
		sets []*ReplicaSet
		want []string
	}{
		"up": {
			web(5, "v1"), []*ReplicaSet{set("v1", 3, 3, sized("3", "4"))},
			[]string{"scale replicaset web-v1 from 3 to 5, desired-replicas 5, max-replicas 7"},
		},
		"down to nothing": {
			web(0, "v1"), []*ReplicaSet{set("v1", 3, 3, sized("3", "4"))},
			[]string{"scale replicaset web-v1 from 3 to 0, desired-replicas 0, max-replicas 0"},
		},
		"from nothing, which the rollout does": {
			web(3, "v1"), []*ReplicaSet{set("v1", 0, 0, sized("0", "0"))},
			[]string{"scale replicaset web-v1 from 0 to 3, desired-replicas 3, max-replicas 4"},
		},
		"an old one, before the new one is made": {
			web(5, "v2"), []*ReplicaSet{set("v1", 3, 3, sized("3", "4"))},
			[]string{"scale replicaset web-v1 from 3 to 5, desired-replicas 5, max-replicas 7"},
		},
		"while paused": {
			web(5, "v2", paused), []*ReplicaSet{set("v1", 3, 3, sized("3", "4"))},
			[]string{"scale replicaset web-v1 from 3 to 5, desired-replicas 5, max-replicas 7"},
		},
		"while paused, from nothing": {
			web(5, "v3", paused), []*ReplicaSet{set("v1", 0, 0, sized("0", "0")), set("v2", 0, 0, sized("0", "0"))},
			[]string{"scale replicaset web-v2 from 0 to 5, desired-replicas 5, max-replicas 7"},
		},
		"while paused, in the middle of a rollout": {
			web(15, "v2", paused, withLimits("3", "2")), []*ReplicaSet{set("v1", 8, 8, sized("10", "13")), set("v2", 5, 0, sized("10", "13"))},
			[]string{
				"scale replicaset web-v1 from 8 to 11, desired-replicas 15, max-replicas 18",
				"scale replicaset web-v2 from 5 to 7, desired-replicas 15, max-replicas 18",
			},
		},
		"by hand, while paused": {
			web(3, "v1", paused), []*ReplicaSet{set("v1", 5, 5)},
			[]string{"scale replicaset web-v1 from 5 to 3"},
		},
		"the size is right and what it was computed from is not": {
			web(3, "v2"), []*ReplicaSet{set("v1", 3, 3, sized("7", "9"))},
			[]string{"update replicaset web-v1, desired-replicas 3, max-replicas 4"},
		},
		"Recreate": {
			web(5, "v1", recreated), []*ReplicaSet{set("v1", 3, 3, sized("3", "3"))},
			[]string{"scale replicaset web-v1 from 3 to 5, desired-replicas 5, max-replicas 5"},
		},
		"the new one has all and an old one still has some": {
			web(3, "v2"), []*ReplicaSet{set("v1", 2, 2, sized("5", "6")), set("v2", 3, 3, sized("3", "4"))},
			[]string{"scale replicaset web-v1 from 2 to 0, desired-replicas 3, max-replicas 4"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			expect(t, "orders", test.want, orders(stateOf(test.d, test.sets...)))
		})
	}
}

func TestRecreateDoesNotScaleProportionally(t *testing.T) {
	s := stateOf(web(5, "v2", recreated), set("v1", 2, 2, sized("3", "3")), set("v2", 1, 1, sized("3", "3")))
	expect(t, "orders", []string{"scale replicaset web-v1 from 2 to 0, desired-replicas 5, max-replicas 5"}, orders(s))
}
