package rollout

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
)

func TestARollbackTakesTheTemplateOfARevision(t *testing.T) {
	request := func(d *Deployment) *Deployment { return d }
	asked := func(revision string) *Deployment {
		return request(web(3, "v3", annotated(map[string]string{RollbackAnnotation: revision, RevisionAnnotation: "3"})))
	}
	eventOf := func(kind, reason, message string) RecordEvent {
		return RecordEvent{Type: kind, Reason: reason, Message: message}
	}
	notFound := eventOf(corev1.EventTypeWarning, reasonRevisionNotFound, "Unable to find the revision to rollback to.")
	back := func(image string, revision int64) RollBack {
		return RollBack{Source: set(image, 0, 0).Meta, Revision: revision, Annotations: map[string]string{}, Remove: []string{RollbackAnnotation}}
	}
	three := []*ReplicaSet{set("v1", 0, 0), set("v2", 0, 0), set("v3", 3, 3)}
	for name, test := range map[string]struct {
		d    *Deployment
		sets []*ReplicaSet
		want []Action
	}{
		"to the previous one": {asked("0"), three, []Action{
			back("v2", 2), eventOf(corev1.EventTypeNormal, reasonRolledBack, `Rolled back deployment "web" to revision 2`),
		}},
		"to a revision": {asked("1"), three, []Action{
			back("v1", 1), eventOf(corev1.EventTypeNormal, reasonRolledBack, `Rolled back deployment "web" to revision 1`),
		}},
		"to an unknown one": {asked("7"), three, []Action{EndRollBack{}, notFound}},
		"to a negative one": {asked("-1"), three, []Action{EndRollBack{}, notFound}},
		"to the present one": {asked("3"), three, []Action{
			EndRollBack{}, eventOf(corev1.EventTypeWarning, reasonTemplateUnchanged, `The rollback revision contains the same template as current deployment "web"`),
		}},
		"to the previous one, and there is none": {asked("0"), three[2:], []Action{
			EndRollBack{}, eventOf(corev1.EventTypeWarning, reasonRevisionNotFound, "Unable to find last revision."),
		}},
		"to the previous one, whatever the order": {asked("0"), []*ReplicaSet{three[2], three[0], three[1]}, []Action{
			back("v2", 2), eventOf(corev1.EventTypeNormal, reasonRolledBack, `Rolled back deployment "web" to revision 2`),
		}},
		"revisions that cannot be read do not count": {asked("0"), []*ReplicaSet{set("v1", 0, 0), revised(set("v2", 0, 0), "two"), set("v3", 3, 3)}, []Action{
			back("v1", 1), eventOf(corev1.EventTypeNormal, reasonRolledBack, `Rolled back deployment "web" to revision 1`),
		}},
	} {
		t.Run(name, func(t *testing.T) {
			got, wake := Plan(stateOf(test.d, test.sets...))
			expect(t, "actions", test.want, got)
			if !wake.IsZero() {
				t.Errorf("wake at %s", wake)
			}
		})
	}
}

func TestARollbackBringsTheAnnotationsOfItsRevision(t *testing.T) {
	source := set("v1", 0, 0)
	source.SetAnnotations(map[string]string{
		RevisionAnnotation: source.Annotations[RevisionAnnotation], "kubernetes.io/change-cause": "the first", "same": "same",
		revisionHistoryAnnotation: "7", configChecksumsAnnotation: "of then",
	})
	d := web(3, "v2", annotated(map[string]string{
		RollbackAnnotation: "1", RevisionAnnotation: "2", "kubernetes.io/change-cause": "the second", "same": "same", "b": "goes", "a": "goes",
		corev1.LastAppliedConfigAnnotation: "{}", configBasisAnnotation: "of now",
	}))
	current := set("v2", 3, 3)
	all := current.allAnnotations()
	for _, key := range []string{"kubernetes.io/change-cause", "same", "a", "b"} {
		all[key] = d.Annotations[key]
	}
	current.SetAnnotations(all)
	got, _ := Plan(stateOf(d, source, current))
	expect(t, "actions", []Action{
		RollBack{
			Source: source.Meta, Revision: 1, Annotations: map[string]string{"kubernetes.io/change-cause": "the first"},
			Remove: []string{"a", "b", RollbackAnnotation},
		},
		RecordEvent{Type: corev1.EventTypeNormal, Reason: reasonRolledBack, Message: `Rolled back deployment "web" to revision 1`},
	}, got)
}

func TestARollbackKeepsWhatStandsForFieldsOutsideTheTemplate(t *testing.T) {
	source := set("v1", 0, 0)
	source.SetAnnotations(map[string]string{RevisionAnnotation: "1", replacementAnnotation: whenTerminating, onFailureAnnotation: "of then"})
	kept := map[string]string{RollbackAnnotation: "1", RevisionAnnotation: "2", replacementAnnotation: whenTerminated, onFailureAnnotation: fallBack}
	without := map[string]string{RollbackAnnotation: "1", RevisionAnnotation: "2"}
	for name, annotations := range map[string]map[string]string{"set": kept, "not set": without} {
		got, _ := Plan(stateOf(web(3, "v2", annotated(annotations)), source, set("v2", 3, 3)))
		want := RollBack{Source: source.Meta, Revision: 1, Annotations: map[string]string{}, Remove: []string{RollbackAnnotation}}
		if !slices.ContainsFunc(got, func(a Action) bool { return cmp.Equal(a, Action(want)) }) {
			t.Errorf("%s: no action of %v is %+v", name, got, want)
		}
	}
}

func TestARollbackMakesSureOfTheRevisionsFirst(t *testing.T) {
	// v3 has no ReplicaSet yet; with it, 3 is the greatest revision and 2 the one before.
	d := web(3, "v3", annotated(map[string]string{RollbackAnnotation: "0"}))
	expect(t, "orders", []string{
		"create replicaset web-" + hashOf("v3") + " with 1, revision 3",
		"roll back to revision 2, replicaset web-v2",
		`event Normal DeploymentRollback: Rolled back deployment "web" to revision 2`,
	}, orders(stateOf(d, set("v1", 0, 0), set("v2", 3, 3))))
}

// The ReplicaSet that cannot be created would have the greatest revision: what was the
// greatest before is the previous one.
func TestARollbackDoesNotNeedTheReplicaSetThatCannotBeCreated(t *testing.T) {
	for name, test := range map[string]struct {
		to   string
		sets []*ReplicaSet
		want string
	}{
		"to the previous one":           {"0", []*ReplicaSet{set("v1", 0, 0), set("v2", 3, 3)}, "roll back to revision 2, replicaset web-v2"},
		"to the only one":               {"0", []*ReplicaSet{set("v1", 3, 3)}, "roll back to revision 1, replicaset web-v1"},
		"to a revision":                 {"1", []*ReplicaSet{set("v1", 0, 0), set("v2", 3, 3)}, "roll back to revision 1, replicaset web-v1"},
		"to that which does not exist":  {"3", []*ReplicaSet{set("v1", 0, 0), set("v2", 3, 3)}, "remove the request for a rollback"},
		"to the previous one, and none": {"0", nil, "remove the request for a rollback"},
	} {
		t.Run(name, func(t *testing.T) {
			s := stateOf(web(3, "v3", annotated(map[string]string{RollbackAnnotation: test.to})), test.sets...)
			s.Creation = CreationFailure{Name: "web-" + hashOf("v3"), Message: "no quota"}
			expect(t, "first order", test.want, orders(s)[0])
		})
	}
}

func TestAnInvalidRollbackRequestIsIgnored(t *testing.T) {
	for _, revision := range []string{"", "abc", "1.5", "99999999999999999999"} {
		d := web(3, "v2", annotated(map[string]string{RollbackAnnotation: revision}))
		expect(t, "orders with "+revision, []string{}, orders(stateOf(d, set("v1", 0, 0), set("v2", 3, 3))))
	}
}

func TestARollbackWaitsForTheEndOfAPause(t *testing.T) {
	d := web(3, "v2", paused, annotated(map[string]string{RollbackAnnotation: "1"}))
	expect(t, "orders", []string{}, orders(stateOf(d, set("v1", 0, 0), set("v2", 3, 3))))
}
