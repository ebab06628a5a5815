package controller

import (
	"context"
	"encoding/json"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"kubernetes-deployment-restart-controller/apiclient"
	"kubernetes-deployment-restart-controller/catalog"
)

// workloadWriter reads and patches individual workloads.
type workloadWriter struct {
	apps  rest.Interface
	rules *catalog.OptInRules
}

// patch sends a JSON merge patch and returns the reduced answer, even with the error of a
// patch that was accepted without effect.
func (w workloadWriter) patch(ctx context.Context, ref catalog.WorkloadRef, patch *workloadPatch) (*observation, error) {
	body, err := json.Marshal(patch)
	if err != nil {
		return nil, fmt.Errorf("encode: %w", err)
	}
	kind := kindOfWorkload(ref.Kind)
	options := &metav1.PatchOptions{FieldManager: catalog.FieldManager}
	after, err := w.apps.Patch(types.MergePatchType).
		Namespace(ref.Namespace).
		Resource(kind.resource).
		Name(ref.Name).
		VersionedParams(options, apiclient.ParameterCodec).
		Body(body).
		Do(ctx).
		Get()
	if err != nil {
		return nil, err
	}
	written, err := kind.reduce(after, w.rules)
	if err != nil {
		return nil, err
	}
	parts, _ := kind.parts(after)
	if missing := patch.missingIn(&parts); missing != "" {
		return written, &apiclient.IneffectiveError{Object: "the workload", Missing: missing}
	}
	return written, nil
}

// get reads a workload and returns it reduced.
func (w workloadWriter) get(ctx context.Context, ref catalog.WorkloadRef) (*observation, error) {
	kind := kindOfWorkload(ref.Kind)
	object, err := w.apps.Get().
		Namespace(ref.Namespace).
		Resource(kind.resource).
		Name(ref.Name).
		Do(ctx).
		Get()
	if err != nil {
		return nil, err
	}
	return kind.reduce(object, w.rules)
}
