package catalogtest

import (
	"maps"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubernetes-deployment-restart-controller/catalog/annotation"
	"kubernetes-deployment-restart-controller/catalog/content"
	"kubernetes-deployment-restart-controller/catalog/dialect"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/objecttest"
	"kubernetes-deployment-restart-controller/catalog/optin"
	"kubernetes-deployment-restart-controller/catalog/record"
	"kubernetes-deployment-restart-controller/catalog/workload"
)

// TestKey is the key of Secrets' checksums in these tests.
var TestKey = content.NewChecksumKey([content.ChecksumKeySize]byte([]byte("a key that no random source made")))

func PartsOf(d *appsv1.Deployment) *workload.Parts {
	parts := &workload.Parts{Meta: &d.ObjectMeta, Selector: d.Spec.Selector, Template: &d.Spec.Template, Idle: objecttest.WantsNone(d.Spec.Replicas)}
	if d.Spec.Paused {
		parts.Hold = workload.Paused
	}
	return parts
}

// Understanding are the rules of all tests: without another tool's annotations they change nothing.
var Understanding = optin.Rules{Dialects: []optin.Dialect{optin.Reloader, optin.Wave}}

// MustWorkload reduces a Deployment whose selector is valid.
func MustWorkload(d *appsv1.Deployment) workload.Workload {
	parts := dialect.Understand(&Understanding, names.Deployment, *PartsOf(d))
	workload, err := workload.NewWorkload(names.Deployment, &parts)
	if err != nil {
		panic(err)
	}
	return workload
}

// WriteRecord does to a Deployment what a patch of the controller does at the
// given time.
func WriteRecord(d *appsv1.Deployment, checksums record.Checksums, at time.Time) {
	w := MustWorkload(d)
	WriteRecordWithout(d, checksums, record.Without{Filter: w.Filter()}, at)
}

// WriteRecordWithout is WriteRecord of a record that does not cover everything.
func WriteRecordWithout(d *appsv1.Deployment, checksums record.Checksums, without record.Without, at time.Time) {
	w := MustWorkload(d)
	annotations, err := checksums.Annotations(record.Basis{Template: w.Template, Key: TestKey, Written: at, Timestamp: w.Timestamp, Without: without})
	if err != nil {
		panic(err)
	}
	maps.Copy(d.Annotations, annotations)
	d.ManagedFields = slices.DeleteFunc(d.ManagedFields, func(entry metav1.ManagedFieldsEntry) bool {
		return entry.Manager == annotation.FieldManager
	})
	d.ManagedFields = append(d.ManagedFields,
		objecttest.Owns(annotation.FieldManager, at, objecttest.AnnotationField(annotation.ChecksumsAnnotation), objecttest.AnnotationField(annotation.BasisAnnotation)))
}

func RefsOf(workloads []*workload.Workload) []names.WorkloadRef {
	var refs []names.WorkloadRef
	for _, workload := range workloads {
		refs = append(refs, workload.Ref)
	}
	return refs
}
