package controller

import (
	"context"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kubernetes-deployment-restart-controller/catalog/content"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/workload"
	"kubernetes-deployment-restart-controller/internal/custom"
)

// The tables of kinds. The controller watches, reads, patches and counts a kind, and needs
// permissions for it, because it has a row here; no other part of this package distinguishes
// kinds.

// configKind is a kind of config, of the core API group unless it has another one.
type configKind struct {
	config   names.ConfigKind
	name     string // as the API spells it
	resource string // plural, as in the API's paths
	group    schema.GroupVersion
	// fieldSelector leaves out objects that no container reads; it is empty if there are no such
	// objects.
	fieldSelector string
	// read reduces an object, and reports whether it is of this kind.
	read func(object any) (content.Config, bool)
}

// workloadKind is a kind of workload, of the API group apps unless it is custom.
type workloadKind struct {
	workload names.WorkloadKind
	resource string // plural, as in the API's paths
	// parts returns the parts of an object, and reports whether it is of this kind.
	parts func(object any) (workload.Parts, bool)
	// revisions keep the workload's earlier pod templates. Every kind has them.
	revisions *revisionKind
	// custom is nil for the kinds that are part of Kubernetes.
	custom *customKind
}

// revisionKind is a kind of object that keeps pod templates of workloads, of the API group apps.
type revisionKind struct {
	// resource is plural, as in the API's paths. It is empty if the kind is not known.
	resource string
	// ownPods means that the revisions control the pods, and not the workload itself.
	ownPods bool
	// present returns a function that recognizes the pods of the workload's present template.
	present func(podReader, context.Context, *workload.Workload) (func(origin) bool, error)
}

// ConfigKinds are in the order in which they are listed. They come before the workloads, so that
// what the catalog knows about a config's edits is older than what a watch shows of the
// workloads.
var configKinds = []*configKind{
	{config: names.ConfigMap, name: "ConfigMap", resource: "configmaps", read: reader(content.NewConfigMap)},
	{
		config: names.Secret, name: "Secret", resource: "secrets", read: reader(content.NewSecret),
		fieldSelector: "type!=helm.sh/release.v1", // Helm keeps its releases in large Secrets
	},
}

// secretProviderClasses are only named: what counts is what other objects report of the pods. See [Controller.watchMounts].
var secretProviderClasses = &configKind{
	config: names.SecretProviderClass, name: "SecretProviderClass", resource: "secretproviderclasses", group: custom.MountKind.GroupVersion(),
}

// workloadKinds are in the order in which they are listed.
var workloadKinds = []*workloadKind{
	{workload: names.Deployment, resource: "deployments", parts: reader(workload.PartsOfDeployment), revisions: replicaSets},
	{workload: names.StatefulSet, resource: "statefulsets", parts: reader(workload.PartsOfStatefulSet), revisions: controllerRevisions},
	{workload: names.DaemonSet, resource: "daemonsets", parts: reader(workload.PartsOfDaemonSet), revisions: controllerRevisions},
}

var (
	replicaSets         = &revisionKind{resource: "replicasets", ownPods: true, present: podReader.presentReplicaSet}
	controllerRevisions = &revisionKind{resource: "controllerrevisions", present: podReader.noEarlierRevision}
)

// reader makes a function that reads one API type report whether an object is of that type.
func reader[T, R any](read func(*T) R) func(any) (R, bool) {
	return func(object any) (result R, isOfType bool) {
		typed, isOfType := object.(*T)
		if isOfType {
			result = read(typed)
		}
		return result, isOfType
	}
}

func (k *configKind) kind() schema.GroupVersionKind {
	if k.group.Empty() {
		return corev1.SchemeGroupVersion.WithKind(k.name)
	}
	return k.group.WithKind(k.name)
}

func (k *workloadKind) kind() schema.GroupVersionKind { return kindNamed(k.workload) }

// kindNamed returns the name under which the program knows a kind. Only with the kinds of Kubernetes the API knows it under
// that name, too; see [customKinds.spelled].
func kindNamed(kind names.WorkloadKind) schema.GroupVersionKind {
	if kind.IsCustom() {
		return schema.GroupVersionKind{Kind: string(kind)}
	}
	return appsv1.SchemeGroupVersion.WithKind(string(kind))
}

func (k *revisionKind) groupResource() schema.GroupVersionResource {
	return appsv1.SchemeGroupVersion.WithResource(k.resource)
}

// kindOfConfig returns the row of a kind of config. The kind must have a row, as every kind in
// the catalog does.
func kindOfConfig(kind names.ConfigKind) *configKind {
	if kind == names.SecretProviderClass {
		return secretProviderClasses
	}
	return mustFind(configKinds, func(k *configKind) bool { return k.config == kind }, kind)
}

// kindOfWorkload returns the row of a kind of workload; see [kindOfConfig].
func kindOfWorkload(kind names.WorkloadKind) *workloadKind {
	return mustFind(workloadKinds, func(k *workloadKind) bool { return k.workload == kind }, kind)
}

func mustFind[K any](kinds []*K, isWanted func(*K) bool, name any) *K {
	i := slices.IndexFunc(kinds, isWanted)
	if i < 0 {
		panic(fmt.Sprintf("the kind %v has no row", name))
	}
	return kinds[i]
}

// ConfigKinds returns the kinds of configs to watch.
func (o *Options) configKinds() []*configKind {
	return slices.DeleteFunc(slices.Clone(configKinds), func(k *configKind) bool {
		return len(o.Configs) > 0 && !slices.Contains(o.Configs, k.config)
	})
}

// countingKinds returns the kinds of configs that count.
func (o *Options) countingKinds() []names.ConfigKind {
	var kinds []names.ConfigKind
	for _, k := range o.configKinds() {
		kinds = append(kinds, k.config)
	}
	if o.CSI {
		kinds = append(kinds, names.SecretProviderClass)
	}
	return kinds
}

// watchesSecrets reports whether checksums of secret content are written somewhere, with a key.
func (o *Options) watchesSecrets() bool {
	return o.CSI || slices.ContainsFunc(o.configKinds(), func(k *configKind) bool { return k.config.IsSecret() })
}
