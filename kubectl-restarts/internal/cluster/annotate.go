package cluster

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/internal/custom"
)

// Target is a workload or a config by its resource, such as "deployments" or "configmaps", or by its custom kind, such as
// "rollouts.argoproj.io".
type Target struct{ Resource, Namespace, Name string }

// fieldManager is the name under which the plugin writes.
const fieldManager = "kubectl-restarts"

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
	return c.patch(ctx, target, types.MergePatchType, patch, dryRun)
}

// RemoveAnnotation removes an annotation of an object. The error is that the object is invalid if the annotation has
// another value than this one, or is not there.
func (c *Cluster) RemoveAnnotation(ctx context.Context, target Target, annotation, value string, dryRun bool) error {
	path := "/metadata/annotations/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(annotation)
	patch, err := json.Marshal([]map[string]string{{"op": "test", "path": path, "value": value}, {"op": "remove", "path": path}})
	if err != nil {
		return fmt.Errorf("encode the patch: %w", err)
	}
	return c.patch(ctx, target, types.JSONPatchType, patch, dryRun)
}

func (c *Cluster) patch(ctx context.Context, target Target, patchType types.PatchType, patch []byte, dryRun bool) error {
	options := metav1.PatchOptions{FieldManager: fieldManager}
	if dryRun {
		options.DryRun = []string{metav1.DryRunAll}
	}
	client, path := c.endpointOf(target.Resource)
	request := client.Patch(patchType).Namespace(target.Namespace).Resource(path).Name(target.Name).
		SpecificallyVersionedParams(&options, metav1.ParameterCodec, metav1.SchemeGroupVersion).Body(patch)
	if !isCustom(target.Resource) {
		request.SetHeader("Accept", metadataOnly)
	}
	return request.Do(ctx).Error()
}

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
