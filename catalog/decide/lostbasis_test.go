package decide

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubernetes-deployment-restart-controller/catalog/annotation"
	"kubernetes-deployment-restart-controller/catalog/objecttest"
)

// Some tools know the checksums annotation, which the original controller has, too, and take only
// the basis away.
var parts = map[string][]string{
	"the basis":        {annotation.BasisAnnotation},
	"both annotations": {annotation.BasisAnnotation, annotation.ChecksumsAnnotation},
}

func editedAtSecond95() *corev1.ConfigMap {
	cm := objecttest.ConfigMap("web", objecttest.Data{"a": "2"})
	cm.ManagedFields = []metav1.ManagedFieldsEntry{objecttest.Owns("kubectl", objecttest.NoonPlus(95), "f:data/f:a")}
	return cm
}

func TestARestartIsNotLostWithItsTimestampAndAPartOfItsRecord(t *testing.T) {
	for name, part := range parts {
		t.Run(name, func(t *testing.T) {
			s := restarted()
			s.strip(part...)
			objecttest.SetTimestamp(s.deployment, "")
			s.restartController(editedAtSecond95())
			got := s.decide(t, startedAt(objecttest.NoonPlus(50)))
			want := verdict{Asked: true, Outcome: Restart, Causes: []Cause{{Config: objecttest.ConfigMapRef("web")}}}
			if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("verdict (-want +got):\n%s", diff)
			}
		})
	}
}

func TestPodsThatReadAContentWhichIsGoneRestartWithoutAPartOfTheRecord(t *testing.T) {
	for name, part := range parts {
		t.Run(name, func(t *testing.T) {
			s := restarted()
			s.config("web", objecttest.Data{"a": "3"}, 110)
			s.config("web", objecttest.Data{"a": "2"}, 120)
			s.strip(part...)
			s.catalog.ObserveWorkload(s.reduced())
			want := askedRestartFor("web", "a")
			if diff := cmp.Diff(want, s.decide(t, startedAt(objecttest.NoonPlus(102)), startedAt(objecttest.NoonPlus(115))), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("verdict (-want +got):\n%s", diff)
			}
		})
	}
}

func TestPodsThatAreUpToDateDoNotRestartWithoutTheBasis(t *testing.T) {
	s := restarted()
	s.strip(annotation.BasisAnnotation)
	s.restartController(editedAtSecond95())
	want := verdict{Asked: true, Outcome: RecordOnly}
	if diff := cmp.Diff(want, s.decide(t, startedAt(objecttest.NoonPlus(102))), cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("verdict (-want +got):\n%s", diff)
	}
}
