package record_test

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"kubernetes-deployment-restart-controller/catalog/annotation"
	"kubernetes-deployment-restart-controller/catalog/catalogtest"
	"kubernetes-deployment-restart-controller/catalog/objecttest"
	"kubernetes-deployment-restart-controller/catalog/record"
)

func TestARecordOfForgedTimesCanBeWrittenAgain(t *testing.T) {
	for _, forged := range []string{"9999-12-31T23:59:59-23:59", "0000-01-01T00:00:00+23:59"} {
		d := objecttest.Deployment(corev1.Container{Name: "app"})
		catalogtest.WriteRecord(d, record.Checksums{}, objecttest.NoonPlus(10))
		template := catalogtest.MustWorkload(d).Template
		d.Annotations[annotation.BasisAnnotation] = fmt.Sprintf(
			`{"scheme":%q,"template":%q,"checksums":%q,"written":%q,"contradicted":%[4]q,"restarts":3,"restarted":%[4]q}`,
			record.KeyedScheme, template, checksumOfText(d.Annotations[annotation.ChecksumsAnnotation]), forged)
		applied, _ := record.ReadRecord(&d.ObjectMeta, annotation.OwnershipOf(&d.ObjectMeta), &d.Spec.Template, template)
		if !applied.Trusted || applied.Budget.Restarts != 3 {
			t.Fatalf("%+v", applied)
		}
		if !applied.Written.IsZero() || !applied.Budget.Last.IsZero() || applied.Marked {
			t.Errorf("kept the times of %+v", applied)
		}
		if _, err := applied.Checksums.Annotations(record.Basis{Written: applied.Written, Budget: applied.Budget, Contradicted: applied.Contradicted}); err != nil {
			t.Error(err)
		}
	}
}
