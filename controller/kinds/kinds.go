package kinds

import (
	"context"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kubernetes-deployment-restart-controller/catalog/content"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/optin"
	"kubernetes-deployment-restart-controller/catalog/workload"
	"kubernetes-deployment-restart-controller/internal/custom"
)

// The tables of kinds. The controller watches, reads, patches and counts a kind, and needs
// permissions for it, because it has a row here; no other part of this package distinguishes
// kinds.

// ConfigKind is a kind of config, of the core API group unless it has another one.
type ConfigKind struct {
	Config   names.ConfigKind
	Name     string // as the API spells it
	Resource string // plural, as in the API's paths
	group    schema.GroupVersion
	// FieldSelector leaves out objects that no container reads; it is empty if there are no such
	// objects.
	FieldSelector string
	// Read reduces an object, and reports whether it is of this kind.
	Read func(object any) (content.Config, bool)
}

// WorkloadKind is a kind of workload, of the API group apps unless it is custom.
type WorkloadKind struct {
	Workload names.WorkloadKind
	Resource string // plural, as in the API's paths
	// Parts returns the parts of an object, and reports whether it is of this kind.
	Parts func(object any) (workload.Parts, bool)
	// Revisions keep the workload's earlier pod templates. Every kind has them.
	Revisions *RevisionKind
	// Custom is nil for the kinds that are part of Kubernetes.
	Custom *CustomKind
}

// RevisionKind is a kind of object that keeps pod templates of workloads, of the API group apps.
type RevisionKind struct {
	// resource is plural, as in the API's paths. It is empty if the kind is not known.
	resource string
	// ownPods means that the revisions control the pods, and not the workload itself.
	ownPods bool
	// Present returns a function that recognizes the pods of the workload's present template.
	Present func(PodReader, context.Context, *workload.Workload) (func(Origin) bool, error)
}

// ConfigKinds are in the order in which they are listed. They come before the workloads, so that
// what the catalog knows about a config's edits is older than what a watch shows of the
// workloads.
var ConfigKinds = []*ConfigKind{
	{Config: names.ConfigMap, Name: "ConfigMap", Resource: "configmaps", Read: Reader(content.NewConfigMap)},
	{
		Config: names.Secret, Name: "Secret", Resource: "secrets", Read: Reader(content.NewSecret),
		FieldSelector: "type!=helm.sh/release.v1", // Helm keeps its releases in large Secrets
	},
}

// secretProviderClasses are only named: what counts is what other objects report of the pods.
var secretProviderClasses = &ConfigKind{
	Config: names.SecretProviderClass, Name: "SecretProviderClass", Resource: "secretproviderclasses", group: custom.MountKind.GroupVersion(),
}

// WorkloadKinds are in the order in which they are listed.
var WorkloadKinds = []*WorkloadKind{
	{Workload: names.Deployment, Resource: "deployments", Parts: Reader(workload.PartsOfDeployment), Revisions: replicaSets},
	{Workload: names.StatefulSet, Resource: "statefulsets", Parts: Reader(workload.PartsOfStatefulSet), Revisions: ControllerRevisions},
	{Workload: names.DaemonSet, Resource: "daemonsets", Parts: Reader(workload.PartsOfDaemonSet), Revisions: ControllerRevisions},
}

var (
	replicaSets = &RevisionKind{resource: "replicasets", ownPods: true, Present: PodReader.presentReplicaSet}
	// ControllerRevisions keep the templates of StatefulSets and DaemonSets.
	ControllerRevisions = &RevisionKind{resource: "controllerrevisions", Present: PodReader.NoEarlierRevision}
)

// Reader makes a function that reads one API type report whether an object is of that type.
func Reader[T, R any](read func(*T) R) func(any) (R, bool) {
	return func(object any) (result R, isOfType bool) {
		typed, isOfType := object.(*T)
		if isOfType {
			result = read(typed)
		}
		return result, isOfType
	}
}

// GVK is how the API names the kind.
func (k *ConfigKind) GVK() schema.GroupVersionKind {
	if k.group.Empty() {
		return corev1.SchemeGroupVersion.WithKind(k.Name)
	}
	return k.group.WithKind(k.Name)
}

// GVK is how the program names the kind.
func (k *WorkloadKind) GVK() schema.GroupVersionKind { return kindNamed(k.Workload) }

// kindNamed returns the name under which the program knows a kind. Only with the kinds of Kubernetes the API knows it under
// that name, too; see [Custom.spelled].
func kindNamed(kind names.WorkloadKind) schema.GroupVersionKind {
	if kind.IsCustom() {
		return schema.GroupVersionKind{Kind: string(kind)}
	}
	return appsv1.SchemeGroupVersion.WithKind(string(kind))
}

func (k *RevisionKind) groupResource() schema.GroupVersionResource {
	return appsv1.SchemeGroupVersion.WithResource(k.resource)
}

// KindOfConfig returns the row of a kind of config. The kind must have a row, as every kind in
// the catalog does.
func KindOfConfig(kind names.ConfigKind) *ConfigKind {
	if kind == names.SecretProviderClass {
		return secretProviderClasses
	}
	return mustFind(ConfigKinds, func(k *ConfigKind) bool { return k.Config == kind }, kind)
}

// KindOfWorkload returns the row of a kind of workload; see [KindOfConfig].
func KindOfWorkload(kind names.WorkloadKind) *WorkloadKind {
	return mustFind(WorkloadKinds, func(k *WorkloadKind) bool { return k.Workload == kind }, kind)
}

func mustFind[K any](kinds []*K, isWanted func(*K) bool, name any) *K {
	i := slices.IndexFunc(kinds, isWanted)
	if i < 0 {
		panic(fmt.Sprintf("the kind %v has no row", name))
	}
	return kinds[i]
}

// OnlyNamed selects the object with a name in a list.
func OnlyNamed(name string) metav1.ListOptions {
	return metav1.ListOptions{FieldSelector: fields.OneTermEqualSelector(metav1.ObjectNameField, name).String()}
}

// NamespaceKind is how Namespaces are read, which are watched only if the rules need them.
type NamespaceKind struct{ Rules *optin.Rules }

// GVK is how the API names the kind.
func (NamespaceKind) GVK() schema.GroupVersionKind {
	return corev1.SchemeGroupVersion.WithKind("Namespace")
}
