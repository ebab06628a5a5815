package apiclient

import (
	"context"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/gentype"
	"k8s.io/client-go/rest"
)

// Objects reads and writes individual objects of one resource in one namespace. It returns
// the errors of k8s.io/apimachinery/pkg/api/errors.
type Objects[T any] interface {
	Get(ctx context.Context, name string, options metav1.GetOptions) (T, error)
	Create(ctx context.Context, object T, options metav1.CreateOptions) (T, error)
	Update(ctx context.Context, object T, options metav1.UpdateOptions) (T, error)
	Patch(ctx context.Context, name string, kind types.PatchType, body []byte, options metav1.PatchOptions, subresources ...string) (T, error)
	Delete(ctx context.Context, name string, options metav1.DeleteOptions) error
}

type (
	// Deployments reads and writes Deployments.
	Deployments = Objects[*appsv1.Deployment]
	// ReplicaSets reads and writes ReplicaSets.
	ReplicaSets = Objects[*appsv1.ReplicaSet]
	// ConfigMaps reads and writes ConfigMaps.
	ConfigMaps = Objects[*corev1.ConfigMap]
	// Secrets reads and writes Secrets.
	Secrets = Objects[*corev1.Secret]
	// Leases reads and writes Leases.
	Leases = Objects[*coordinationv1.Lease]
)

// Apps gives access to the objects of the API group apps.
type Apps interface {
	RESTClient() rest.Interface
	Deployments(namespace string) Deployments
	ReplicaSets(namespace string) ReplicaSets
}

// Core gives access to the objects of the core API group.
type Core interface {
	RESTClient() rest.Interface
	ConfigMaps(namespace string) ConfigMaps
	Secrets(namespace string) Secrets
}

// NewCore makes a client of the core group from a REST client of that group.
func NewCore(client rest.Interface) Core { return group{client} }

// group is an API group, in one version.
type group struct{ client rest.Interface }

// RESTClient returns the REST client of the group.
func (g group) RESTClient() rest.Interface { return g.client }

// Deployments returns the Deployments of a namespace.
func (g group) Deployments(namespace string) Deployments {
	return objects(g.client, "deployments", namespace, func() *appsv1.Deployment { return &appsv1.Deployment{} })
}

// ReplicaSets returns the ReplicaSets of a namespace.
func (g group) ReplicaSets(namespace string) ReplicaSets {
	return objects(g.client, "replicasets", namespace, func() *appsv1.ReplicaSet { return &appsv1.ReplicaSet{} })
}

// ConfigMaps returns the ConfigMaps of a namespace.
func (g group) ConfigMaps(namespace string) ConfigMaps {
	return objects(g.client, "configmaps", namespace, func() *corev1.ConfigMap { return &corev1.ConfigMap{} })
}

// Secrets returns the Secrets of a namespace.
func (g group) Secrets(namespace string) Secrets {
	return objects(g.client, "secrets", namespace, func() *corev1.Secret { return &corev1.Secret{} })
}

func objects[T interface {
	runtime.Object
	metav1.Object
}](client rest.Interface, resource, namespace string, empty func() T) Objects[T] {
	return gentype.NewClient[T](resource, client, ParameterCodec, namespace, empty)
}

// NewLeases makes a client of the Leases of a namespace from a REST client of their group.
func NewLeases(client rest.Interface, namespace string) Leases {
	return objects(client, "leases", namespace, func() *coordinationv1.Lease { return &coordinationv1.Lease{} })
}
