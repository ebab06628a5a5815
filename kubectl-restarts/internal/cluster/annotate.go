package cluster

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
)

// Target is a workload or a config by its resource, such as "deployments" or "configmaps".
type Target struct{ Resource, Namespace, Name string }

// fieldManager is the name under which the plugin writes.
const fieldManager = "kubectl-restarts"

// metadataOnly makes the API server answer with a metav1.PartialObjectMetadata.
const metadataOnly = "application/vnd.kubernetes.protobuf;as=PartialObjectMetadata;g=meta.k8s.io;v=v1," +
	"application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"

// Meta reads the metadata of an object. The error is one of k8s.io/apimachinery/pkg/api/errors.
func (c *Cluster) Meta(ctx context.Context, target Target) (*metav1.ObjectMeta, error) {
	var object metav1.PartialObjectMetadata
	err := c.clientOf(target.Resource).Get().Namespace(target.Namespace).Resource(target.Resource).Name(target.Name).
		SetHeader("Accept", metadataOnly).Do(ctx).Into(&object)
	return &object.ObjectMeta, err
}

// Annotate sets an annotation of an object, or removes it if the value is nil. A dry run lets the API
// server check the write and writes nothing. If the resourceVersion is not empty and the object has
// another one, the error is a conflict.
func (c *Cluster) Annotate(ctx context.Context, target Target, annotation string, value *string, resourceVersion string, dryRun bool) error {
	meta := map[string]any{"annotations": map[string]*string{annotation: value}}
	if resourceVersion != "" {
		meta["resourceVersion"] = resourceVersion
	}
	patch, err := json.Marshal(map[string]any{"metadata": meta})
	if err != nil {
		return fmt.Errorf("encode the patch: %w", err)
	}
	options := metav1.PatchOptions{FieldManager: fieldManager}
	if dryRun {
		options.DryRun = []string{metav1.DryRunAll}
	}
	return c.clientOf(target.Resource).Patch(types.MergePatchType).Namespace(target.Namespace).Resource(target.Resource).Name(target.Name).
		SpecificallyVersionedParams(&options, metav1.ParameterCodec, metav1.SchemeGroupVersion).SetHeader("Accept", metadataOnly).Body(patch).Do(ctx).Error()
}

func (c *Cluster) clientOf(resource string) rest.Interface {
	if slices.ContainsFunc(Kinds, func(k Kind) bool { return k.Resource == resource }) {
		return c.apps
	}
	return c.core.RESTClient()
}
