// Package cluster reads what the commands need, with the permissions of the caller, and reduces it to
// what package catalog keeps. Lists are read page by page.
package cluster

import (
	"context"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"

	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/internal/apiclient"
	"kubernetes-deployment-restart-controller/internal/custom"
)

// Cluster reads from one API server.
type Cluster struct {
	config *rest.Config
	apps   rest.Interface
	core   apiclient.Core
	custom []Kind // besides Kinds
	halts  Target // the ConfigMap of halts
	noted  *notes // what is on it, nil until it is read
}

// Connect makes a Cluster whose controllers keep their halts in the given ConfigMap, and which may have workloads of
// further kinds. It does not modify the configuration.
func Connect(config *rest.Config, halts Target, kinds []custom.Kind) (*Cluster, error) {
	config = rest.CopyConfig(config)
	config.ContentType = runtime.ContentTypeProtobuf
	config.AcceptContentTypes = runtime.ContentTypeProtobuf + "," + runtime.ContentTypeJSON
	config.QPS = -1 // one request follows the other, and the API server shares its capacity fairly
	apps, err := apiclient.ConnectGroup(config, appsv1.SchemeGroupVersion)
	if err != nil {
		return nil, err
	}
	core, err := apiclient.ConnectGroup(config, corev1.SchemeGroupVersion)
	if err != nil {
		return nil, err
	}
	c := &Cluster{config: config, apps: apps, core: apiclient.NewCore(core), halts: halts}
	return c, c.add(kinds, false)
}

// AddReported adds kinds of workloads that the leader has named, unless it has them.
func (c *Cluster) AddReported(kinds []custom.Kind) error { return c.add(kinds, true) }

func (c *Cluster) add(kinds []custom.Kind, reported bool) error {
	for _, kind := range kinds {
		if slices.ContainsFunc(c.custom, func(k Kind) bool { return k.Kind == kind.Name() }) {
			continue
		}
		client, err := apiclient.ConnectCustom(c.config, kind.GroupVersion(), custom.NewObject)
		if err != nil {
			return err
		}
		c.custom = append(c.custom, customKind(kind, client, reported))
	}
	return nil
}

// Target is a workload or a config by its resource, such as "deployments" or "configmaps", or by its custom kind, such as
// "rollouts.argoproj.io".
type Target struct{ Resource, Namespace, Name string }

// isCustom reports whether a resource is a kind of workload that is not part of Kubernetes.
func isCustom(resource string) bool { return names.WorkloadKind(resource).IsCustom() }

// endpointOf returns the client of a resource and its name in the API's paths.
func (c *Cluster) endpointOf(resource string) (client rest.Interface, path string) {
	for _, kind := range c.kinds() {
		if kind.Resource == resource && kind.client == nil || string(kind.Kind) == resource {
			return c.clientOf(&kind), kind.Resource
		}
	}
	return c.core.RESTClient(), resource
}

// metadataOnly makes the API server answer with a metav1.PartialObjectMetadata.
const metadataOnly = "application/vnd.kubernetes.protobuf;as=PartialObjectMetadata;g=meta.k8s.io;v=v1," +
	"application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"

// Meta reads the metadata of an object, which is in no namespace if that is empty. The error is one of k8s.io/apimachinery/pkg/api/errors.
func (c *Cluster) Meta(ctx context.Context, target Target) (*metav1.ObjectMeta, error) {
	client, path := c.endpointOf(target.Resource)
	request := client.Get().NamespaceIfScoped(target.Namespace, target.Namespace != "").Resource(path).Name(target.Name)
	if isCustom(target.Resource) { // it is decoded into a type of its own
		var object custom.Object
		err := request.Do(ctx).Into(&object)
		return &object.ObjectMeta, err
	}
	var object metav1.PartialObjectMetadata
	err := request.SetHeader("Accept", metadataOnly).Do(ctx).Into(&object)
	return &object.ObjectMeta, err
}

// Names lists the names of the objects of a resource, such as "configmaps", "deployments" or "rollouts.argoproj.io". It
// reads no more than their metadata, unless their kind is a custom one.
func (c *Cluster) Names(ctx context.Context, resource, namespace string) ([]string, error) {
	client, path := c.endpointOf(resource)
	list := apiclient.List{Client: client, Resource: path, Namespace: namespace}
	var names []string
	begin := func() { names = nil }
	if isCustom(resource) {
		err := apiclient.EachPage(ctx, list, func() *custom.List { return &custom.List{} }, begin, func(page *custom.List) {
			for i := range page.Items {
				names = append(names, page.Items[i].Name)
			}
		})
		return names, err
	}
	err := apiclient.EachMeta(ctx, list, begin, func(meta *metav1.ObjectMeta) { names = append(names, meta.Name) })
	return names, err
}
