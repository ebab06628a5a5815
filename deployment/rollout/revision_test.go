package rollout

import (
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

func TestRevisionsAreReadWhereTheyCanBe(t *testing.T) {
	for name, test := range map[string]struct {
		annotations map[string]string
		want        int64
		ok          bool
	}{
		"absent":                 {nil, 0, true},
		"empty":                  {map[string]string{RevisionAnnotation: ""}, 0, true},
		"a number":               {map[string]string{RevisionAnnotation: "12"}, 12, true},
		"the greatest":           {map[string]string{RevisionAnnotation: "9223372036854775807"}, 9223372036854775807, true},
		"more than the greatest": {map[string]string{RevisionAnnotation: "9223372036854775808"}, 0, false},
		"no number":              {map[string]string{RevisionAnnotation: "twelve"}, 0, false},
		"with a fraction":        {map[string]string{RevisionAnnotation: "1.5"}, 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			if got, ok := revisionOf(test.annotations); got != test.want || ok != test.ok {
				t.Errorf("revision %d, %t", got, ok)
			}
		})
	}
}

func TestTheNewReplicaSetGetsTheDeploymentsAnnotationsAndItsRevision(t *testing.T) {
	d := web(3, "v1", annotated(map[string]string{
		"kubernetes.io/change-cause":       "kubectl set image",
		"note":                             "",
		"com.xing.deployment-restart":      "enabled",
		configChecksumsAnnotation:          "{}",
		configBasisAnnotation:              "{}",
		corev1.LastAppliedConfigAnnotation: "{}",
		RevisionAnnotation:                 "77",
		revisionHistoryAnnotation:          "1,2",
		desiredReplicasAnnotation:          "77",
		maxReplicasAnnotation:              "77",
		RollbackAnnotation:                 "0",
	}))
	for name, test := range map[string]struct {
		present  map[string]string
		revision int64
		want     map[string]string
	}{
		"a new one": {nil, 3, map[string]string{
			"kubernetes.io/change-cause": "kubectl set image", "note": "", "com.xing.deployment-restart": "enabled", RevisionAnnotation: "3",
		}},
		"one that has them": {
			map[string]string{"kubernetes.io/change-cause": "kubectl set image", "note": "", "com.xing.deployment-restart": "enabled", RevisionAnnotation: "3", "foreign": "stays"}, 3,
			map[string]string{},
		},
		"changed annotations": {
			map[string]string{"kubernetes.io/change-cause": "earlier", RevisionAnnotation: "3"}, 3,
			map[string]string{"kubernetes.io/change-cause": "kubectl set image", "note": "", "com.xing.deployment-restart": "enabled"},
		},
		"one that comes back": {
			map[string]string{"kubernetes.io/change-cause": "kubectl set image", "note": "", "com.xing.deployment-restart": "enabled", RevisionAnnotation: "1"}, 3,
			map[string]string{RevisionAnnotation: "3", revisionHistoryAnnotation: "1"},
		},
		"one that comes back again": {
			map[string]string{"kubernetes.io/change-cause": "kubectl set image", "note": "", "com.xing.deployment-restart": "enabled", RevisionAnnotation: "3", revisionHistoryAnnotation: "1"}, 5,
			map[string]string{RevisionAnnotation: "5", revisionHistoryAnnotation: "1,3"},
		},
		"one that had no revision": {
			map[string]string{"kubernetes.io/change-cause": "kubectl set image", "note": "", "com.xing.deployment-restart": "enabled"}, 1,
			map[string]string{RevisionAnnotation: "1"},
		},
		"old ones were deleted since": {
			map[string]string{"kubernetes.io/change-cause": "kubectl set image", "note": "", "com.xing.deployment-restart": "enabled", RevisionAnnotation: "9"}, 1,
			map[string]string{},
		},
		"a revision that cannot be read": {map[string]string{RevisionAnnotation: "nine"}, 1, nil},
	} {
		t.Run(name, func(t *testing.T) {
			expect(t, "annotations", test.want, annotationsOfNew(d, test.present, test.revision))
		})
	}
}

func TestAHistoryForgetsItsOldestRevisionsWhenItIsFull(t *testing.T) {
	for name, test := range map[string]struct{ history, revision, want string }{
		"the first":             {"", "1", "1"},
		"the second":            {"1", "3", "1,3"},
		"one too many":          {"1," + strings.Repeat("22,", 666) + "4", "5", strings.Repeat("22,", 665) + "4,5"},
		"just full":             {strings.Repeat("22,", 665) + "333", "4", strings.Repeat("22,", 665) + "333,4"},
		"long ones":             {strings.Repeat("1", 1500) + "," + strings.Repeat("2", 600), "3", strings.Repeat("2", 600) + ",3"},
		"one that is too long":  {strings.Repeat("1", 3000), "2", "2"},
		"nothing else to spare": {"", strings.Repeat("1", 3000), strings.Repeat("1", 3000)},
	} {
		t.Run(name, func(t *testing.T) {
			expect(t, "history", test.want, appendRevision(test.history, test.revision))
		})
	}
}

func TestAHistoryOfAllRevisionsKeepsTheLatest(t *testing.T) {
	history := ""
	for revision := 1; revision <= 5000; revision++ {
		history = appendRevision(history, strconv.Itoa(revision))
		if len(history) > maxHistoryLength {
			t.Fatalf("%d characters", len(history))
		}
	}
	listed := strings.Split(history, ",")
	if len(listed) != 400 || listed[0] != "4601" || listed[399] != "5000" {
		t.Errorf("%d revisions from %s to %s", len(listed), listed[0], listed[len(listed)-1])
	}
}

// Revisions across a whole plan: what a new, a returning and a present ReplicaSet get.
func TestAReplicaSetThatBecomesNewGetsTheGreatestRevision(t *testing.T) {
	const size = ", desired-replicas 3, max-replicas 4"
	for name, test := range map[string]struct {
		image string
		sets  []*ReplicaSet
		want  []string
	}{
		"the first": {"v1", nil, []string{"create replicaset web-" + hashOf("v1") + " with 3, revision 1"}},
		"another template": {"v3", []*ReplicaSet{set("v2", 3, 3), set("v1", 0, 0)}, []string{
			"create replicaset web-" + hashOf("v3") + " with 1, revision 3",
		}},
		"an earlier one comes back": {"v1", []*ReplicaSet{set("v1", 0, 0), set("v2", 3, 3)}, []string{
			"scale replicaset web-v1 from 0 to 1, revision 3, revision-history 1",
		}},
		"with other sizes in mind": {"v1", []*ReplicaSet{set("v1", 0, 0, sized("7", "9")), set("v2", 3, 3)}, []string{
			"scale replicaset web-v1 from 0 to 1" + size + ", revision 3, revision-history 1",
		}},
		"a revision that somebody raised": {"v2", []*ReplicaSet{revised(set("v1", 0, 0), "12"), set("v2", 3, 3)}, []string{
			"update replicaset web-v2, revision 13, revision-history 2",
		}},
		"an old revision that cannot be read": {"v2", []*ReplicaSet{revised(set("v1", 0, 0), "abc"), set("v2", 3, 3)}, []string{}},
		"a new revision that cannot be read":  {"v2", []*ReplicaSet{set("v1", 0, 0), revised(set("v2", 3, 3), "abc")}, []string{}},
	} {
		t.Run(name, func(t *testing.T) {
			expect(t, "orders", test.want, orders(stateOf(web(3, test.image), test.sets...)))
		})
	}
}

func hashOf(image string) string {
	template := templateOf(image)
	return TemplateHash(&template, nil)
}

func revised(rs *ReplicaSet, revision string) *ReplicaSet {
	rs.Annotations[RevisionAnnotation] = revision
	return rs
}

func TestTheDeploymentShowsTheRevisionOfItsNewReplicaSet(t *testing.T) {
	for name, test := range map[string]struct {
		present string
		sets    []*ReplicaSet
		want    string
	}{
		"a new one":           {"", nil, "1"},
		"the next":            {"1", []*ReplicaSet{set("v1", 3, 3)}, "2"},
		"one that comes":      {"4", []*ReplicaSet{set("v5", 0, 0), set("v4", 3, 3)}, "5"},
		"as it is already":    {"5", []*ReplicaSet{set("v5", 3, 3)}, ""},
		"changed by somebody": {"77", []*ReplicaSet{set("v5", 3, 3)}, "5"},
	} {
		t.Run(name, func(t *testing.T) {
			image := "v5"
			if len(test.sets) < 1 || test.sets[0].Name != "web-v5" {
				image = "v2"
			}
			actions, _ := Plan(stateOf(web(3, image, annotated(map[string]string{RevisionAnnotation: test.present})), test.sets...))
			update, _ := actions[len(actions)-1].(UpdateStatus)
			if update.Revision != test.want {
				t.Errorf("revision %q, want %q", update.Revision, test.want)
			}
		})
	}
}
