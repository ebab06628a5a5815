package catalog

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

func TestARecordOfForgedTimesCanBeWrittenAgain(t *testing.T) {
	for _, forged := range []string{"9999-12-31T23:59:59-23:59", "0000-01-01T00:00:00+23:59"} {
		d := deployment(corev1.Container{Name: "app"})
		writeRecord(d, Checksums{}, noonPlus(10))
		template := mustWorkload(d).Template
		d.Annotations[BasisAnnotation] = fmt.Sprintf(
			`{"scheme":%q,"template":%q,"checksums":%q,"written":%q,"contradicted":%[4]q,"restarts":3,"restarted":%[4]q}`,
			keyedScheme, template, checksumOf(d.Annotations[ChecksumsAnnotation]), forged)
		record := readRecord(&d.ObjectMeta, ownershipOf(&d.ObjectMeta), &d.Spec.Template, template)
		if !record.Trusted || record.Budget.Restarts != 3 {
			t.Fatalf("%+v", record)
		}
		if !record.Written.IsZero() || !record.Budget.Last.IsZero() || record.Marked {
			t.Errorf("kept the times of %+v", record)
		}
		if _, err := record.Checksums.Annotations(Basis{Written: record.Written, Budget: record.Budget, Contradicted: record.Contradicted}); err != nil {
			t.Error(err)
		}
	}
}
