package catalog

import (
	"encoding/json"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
)

// recordAsEarlier records what an earlier version did, which had another fingerprint of the
// pod template.
func (s *story) recordAsEarlier(t *testing.T, earlier string) {
	t.Helper()
	view, _ := s.catalog.View(deploymentRef("web"))
	writeRecord(s.deployment, Decide(view).Checksums, noonPlus(10))
	var b map[string]any
	if err := json.Unmarshal([]byte(s.deployment.Annotations[BasisAnnotation]), &b); err != nil {
		t.Fatal(err)
	}
	b["template"] = earlier
	delete(b, "timestamp")
	encoded, err := json.Marshal(b)
	if err != nil {
		t.Fatal(err)
	}
	s.deployment.Annotations[BasisAnnotation] = string(encoded)
}

// A template with each kind of field was recorded with k8s.io/api v0.36.3.
func TestARecordWithAnEarlierFingerprintCountsAndIsRewrittenOnce(t *testing.T) {
	var known map[string]struct{ Earlier string }
	readJSON(t, "testdata/fingerprints.json", &known)
	settings := configMap("settings", map[string]string{"color": "red", "k": "v"})
	for name, template := range storedTemplates(t) {
		t.Run(name, func(t *testing.T) {
			d := deployment(corev1.Container{})
			d.Spec.Template = *template
			s := begin(d)
			s.listed(settings)
			s.recordAsEarlier(t, known[name].Earlier)
			s.restartController(settings)
			view, _ := s.catalog.View(deploymentRef("web"))
			if record := view.Workload.Applied; !record.Trusted || !record.Outdated {
				t.Fatalf("the record is trusted: %t, is outdated: %t", record.Trusted, record.Outdated)
			}
			decision := Decide(view)
			if decision.Outcome != RecordOnly || !decision.Checksums.Equal(view.Workload.Applied.Checksums) {
				t.Fatalf("%s, because %s: %v", decision.Outcome, decision.Reason, decision.Checksums)
			}
			s.recorded(20)
			view, _ = s.catalog.View(deploymentRef("web"))
			if decision := Decide(view); decision.Outcome != Keep || view.Workload.Applied.Outdated {
				t.Errorf("%s, because %s", decision.Outcome, decision.Reason)
			}
		})
	}
}

func TestAnEarlierFingerprintCountsOnlyForItsTemplateAndIfWeWroteIt(t *testing.T) {
	same := func(*appsv1.Deployment) {}
	one := map[string]string{"color": "red"}
	for name, test := range map[string]struct {
		change  func(*appsv1.Deployment)
		content map[string]string
		trusted bool
		want    Outcome
	}{
		"as written":          {same, one, true, RecordOnly},
		"of another content":  {same, map[string]string{"color": "blue"}, true, Restart},
		"of another template": {func(d *appsv1.Deployment) { d.Spec.Template.Spec.Containers[0].Image = "v2" }, one, false, RecordOnly},
		"after our restart": {func(d *appsv1.Deployment) {
			d.Spec.Template.Annotations = map[string]string{TimestampAnnotation: "now"}
		}, one, true, RecordOnly},
		"brought by another":   {func(d *appsv1.Deployment) { d.ManagedFields[len(d.ManagedFields)-1].Manager = "kubectl" }, one, false, RecordOnly},
		"of another's content": {func(d *appsv1.Deployment) { d.ManagedFields[len(d.ManagedFields)-1].Manager = "kubectl" }, map[string]string{"color": "blue"}, false, RecordOnly},
	} {
		t.Run(name, func(t *testing.T) {
			s := begin(deployment(readsAll("web", false)))
			s.listed(configMap("web", one))
			s.recordAsEarlier(t, earlierFingerprint(&s.deployment.Spec.Template))
			test.change(s.deployment)
			s.restartController(configMap("web", test.content))
			view, _ := s.catalog.View(deploymentRef("web"))
			if record := view.Workload.Applied; record.Trusted != test.trusted || record.Outdated != test.trusted {
				t.Errorf("the record is trusted: %t, is outdated: %t", record.Trusted, record.Outdated)
			}
			if decision := Decide(view); decision.Outcome != test.want {
				t.Errorf("%s, because %s; want %s", decision.Outcome, decision.Reason, test.want)
			}
		})
	}
}

// The test would notice any use of the missing template, and nothing may look for a timestamp
// in it.
func TestTheEarlierFingerprintIsComputedOnlyForRecordsThatHaveOne(t *testing.T) {
	d := deployment(readsAll("web", false))
	writeRecord(d, Checksums{configMapRef("web"): 1}, noonPlus(10))
	d.Annotations[BasisAnnotation] = strings.Replace(d.Annotations[BasisAnnotation], `,"timestamp":""`, "", 1)
	_, bare := fingerprints(&d.Spec.Template)
	if record := readRecord(&d.ObjectMeta, ownershipOf(&d.ObjectMeta), nil, bare); !record.Trusted || record.Outdated {
		t.Errorf("the record is trusted: %t, is outdated: %t", record.Trusted, record.Outdated)
	}
}
