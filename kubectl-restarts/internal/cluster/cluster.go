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

	"kubernetes-deployment-restart-controller/catalog/content"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/internal/apiclient"
	"kubernetes-deployment-restart-controller/internal/custom"
	"kubernetes-deployment-restart-controller/kubectl-restarts/internal/facts"
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

// Object is a ConfigMap or Secret, with the content that the API server has.
type Object interface {
	runtime.Object
	metav1.Object
}

// Config reads a ConfigMap or a Secret. The error is one of k8s.io/apimachinery/pkg/api/errors.
func (c *Cluster) Config(ctx context.Context, ref names.ConfigRef) (Object, error) {
	if ref.Kind.IsSecret() {
		return c.core.Secrets(ref.Namespace).Get(ctx, ref.Name, metav1.GetOptions{})
	}
	return c.core.ConfigMaps(ref.Namespace).Get(ctx, ref.Name, metav1.GetOptions{})
}

// ReducedConfig reads a config and reduces it. Of a Secret it reads the metadata only, so that its
// keys are missing. The error is one of k8s.io/apimachinery/pkg/api/errors.
func (c *Cluster) ReducedConfig(ctx context.Context, ref names.ConfigRef) (facts.Config, error) {
	rules, err := c.Rules(ctx, ref.Namespace)
	if err != nil {
		return facts.Config{}, err
	}
	if !ref.Kind.IsSecret() {
		object, err := c.core.ConfigMaps(ref.Namespace).Get(ctx, ref.Name, metav1.GetOptions{})
		if err != nil {
			return facts.Config{}, err
		}
		return rules.WithMistakes(content.NewConfigMap(object), &object.ObjectMeta), nil
	}
	meta, err := c.Meta(ctx, Target{"secrets", ref.Namespace, ref.Name})
	if err != nil {
		return facts.Config{}, err
	}
	return rules.WithMistakes(content.NewSecret(&corev1.Secret{ObjectMeta: *meta}), meta), nil
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
