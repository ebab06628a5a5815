package restart

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubernetes-deployment-restart-controller/catalog/annotation"
	"kubernetes-deployment-restart-controller/catalog/decide"
	"kubernetes-deployment-restart-controller/catalog/policy"
	"kubernetes-deployment-restart-controller/catalog/record"
	"kubernetes-deployment-restart-controller/catalog/workload"
	"kubernetes-deployment-restart-controller/controller/objecttest"
)

var budget = policy.Budget{Restarts: 2, Last: time.Date(2026, 1, 2, 3, 4, 0, 0, time.UTC)}

func bodyOf(t *testing.T, outcome decide.Outcome, now time.Time) map[string]any {
	t.Helper()
	w := &workload.Workload{Object: workload.Object{Ref: objecttest.Web, ResourceVersion: "42", Timestamp: "of the last restart"}}
	causes := []decide.Cause{{Config: objecttest.MapA, Keys: []string{"level", "port"}}}
	decision := decide.Decision{Outcome: outcome, Checksums: record.Checksums{objecttest.MapA: 0x1f}, Causes: causes}
	built, err := newPatch(w, decision, record.Basis{
		Template: record.Fingerprint{0xab, 0xc}, Budget: budget, Written: now, Timestamp: timestampAfter(w, outcome, now),
	})
	if err != nil {
		t.Fatal(err)
	}
	body, err := json.Marshal(built)
	if err != nil {
		t.Fatal(err)
	}
	var patch map[string]any
	if err := json.Unmarshal(body, &patch); err != nil {
		t.Fatal(err)
	}
	return patch
}

func recordAt(t *testing.T, now time.Time, timestamp string) map[string]any {
	t.Helper()
	annotations, err := record.Checksums{objecttest.MapA: 0x1f}.Annotations(record.Basis{
		Template: record.Fingerprint{0xab, 0xc}, Budget: budget, Written: now, Timestamp: timestamp,
	})
	if err != nil {
		t.Fatal(err)
	}
	record := make(map[string]any)
	for name, value := range annotations {
		record[name] = value
	}
	return record
}

func TestARecordTouchesOnlyTheWorkloadsAnnotations(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC)
	want := map[string]any{"metadata": map[string]any{"resourceVersion": "42", "annotations": recordAt(t, now, "of the last restart")}}
	if diff := cmp.Diff(want, bodyOf(t, decide.RecordOnly, now)); diff != "" {
		t.Error(diff)
	}
}

func TestARestartIsRecordedAndStampedInOnePatch(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 6, time.FixedZone("", 3600))
	const timestamp = "2026-01-02T02:04:05.000000006Z"
	stamp := map[string]any{annotation.TimestampAnnotation: timestamp, annotation.CauseAnnotation: "configmap/a: level, port"}
	want := map[string]any{
		"metadata": map[string]any{"resourceVersion": "42", "annotations": recordAt(t, now, timestamp)},
		"spec":     map[string]any{"template": map[string]any{"metadata": map[string]any{"annotations": stamp}}},
	}
	if diff := cmp.Diff(want, bodyOf(t, decide.Restart, now)); diff != "" {
		t.Error(diff)
	}
}

func TestAMissingEffectOfAPatchIsFound(t *testing.T) {
	patch := &WorkloadPatch{
		Metadata: PatchedMeta{Annotations: map[string]string{"a": "1", "b": "2"}},
		Spec:     &PatchedSpec{Template: PatchedTemplate{Metadata: PatchedMeta{Annotations: map[string]string{"c": "3", annotation.CauseAnnotation: "an edit"}}}},
	}
	with := func(own, template map[string]string) *workload.Parts {
		return &workload.Parts{
			Meta:     &metav1.ObjectMeta{Annotations: own},
			Template: &corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Annotations: template}},
		}
	}
	for want, after := range map[string]*workload.Parts{
		"":                                 with(map[string]string{"a": "1", "b": "2", "other": ""}, map[string]string{"c": "3"}),
		"annotation a":                     with(nil, nil),
		"annotation b":                     with(map[string]string{"a": "1", "b": "1"}, map[string]string{"c": "3"}),
		"annotation c of the pod template": with(map[string]string{"a": "1", "b": "2"}, nil),
	} {
		if got := patch.missingIn(after); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
