package catalog

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
)

// noon is when the stories of these tests begin.
var noon = time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)

// noonPlus is a time some seconds after noon, or before it.
func noonPlus(seconds float64) time.Time {
	return noon.Add(time.Duration(seconds * float64(time.Second)))
}

// testKey is the key of Secrets' checksums in these tests.
var testKey = NewChecksumKey([ChecksumKeySize]byte([]byte("a key that no random source made")))

func stamp(t time.Time) *metav1.Time { return &metav1.Time{Time: t} }

func pointer[T any](value T) *T { return &value }

func configMapRef(name string) ConfigRef { return ConfigRef{ConfigMap, "ns", name} }
func secretRef(name string) ConfigRef    { return ConfigRef{Secret, "ns", name} }
func deploymentRef(name string) WorkloadRef {
	return WorkloadRef{Deployment, "ns", name}
}

// configMap is a ConfigMap created at noon.
func configMap(name string, data map[string]string) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, CreationTimestamp: metav1.Time{Time: noon}},
		Data:       data,
	}
}

// owns is a managedFields entry of somebody whose last write was at the given
// time, and who owns fields such as "f:data/f:key".
func owns(manager string, at time.Time, paths ...string) metav1.ManagedFieldsEntry {
	return metav1.ManagedFieldsEntry{
		Manager: manager, Operation: metav1.ManagedFieldsOperationUpdate, Time: stamp(at),
		FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(fieldsJSON(paths)),
	}
}

// fieldsJSON nests paths like the API server does.
func fieldsJSON(paths []string) string {
	members := map[string][]string{}
	for _, path := range paths {
		member, rest, _ := strings.Cut(path, "/")
		members[member] = append(members[member], rest)
	}
	delete(members, "")
	var encoded []string
	for _, member := range slices.Sorted(maps.Keys(members)) {
		encoded = append(encoded, fmt.Sprintf("%q:%s", member, fieldsJSON(members[member])))
	}
	return "{" + strings.Join(encoded, ",") + "}"
}

// annotationField is the path of an annotation that has no slash in its name.
func annotationField(name string) string { return "f:metadata/f:annotations/f:" + name }

// deployment is a Deployment with one container that opted in at noon, when
// it was created.
func deployment(container corev1.Container, volumes ...corev1.Volume) *appsv1.Deployment {
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "ns", Name: "web", UID: types.UID("uid-1"), ResourceVersion: "1",
			CreationTimestamp: metav1.Time{Time: noon},
			Annotations:       map[string]string{EnabledAnnotation: Enabled},
			ManagedFields:     []metav1.ManagedFieldsEntry{owns("kubectl", noon, annotationField(EnabledAnnotation))},
		},
		Spec: appsv1.DeploymentSpec{
			Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "web"}},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{container}, Volumes: volumes},
			},
		},
	}
}

var noTemplate = &corev1.PodTemplateSpec{}

func wantsNone(replicas *int32) bool { return replicas != nil && *replicas == 0 }

func partsOf(d *appsv1.Deployment) *Parts {
	parts := &Parts{Meta: &d.ObjectMeta, Selector: d.Spec.Selector, Template: &d.Spec.Template, Idle: wantsNone(d.Spec.Replicas)}
	if d.Spec.Paused {
		parts.Hold = Paused
	}
	return parts
}

// understanding are the rules of all tests: without another tool's annotations they change nothing.
var understanding = OptInRules{Dialects: []Dialect{Reloader, Wave}}

// reducedConfigMap reduces a ConfigMap as the watch does.
func reducedConfigMap(cm *corev1.ConfigMap) Config {
	config := NewConfigMap(cm)
	understanding.UnderstandConfig(&config, cm.Annotations)
	return config
}

// mustWorkload reduces a Deployment whose selector is valid.
func mustWorkload(d *appsv1.Deployment) Workload {
	parts := understanding.Understand(Deployment, *partsOf(d))
	workload, err := NewWorkload(Deployment, &parts)
	if err != nil {
		panic(err)
	}
	return workload
}

// writeRecord does to a Deployment what a patch of the controller does at the
// given time.
func writeRecord(d *appsv1.Deployment, checksums Checksums, at time.Time) {
	w := mustWorkload(d)
	writeRecordWithout(d, checksums, Without{Filter: w.Filter()}, at)
}

// writeRecordWithout is writeRecord of a record that does not cover everything.
func writeRecordWithout(d *appsv1.Deployment, checksums Checksums, without Without, at time.Time) {
	w := mustWorkload(d)
	annotations, err := checksums.Annotations(Basis{Template: w.Template, Key: testKey, Written: at, Timestamp: w.Timestamp, Without: without})
	if err != nil {
		panic(err)
	}
	maps.Copy(d.Annotations, annotations)
	d.ManagedFields = slices.DeleteFunc(d.ManagedFields, func(entry metav1.ManagedFieldsEntry) bool {
		return entry.Manager == FieldManager
	})
	d.ManagedFields = append(d.ManagedFields,
		owns(FieldManager, at, annotationField(ChecksumsAnnotation), annotationField(BasisAnnotation)))
}

// setTimestamp sets the restart timestamp of the pod template, or removes it if it is empty.
func setTimestamp(d *appsv1.Deployment, timestamp string) {
	annotations := maps.Clone(d.Spec.Template.Annotations)
	if delete(annotations, TimestampAnnotation); timestamp != "" {
		annotations = map[string]string{TimestampAnnotation: timestamp}
	}
	d.Spec.Template.Annotations = annotations
}

// Containers and volumes that read ConfigMaps.

func readsAll(name string, optional bool) corev1.Container {
	return corev1.Container{Name: "app", EnvFrom: []corev1.EnvFromSource{{
		ConfigMapRef: &corev1.ConfigMapEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: name}, Optional: &optional},
	}}}
}

func readsKey(name, key string, optional bool) corev1.Container {
	return corev1.Container{Name: "app", Env: []corev1.EnvVar{{Name: "X", ValueFrom: &corev1.EnvVarSource{
		ConfigMapKeyRef: &corev1.ConfigMapKeySelector{
			LocalObjectReference: corev1.LocalObjectReference{Name: name}, Key: key, Optional: &optional,
		},
	}}}}
}

func mounts(mounts ...corev1.VolumeMount) corev1.Container {
	return corev1.Container{Name: "app", VolumeMounts: mounts}
}

func volumeOf(name string, optional bool, items ...corev1.KeyToPath) corev1.Volume {
	return corev1.Volume{Name: "v", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{
		LocalObjectReference: corev1.LocalObjectReference{Name: name}, Items: items, Optional: &optional,
	}}}
}

// startedAt is a pod whose only container runs since the given time, and whose
// volumes were mounted then.
func startedAt(t time.Time) Pod {
	return Pod{Mounted: t, Started: []Start{{"app", t}}}
}

func refsOf(workloads []*Workload) []WorkloadRef {
	var refs []WorkloadRef
	for _, workload := range workloads {
		refs = append(refs, workload.Ref)
	}
	return refs
}

func sortedNames(set map[string]bool) []string { return slices.Sorted(maps.Keys(set)) }

// listOf is what a catalog takes in of a list.
func listOf[T any](items ...T) []*T {
	list := make([]*T, len(items))
	for i := range items {
		list[i] = &items[i]
	}
	return list
}

// strip removes annotations of the record.
func (s *story) strip(annotations ...string) {
	kept := s.deployment.ManagedFields[:0:0]
	for _, entry := range s.deployment.ManagedFields {
		if entry.Manager != FieldManager {
			kept = append(kept, entry)
		}
	}
	for _, annotation := range annotations {
		delete(s.deployment.Annotations, annotation)
	}
	if _, stays := s.deployment.Annotations[ChecksumsAnnotation]; stays {
		kept = append(kept, owns(FieldManager, noonPlus(100), annotationField(ChecksumsAnnotation)))
	}
	s.deployment.ManagedFields = kept
}
