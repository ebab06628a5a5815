package catalogtest

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"kubernetes-deployment-restart-controller/catalog/annotation"
	"kubernetes-deployment-restart-controller/catalog/content"
	"kubernetes-deployment-restart-controller/catalog/dialect"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/objecttest"
	"kubernetes-deployment-restart-controller/catalog/optin"
	"kubernetes-deployment-restart-controller/catalog/policy"
	"kubernetes-deployment-restart-controller/catalog/record"
	"kubernetes-deployment-restart-controller/catalog/template"
	"kubernetes-deployment-restart-controller/catalog/workload"
)

// TestKey is the key of Secrets' checksums in these tests.
var TestKey = content.NewChecksumKey([content.ChecksumKeySize]byte([]byte("a key that no random source made")))

// PartsOf returns the parts of a Deployment.
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
	annotations, err := checksums.Annotations(record.Basis{Template: w.Template, Key: TestKey, Written: at, Timestamp: w.Timestamp, OptedIn: w.OptedIn, Without: without})
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

// RefsOf returns the names of workloads.
func RefsOf(workloads []*workload.Workload) []names.WorkloadRef {
	var refs []names.WorkloadRef
	for _, workload := range workloads {
		refs = append(refs, workload.Ref)
	}
	return refs
}

// Usual is the spacing of restarts in these tests.
var Usual = policy.Spacing{Grace: 5 * time.Second, Limit: 10 * time.Minute}

// AllBut selects all keys but some, sorted.
func AllBut(hidden ...string) template.Selection {
	s := template.Selection{ByRules: true}
	for _, key := range hidden {
		s.Names = append(s.Names, "-"+key)
	}
	return s
}

// BasisFor returns the basis annotation of a restart for the given causes.
func BasisFor(t rapid.TB, checksums record.Checksums, restarted []record.Restarted) string {
	annotations, err := checksums.Annotations(record.Basis{
		Key: TestKey, Written: objecttest.NoonPlus(0.123456789), Timestamp: "2026-03-01T12:00:00.1Z", Ran: record.AllRan, RestartedFor: restarted,
		Budget: policy.Budget{Restarts: 4, Last: objecttest.NoonPlus(0.123456789)}, Contradicted: objecttest.NoonPlus(0.123456789),
	})
	if err != nil {
		t.Fatal(err)
	}
	return annotations[annotation.BasisAnnotation]
}

// RecordedFor is a Deployment that reads the ConfigMap web and the Secret tls, and whose record has
// the given member.
func RecordedFor(member string) *appsv1.Deployment {
	d := objecttest.Deployment(corev1.Container{Name: "app", EnvFrom: append(objecttest.ReadsAll("web", false).EnvFrom, objecttest.ReadsSecret("tls").EnvFrom...)})
	WriteRecord(d, record.Checksums{objecttest.ConfigMapRef("web"): 1}, objecttest.NoonPlus(10))
	d.Annotations[annotation.BasisAnnotation] = strings.Replace(d.Annotations[annotation.BasisAnnotation], `{`, `{`+member+`,`, 1)
	return d
}

// VolumeOfClass is the volume v of a class of the secrets store driver.
func VolumeOfClass(class string) corev1.Volume {
	return corev1.Volume{Name: "v", VolumeSource: corev1.VolumeSource{CSI: &corev1.CSIVolumeSource{
		Driver: template.SecretsStoreDriver, VolumeAttributes: map[string]string{template.ClassAttribute: class},
	}}}
}

// VersionsOf are mounted objects of these versions.
func VersionsOf(versions []string) (objects []content.CSIObject) {
	for i, version := range versions {
		objects = append(objects, content.CSIObject{ID: fmt.Sprintf("object-%d", i), Version: version})
	}
	return objects
}

// ManyChecksums returns n checksums of configs that are not referenced.
func ManyChecksums(n int) record.Checksums {
	checksums := record.Checksums{}
	for i := range n {
		checksums[objecttest.ConfigMapRef(fmt.Sprint("other-", i))] = names.Checksum(i)
	}
	return checksums
}

// ReadsConfigs is a workload that reads so many configs, from the given one on.
func ReadsConfigs(n, first int) workload.Workload {
	w := MustWorkload(objecttest.Deployment(corev1.Container{Name: "app"}))
	for i := range n {
		w.References = append(w.References, template.Reference{Config: objecttest.ConfigMapRef(fmt.Sprintf("config-%06d", first+i)), Channel: template.Volume})
	}
	return w
}

// MountIn is what a pod has mounted of the class db since noon.
func MountIn(pod types.UID, versions ...string) content.CSIMount {
	meta := objecttest.StatusMeta(pod)
	return content.NewCSIMount(&meta, "db", VersionsOf(versions))
}
