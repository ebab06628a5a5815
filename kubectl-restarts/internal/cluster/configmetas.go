package cluster

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubernetes-deployment-restart-controller/apiclient"
	"kubernetes-deployment-restart-controller/catalog"
	"kubernetes-deployment-restart-controller/kubectl-restarts/internal/facts"
)

// ConfigMetas lists the configs of a namespace, or of all namespaces if it is empty. It reads only metadata, so the
// configs have no keys. If one kind of config cannot be
// listed, it returns those of the other one, and an error.
func (c *Cluster) ConfigMetas(ctx context.Context, namespace string) ([]facts.Config, error) {
	noted, err := c.readNoted(ctx)
	if err != nil {
		return nil, err
	}
	configMaps, err1 := c.metas(ctx, apiclient.List{Resource: "configmaps", Namespace: namespace}, func(meta *metav1.ObjectMeta) facts.Config {
		return facts.RulesFor(noted.rules, meta.Namespace).WithMistakes(catalog.NewConfigMap(&corev1.ConfigMap{ObjectMeta: *meta}), meta)
	})
	secrets, err2 := c.metas(ctx, apiclient.List{Resource: "secrets", Namespace: namespace, FieldSelector: "type!=helm.sh/release.v1"}, func(meta *metav1.ObjectMeta) facts.Config {
		return facts.RulesFor(noted.rules, meta.Namespace).WithMistakes(catalog.NewSecret(&corev1.Secret{ObjectMeta: *meta}), meta)
	})
	configMaps = append(configMaps, secrets...)
	if err1 == nil {
		return configMaps, err2
	}
	return configMaps, err1
}

func (c *Cluster) metas(ctx context.Context, list apiclient.List, reduce func(*metav1.ObjectMeta) facts.Config) ([]facts.Config, error) {
	list.Client = c.core.RESTClient()
	var configs []facts.Config
	err := apiclient.EachMeta(ctx, list, func() { configs = nil }, func(meta *metav1.ObjectMeta) {
		configs = append(configs, reduce(meta))
	})
	return configs, err
}
