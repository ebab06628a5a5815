package record

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubernetes-deployment-restart-controller/catalog/annotation"
	"kubernetes-deployment-restart-controller/catalog/objecttest"
	"kubernetes-deployment-restart-controller/catalog/template"
)

func TestTheOtherAnnotationsLeaveRoomForTheChecksums(t *testing.T) {
	meta := &metav1.ObjectMeta{Annotations: map[string]string{
		"note": strings.Repeat("x", 100_000), annotation.ChecksumsAnnotation: strings.Repeat("x", 100_000), annotation.BasisAnnotation: "x",
	}}
	if got, want := RoomForChecksums(meta, template.Filter{}, template.Filter{}), 256*1024-8*1024-100_004; got != want {
		t.Errorf("room for %d bytes, want %d", got, want)
	}
}

// The API server gives a field to its writer only if its value changes.
func TestEachWriteOfTheSameRecordHasAnotherBasis(t *testing.T) {
	checksums := Checksums{objecttest.ConfigMapRef("web"): 1}
	first, err1 := checksums.Annotations(Basis{Template: Fingerprint{1}, Written: objecttest.Noon})
	second, err2 := checksums.Annotations(Basis{Template: Fingerprint{1}, Written: objecttest.Noon.Add(1)})
	if err1 != nil || err2 != nil || first[annotation.BasisAnnotation] == second[annotation.BasisAnnotation] {
		t.Errorf("both are %s (%v, %v)", first[annotation.BasisAnnotation], err1, err2)
	}
}

func TestTheContentDiffersFromARecordNoEarlierThanItWasMade(t *testing.T) {
	r := Record{Written: objecttest.NoonPlus(10)}
	if since := r.DiffersSince(); !since.IsZero() {
		t.Errorf("without a contradiction: %v", since)
	}
	for contradicted, want := range map[float64]float64{5: 10, 20: 20} {
		r.Contradicted = objecttest.NoonPlus(contradicted)
		if since := r.DiffersSince(); !since.Equal(objecttest.NoonPlus(want)) {
			t.Errorf("contradicted since %v: %v", contradicted, since)
		}
	}
}
