package workload_test

import (
	"maps"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubernetes-deployment-restart-controller/catalog/annotation"
	"kubernetes-deployment-restart-controller/catalog/catalogtest"
	"kubernetes-deployment-restart-controller/catalog/objecttest"
	"kubernetes-deployment-restart-controller/catalog/record"
)

// The owner of the annotation writes again with each release, and the controller with each record.
func TestARecordKeepsSinceWhenAWorkloadHasOptedIn(t *testing.T) {
	for name, test := range map[string]struct {
		writer string
		since  time.Time
		want   time.Time
	}{
		"of the controller":       {annotation.FieldManager, objecttest.NoonPlus(5), objecttest.NoonPlus(5)},
		"that says nothing":       {annotation.FieldManager, time.Time{}, objecttest.NoonPlus(57)},
		"that is later":           {annotation.FieldManager, objecttest.NoonPlus(99), objecttest.NoonPlus(57)},
		"of somebody else":        {"kubectl", objecttest.NoonPlus(5), objecttest.NoonPlus(60)},
		"with a time of no clock": {annotation.FieldManager, time.Date(1, 1, 2, 0, 0, 0, 0, time.UTC), objecttest.NoonPlus(57)},
	} {
		d := objecttest.Deployment(objecttest.ReadsAll("web", false))
		annotations, err := record.Checksums{objecttest.ConfigMapRef("web"): 1}.Annotations(record.Basis{Template: record.Fingerprint{7}, Written: objecttest.NoonPlus(57), OptedIn: test.since})
		if err != nil {
			t.Fatal(err)
		}
		maps.Copy(d.Annotations, annotations)
		d.ManagedFields = []metav1.ManagedFieldsEntry{
			objecttest.Owns("kubectl", objecttest.NoonPlus(60), objecttest.AnnotationField(annotation.EnabledAnnotation)),
			objecttest.Owns(test.writer, objecttest.NoonPlus(57), objecttest.AnnotationField(annotation.ChecksumsAnnotation), objecttest.AnnotationField(annotation.BasisAnnotation)),
		}
		if got := catalogtest.MustWorkload(d); !got.OptedIn.Equal(test.want) || got.Record.Trusted {
			t.Errorf("a record %s: opted in by %s, want %s", name, got.OptedIn, test.want)
		}
	}
}
