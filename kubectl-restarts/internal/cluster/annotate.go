package cluster

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// fieldManager is the name under which the plugin writes.
const fieldManager = "kubectl-restarts"

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
	return c.remove(ctx, target, "/metadata/annotations/"+strings.NewReplacer("~", "~0", "/", "~1").Replace(annotation), value, dryRun)
}

// remove removes what is at a path of an object, if it has this value.
func (c *Cluster) remove(ctx context.Context, target Target, path, value string, dryRun bool) error {
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
