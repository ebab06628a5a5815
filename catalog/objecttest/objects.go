package objecttest

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

	"kubernetes-deployment-restart-controller/catalog/annotation"
	"kubernetes-deployment-restart-controller/catalog/names"
)

// Noon is when the stories of these tests begin.
var Noon = time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)

// NoonPlus is a time some seconds after noon, or before it.
func NoonPlus(seconds float64) time.Time {
	return Noon.Add(time.Duration(seconds * float64(time.Second)))
}

// Stamp is a time as API objects have it.
func Stamp(t time.Time) *metav1.Time { return &metav1.Time{Time: t} }

// Pointer points to a value.
func Pointer[T any](value T) *T { return &value }

// ConfigMapRef names a ConfigMap of the namespace of all stories.
func ConfigMapRef(name string) names.ConfigRef {
	return names.ConfigRef{Kind: names.ConfigMap, Namespace: "ns", Name: name}
}

// SecretRef names a Secret of that namespace.
func SecretRef(name string) names.ConfigRef {
	return names.ConfigRef{Kind: names.Secret, Namespace: "ns", Name: name}
}

// DeploymentRef names a Deployment of that namespace.
func DeploymentRef(name string) names.WorkloadRef {
	return names.WorkloadRef{Kind: names.Deployment, Namespace: "ns", Name: name}
}

// ConfigMap is a ConfigMap created at noon.
func ConfigMap(name string, data map[string]string) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, CreationTimestamp: metav1.Time{Time: Noon}},
		Data:       data,
	}
}

// Owns is a managedFields entry of somebody whose last write was at the given
// time, and who owns fields such as "f:data/f:key".
func Owns(manager string, at time.Time, paths ...string) metav1.ManagedFieldsEntry {
	return metav1.ManagedFieldsEntry{
		Manager: manager, Operation: metav1.ManagedFieldsOperationUpdate, Time: Stamp(at),
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

// AnnotationField is the path of an annotation that has no slash in its name.
func AnnotationField(name string) string { return "f:metadata/f:annotations/f:" + name }

// Deployment is a Deployment with one container that opted in at noon, when
// it was created.
func Deployment(container corev1.Container, volumes ...corev1.Volume) *appsv1.Deployment {
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "ns", Name: "web", UID: types.UID("uid-1"), ResourceVersion: "1",
			CreationTimestamp: metav1.Time{Time: Noon},
			Annotations:       map[string]string{annotation.EnabledAnnotation: annotation.Enabled},
			ManagedFields:     []metav1.ManagedFieldsEntry{Owns("kubectl", Noon, AnnotationField(annotation.EnabledAnnotation))},
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

// NoTemplate is a pod template that says nothing.
var NoTemplate = &corev1.PodTemplateSpec{}

// WantsNone reports whether a workload asks for no pods.
func WantsNone(replicas *int32) bool { return replicas != nil && *replicas == 0 }

// SetTimestamp sets the restart timestamp of the pod template, or removes it if it is empty.
func SetTimestamp(d *appsv1.Deployment, timestamp string) {
	annotations := maps.Clone(d.Spec.Template.Annotations)
	if delete(annotations, annotation.TimestampAnnotation); timestamp != "" {
		annotations = map[string]string{annotation.TimestampAnnotation: timestamp}
	}
	d.Spec.Template.Annotations = annotations
}

// Containers and volumes that read ConfigMaps.

// ReadsAll is a container that takes its environment from a ConfigMap.
func ReadsAll(name string, optional bool) corev1.Container {
	return corev1.Container{Name: "app", EnvFrom: []corev1.EnvFromSource{{
		ConfigMapRef: &corev1.ConfigMapEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: name}, Optional: &optional},
	}}}
}

// ReadsKey is a container with a variable from a key of a ConfigMap.
func ReadsKey(name, key string, optional bool) corev1.Container {
	return corev1.Container{Name: "app", Env: []corev1.EnvVar{{Name: "X", ValueFrom: &corev1.EnvVarSource{
		ConfigMapKeyRef: &corev1.ConfigMapKeySelector{
			LocalObjectReference: corev1.LocalObjectReference{Name: name}, Key: key, Optional: &optional,
		},
	}}}}
}

// Mounts is a container with volumes.
func Mounts(mounts ...corev1.VolumeMount) corev1.Container {
	return corev1.Container{Name: "app", VolumeMounts: mounts}
}

// VolumeOf is the volume v of a ConfigMap.
func VolumeOf(name string, optional bool, items ...corev1.KeyToPath) corev1.Volume {
	return corev1.Volume{Name: "v", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{
		LocalObjectReference: corev1.LocalObjectReference{Name: name}, Items: items, Optional: &optional,
	}}}
}

// SortedNames returns the members of a set in order.
func SortedNames(set map[string]bool) []string { return slices.Sorted(maps.Keys(set)) }

// ListOf is what a catalog takes in of a list.
func ListOf[T any](items ...T) []*T {
	list := make([]*T, len(items))
	for i := range items {
		list[i] = &items[i]
	}
	return list
}

// Secret is a Secret created at noon.
func Secret(name string, content map[string]string) *corev1.Secret {
	s := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, CreationTimestamp: metav1.Time{Time: Noon}},
		Data:       map[string][]byte{},
	}
	for key, value := range content {
		s.Data[key] = []byte(value)
	}
	return s
}

// ReadsSecret is a container that takes its environment from a Secret.
func ReadsSecret(name string) corev1.Container {
	return corev1.Container{Name: "app", EnvFrom: []corev1.EnvFromSource{{
		SecretRef: &corev1.SecretEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: name}},
	}}}
}

// Data is the content of a config.
type Data = map[string]string

// Literal is a variable with a value.
func Literal(name, value string) corev1.EnvVar { return corev1.EnvVar{Name: name, Value: value} }

// Taken takes a variable from a key of a ConfigMap.
func Taken(name, config, key string, optional bool) corev1.EnvVar {
	variable := ReadsKey(config, key, optional).Env[0]
	variable.Name = name
	return variable
}

// ManyLiterals are so many variables with values.
func ManyLiterals(n int) (all []corev1.EnvVar) {
	for i := range n {
		all = append(all, Literal(KeyNamed(i), "1"))
	}
	return all
}

// OthersFlags is the ConfigMap flags of the namespace others, shared with the given namespaces.
func OthersFlags(content Data, readers string) *corev1.ConfigMap {
	cm := ConfigMap("flags", content)
	if cm.Namespace = "others"; readers != "" {
		cm.Annotations = map[string]string{annotation.ReadersAnnotation: readers}
	}
	return cm
}

// FlagsThere names what [OthersFlags] returns.
var FlagsThere = names.ConfigRef{Kind: names.ConfigMap, Namespace: "others", Name: "flags"}

// StatusMeta is the metadata of the status of a pod that mounts the class db since noon.
func StatusMeta(pod types.UID) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Namespace: "ns", Name: string(pod) + "-ns-db", CreationTimestamp: metav1.Time{Time: Noon}, Generation: 1,
		OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: string(pod), UID: pod}},
		ManagedFields:   []metav1.ManagedFieldsEntry{Owns("driver", Noon, "f:status/f:objects")},
	}
}

// AllConfigs stands for configs all of which are known.
func AllConfigs(names.ConfigRef) bool { return true }
