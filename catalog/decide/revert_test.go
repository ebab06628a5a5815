package decide

import (
	"maps"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubernetes-deployment-restart-controller/catalog/annotation"
	"kubernetes-deployment-restart-controller/catalog/catalogtest"
	"kubernetes-deployment-restart-controller/catalog/objecttest"
	"kubernetes-deployment-restart-controller/catalog/record"
)

// restarted is the story of a restart at second 100 for an edit at second 95.
func restarted() *story {
	s := begin(objecttest.Deployment(objecttest.ReadsAll("web", false)))
	s.listed(objecttest.ConfigMap("web", objecttest.Data{"a": "1"}))
	s.recorded(10)
	s.config("web", objecttest.Data{"a": "2"}, 95)
	s.restart(100)
	return s
}

// restart does what the controller does after it decided to restart.
func (s *story) restart(seconds float64) {
	objecttest.SetTimestamp(s.deployment, objecttest.NoonPlus(seconds).Format(time.RFC3339Nano))
	s.recorded(seconds)
}

// rewind brings another timestamp onto the pod template, and reports whether that calls for
// a decision.
func (s *story) rewind(timestamp string) bool {
	objecttest.SetTimestamp(s.deployment, timestamp)
	return s.catalog.ObserveWorkload(s.reduced())
}

// undo does what kubectl rollout undo does: it brings back the pod template of an earlier
// revision, and the annotations that the workload had at that time.
func (s *story) undo() bool {
	s.deployment.ManagedFields[1] = objecttest.Owns("kubectl-rollout", objecttest.NoonPlus(105), objecttest.AnnotationField(annotation.BasisAnnotation))
	return s.rewind("")
}

func TestARevertCallsForADecisionOnce(t *testing.T) {
	s := restarted()
	type calls struct{ stripped, again, scaled, rewound, undone, broughtBack bool }
	var got calls
	got.stripped = s.rewind("")
	got.again = s.rewind("")
	s.deployment.ManagedFields = append(s.deployment.ManagedFields, objecttest.Owns("scaler", objecttest.NoonPlus(110), "f:spec/f:replicas"))
	s.deployment.Spec.Replicas = objecttest.Pointer[int32](5)
	got.scaled = s.catalog.ObserveWorkload(s.reduced())
	got.rewound = s.rewind("2026-03-01T11:00:00Z")
	got.undone = s.undo()
	got.broughtBack = s.rewind(objecttest.NoonPlus(100).Format(time.RFC3339Nano))
	if want := (calls{stripped: true, rewound: true, undone: true}); got != want {
		t.Errorf("calls for a decision: %+v, want %+v", got, want)
	}
}

func TestARevertNamesTheFieldManager(t *testing.T) {
	timestamp := "f:spec/f:template/f:metadata/f:annotations/f:" + annotation.TimestampAnnotation
	for name, test := range map[string]struct {
		fields []metav1.ManagedFieldsEntry
		want   string
	}{
		"the owner of the timestamp":                        {[]metav1.ManagedFieldsEntry{objecttest.Owns("argocd", objecttest.NoonPlus(105), timestamp), objecttest.Owns("scaler", objecttest.NoonPlus(110), "f:spec/f:replicas")}, "argocd"},
		"the controller itself, say by an admission policy": {[]metav1.ManagedFieldsEntry{objecttest.Owns(annotation.FieldManager, objecttest.NoonPlus(105), timestamp), objecttest.Owns("operator", objecttest.NoonPlus(104), "f:spec/f:replicas")}, ""},
		"else the last writer but this controller":          {[]metav1.ManagedFieldsEntry{objecttest.Owns("operator", objecttest.NoonPlus(104), "f:spec/f:replicas"), objecttest.Owns("helm", objecttest.NoonPlus(90), "f:metadata/f:labels")}, "operator"},
		"not who writes the status": {[]metav1.ManagedFieldsEntry{{
			Manager: "kube-controller-manager", Subresource: "status", Time: objecttest.Stamp(objecttest.NoonPlus(110)),
			FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(`{"f:status":{}}`),
		}}, ""},
		"not who wrote last before the restart": {[]metav1.ManagedFieldsEntry{objecttest.Owns("kubectl", objecttest.NoonPlus(86), "f:metadata/f:labels")}, ""},
	} {
		s := restarted()
		s.deployment.ManagedFields = append(s.deployment.ManagedFields, test.fields...)
		s.rewind("")
		view, _ := s.catalog.View(objecttest.DeploymentRef("web"))
		want := &record.Revert{Restart: "2026-03-01T12:01:40Z", Recorded: objecttest.NoonPlus(100), By: test.want}
		if diff := cmp.Diff(want, view.Workload.Record.Reverted); diff != "" {
			t.Errorf("%s: revert (-want +got):\n%s", name, diff)
		}
	}
}

func TestOnlyTheBeginningOfALongTimestampCounts(t *testing.T) {
	long := strings.Repeat("ä", 100<<10)
	s := restarted()
	if !s.rewind(long) {
		t.Fatal("no revert")
	}
	view, _ := s.catalog.View(objecttest.DeploymentRef("web"))
	if w := view.Workload; len(w.Timestamp) > annotation.LongestTimestamp || !utf8.ValidString(w.Timestamp) {
		t.Errorf("a timestamp of %d bytes is kept", len(w.Timestamp))
	}
	s.recorded(120)
	view, _ = s.catalog.View(objecttest.DeploymentRef("web"))
	if r := view.Workload.Record; !r.Trusted || r.Reverted != nil || len(s.deployment.Annotations[annotation.BasisAnnotation]) > 1000 {
		t.Errorf("recorded with it: %+v", r)
	}
	s.rewind("")
	view, _ = s.catalog.View(objecttest.DeploymentRef("web"))
	if r := view.Workload.Record.Reverted; r == nil || len(r.Restart) > annotation.LongestTimestamp {
		t.Errorf("reverted: %+v", r)
	}
}

// replaced does what kubectl replace does with a manifest that has neither record nor timestamp.
func (s *story) replaced() {
	objecttest.SetTimestamp(s.deployment, "")
	delete(s.deployment.Annotations, annotation.ChecksumsAnnotation)
	delete(s.deployment.Annotations, annotation.BasisAnnotation)
	s.catalog.ObserveWorkload(s.reduced())
}

func TestReplacingAWorkloadRepeatedlyUsesUpItsBudget(t *testing.T) {
	s := begin(objecttest.Deployment(objecttest.ReadsAll("web", false)))
	s.listed(objecttest.ConfigMap("web", objecttest.Data{"a": "1"}))
	s.recorded(10)
	s.config("web", objecttest.Data{"a": "2"}, 95)
	var waits []time.Duration
	for restart := range 6 {
		now := objecttest.NoonPlus(float64(100 + restart))
		view, _ := s.catalog.View(objecttest.DeploymentRef("web"))
		decision := Decide(view)
		if decision.Outcome == AskPods {
			decision = ByPods(view, []Pod{startedAt(objecttest.NoonPlus(50))}) // from before all restarts
		}
		if decision.Outcome != Restart {
			t.Fatalf("restart %d: %+v", restart, decision)
		}
		waits = append(waits, view.Workload.Record.Budget.Wait(catalogtest.Usual, now))
		objecttest.SetTimestamp(s.deployment, now.Format(time.RFC3339Nano))
		annotations, err := decision.Checksums.Annotations(record.Basis{
			Template: view.Workload.Template, Key: catalogtest.TestKey, Written: now, Timestamp: annotation.TimestampOf(&s.deployment.Spec.Template),
			Budget: view.Workload.Record.Budget.Spend(catalogtest.Usual, now),
		})
		if err != nil {
			t.Fatal(err)
		}
		maps.Copy(s.deployment.Annotations, annotations)
		s.deployment.ManagedFields = append(s.deployment.ManagedFields, objecttest.Owns(annotation.FieldManager, now, objecttest.AnnotationField(annotation.BasisAnnotation)))
		s.catalog.ObserveWritten(s.reduced(), view.Sequence)
		s.replaced()
		s.scale(int32(restart + 1)) // it is kept whatever else is written
	}
	want := []time.Duration{0, 0, 0, 4 * time.Second, 9 * time.Second, 19 * time.Second}
	if diff := cmp.Diff(want, waits); diff != "" {
		t.Errorf("waits (-want +got):\n%s", diff)
	}
}
