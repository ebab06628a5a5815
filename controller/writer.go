package controller

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"kubernetes-deployment-restart-controller/catalog/annotation"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/optin"
	"kubernetes-deployment-restart-controller/internal/apiclient"
)

// workloadWriter reads and patches individual workloads.
type workloadWriter struct {
	apps  rest.Interface
	kinds customKinds
	rules *optin.Rules
}

// patch sends a JSON merge patch and returns the reduced answer, even with the error of a
// patch that was accepted without effect.
func (w workloadWriter) patch(ctx context.Context, ref names.WorkloadRef, patch *workloadPatch) (*observation, error) {
	kind := w.kinds.row(ref.Kind)
	body, err := kind.encode(patch)
	if err != nil {
		return nil, fmt.Errorf("encode: %w", err)
	}
	options := &metav1.PatchOptions{FieldManager: annotation.FieldManager}
	after, err := w.clientOf(kind).Patch(types.MergePatchType).
		Namespace(ref.Namespace).
		Resource(kind.resource).
		Name(ref.Name).
		SpecificallyVersionedParams(options, metav1.ParameterCodec, metav1.SchemeGroupVersion).
		Body(body).
		Do(ctx).
		Get()
	if err != nil {
		return nil, err
	}
	parts, isOne := kind.parts(after)
	if !isOne {
		return nil, fmt.Errorf("read answer: unexpected type %T, want %s", after, kind.workload)
	}
	written, err := kind.reduceParts(parts, w.rules)
	if err != nil {
		return nil, err
	}
	if parts.Problem != "" {
		return written, nil // somebody has changed it meanwhile, as the watch is about to show
	}
	if missing := patch.missingIn(&parts); missing != "" {
		return written, &apiclient.IneffectiveError{Object: "the workload", Missing: missing}
	}
	return written, nil
}

// get reads a workload and returns it reduced.
func (w workloadWriter) get(ctx context.Context, ref names.WorkloadRef) (*observation, error) {
	kind := w.kinds.row(ref.Kind)
	object, err := w.clientOf(kind).Get().
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

func (w workloadWriter) clientOf(kind *workloadKind) rest.Interface {
	if kind.custom != nil {
		return kind.custom.Objects
	}
	return w.apps
}

// encode encodes a patch for a workload of the kind.
func (k *workloadKind) encode(patch *workloadPatch) ([]byte, error) {
	if k.custom == nil || patch.Spec == nil {
		return json.Marshal(patch)
	}
	var nested any = patch.Spec.Template
	for _, step := range slices.Backward(k.custom.Path[1:]) {
		nested = map[string]any{step: nested}
	}
	return json.Marshal(map[string]any{"metadata": patch.Metadata, k.custom.Path[0]: nested})
}
