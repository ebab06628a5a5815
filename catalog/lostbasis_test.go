package catalog

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Some tools know the checksums annotation, which the original controller has, too, and take only
// the basis away.
var parts = map[string][]string{
	"the basis":        {BasisAnnotation},
	"both annotations": {BasisAnnotation, ChecksumsAnnotation},
}

func editedAtSecond95() *corev1.ConfigMap {
	cm := configMap("web", data{"a": "2"})
	cm.ManagedFields = []metav1.ManagedFieldsEntry{owns("kubectl", noonPlus(95), "f:data/f:a")}
	return cm
}

func TestARestartIsNotLostWithItsTimestampAndAPartOfItsRecord(t *testing.T) {
	for name, part := range parts {
		t.Run(name, func(t *testing.T) {
			s := restarted()
			s.strip(part...)
			setTimestamp(s.deployment, "")
			s.restartController(editedAtSecond95())
			got := s.decide(t, startedAt(noonPlus(50)))
			want := verdict{Asked: true, Outcome: Restart, Causes: []Cause{{Config: configMapRef("web")}}}
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
			s.config("web", data{"a": "3"}, 110)
			s.config("web", data{"a": "2"}, 120)
			s.strip(part...)
			s.catalog.ObserveWorkload(s.reduced())
			want := askedRestartFor("web", "a")
			if diff := cmp.Diff(want, s.decide(t, startedAt(noonPlus(102)), startedAt(noonPlus(115))), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("verdict (-want +got):\n%s", diff)
			}
		})
	}
}

func TestPodsThatAreUpToDateDoNotRestartWithoutTheBasis(t *testing.T) {
	s := restarted()
	s.strip(BasisAnnotation)
	s.restartController(editedAtSecond95())
	want := verdict{Asked: true, Outcome: RecordOnly}
	if diff := cmp.Diff(want, s.decide(t, startedAt(noonPlus(102))), cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("verdict (-want +got):\n%s", diff)
	}
}

// The original did not look at volumes of a Secret, but this controller had: what is not in its
// record was not there.
func TestAConfigThatAppearedWhileNobodyWatchedIsNotBeyondARecordOfOursWithoutItsBasis(t *testing.T) {
	volume := corev1.Volume{Name: "v", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "tls", Optional: pointer(true)}}}
	container := readsAll("web", false)
	container.VolumeMounts = []corev1.VolumeMount{{Name: "v", MountPath: "/v"}}
	s := begin(deployment(container, volume))
	s.catalog.SetKey(testKey)
	s.listed(configMap("web", data{"a": "1"}))
	s.recorded(60)
	s.strip(BasisAnnotation)
	appeared := secret("tls", data{"a": "1"})
	appeared.CreationTimestamp.Time = noonPlus(95)
	s.catalog = New()
	s.catalog.SetKey(testKey)
	listConfigs(s.catalog, Secret, "", listOf(NewSecret(appeared)), noonPlus(100), true)
	s.listed(configMap("web", data{"a": "1"}))
	for start, want := range map[float64]Outcome{50: Restart, 98: RecordOnly} {
		if got := s.decide(t, startedAt(noonPlus(start))); got.Outcome != want || !got.Asked {
			t.Errorf("a pod of second %v: %+v, want %s", start, got, want)
		}
	}
}
