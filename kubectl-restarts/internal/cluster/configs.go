package cluster

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"kubernetes-deployment-restart-controller/catalog/content"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/internal/apiclient"
	"kubernetes-deployment-restart-controller/kubectl-restarts/internal/facts"
)

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

// ConfigMetas lists the configs of a kind in a namespace, or in all namespaces if it is empty. It reads only metadata, so the
// configs have no keys. The error is one of k8s.io/apimachinery/pkg/api/errors, unless the ConfigMap of halts cannot be read.
func (c *Cluster) ConfigMetas(ctx context.Context, kind names.ConfigKind, namespace string) ([]facts.Config, error) {
	noted, err := c.readNoted(ctx)
	if err != nil {
		return nil, err
	}
	list := apiclient.List{Resource: "configmaps", Namespace: namespace}
	reduce := func(meta *metav1.ObjectMeta) content.Config {
		return content.NewConfigMap(&corev1.ConfigMap{ObjectMeta: *meta})
	}
	if kind.IsSecret() {
		list.Resource, list.FieldSelector = "secrets", "type!=helm.sh/release.v1"
		reduce = func(meta *metav1.ObjectMeta) content.Config {
			return content.NewSecret(&corev1.Secret{ObjectMeta: *meta})
		}
	}
	return c.metas(ctx, list, func(meta *metav1.ObjectMeta) facts.Config {
		return facts.RulesFor(noted.rules, meta.Namespace).WithMistakes(reduce(meta), meta)
	})
}

func (c *Cluster) metas(ctx context.Context, list apiclient.List, reduce func(*metav1.ObjectMeta) facts.Config) ([]facts.Config, error) {
	list.Client = c.core.RESTClient()
	var configs []facts.Config
	err := apiclient.EachMeta(ctx, list, func() { configs = nil }, func(meta *metav1.ObjectMeta) {
		configs = append(configs, reduce(meta))
	})
	return configs, err
}
