package restart

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"kubernetes-deployment-restart-controller/catalog/annotation"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/optin"
	"kubernetes-deployment-restart-controller/catalog/workload"
	"kubernetes-deployment-restart-controller/controller/kinds"
	"kubernetes-deployment-restart-controller/internal/apiclient"
)

// WorkloadWriter reads and patches individual workloads.
type WorkloadWriter struct {
	Apps  rest.Interface
	Kinds kinds.Custom
	Rules *optin.Rules
}

// patch sends a JSON merge patch and returns the reduced answer, even with the error of a
// patch that was accepted without effect.
func (w WorkloadWriter) patch(ctx context.Context, ref names.WorkloadRef, patch *WorkloadPatch) (*kinds.Observation, error) {
	kind := w.Kinds.Row(ref.Kind)
	body, err := encode(kind, patch)
	if err != nil {
		return nil, fmt.Errorf("encode: %w", err)
	}
	after, err := w.send(ctx, kind, ref, annotation.FieldManager, body)
	if err != nil {
		return nil, err
	}
	parts, isOne := kind.Parts(after)
	if !isOne {
		return nil, fmt.Errorf("read answer: unexpected type %T, want %s", after, kind.Workload)
	}
	written, err := kind.ReduceParts(parts, w.Rules)
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

// send sends a JSON merge patch.
func (w WorkloadWriter) send(ctx context.Context, kind *kinds.WorkloadKind, ref names.WorkloadRef, manager string, body []byte) (runtime.Object, error) {
	return w.clientOf(kind).Patch(types.MergePatchType).Namespace(ref.Namespace).Resource(kind.Resource).Name(ref.Name).
		SpecificallyVersionedParams(&metav1.PatchOptions{FieldManager: manager}, metav1.ParameterCodec, metav1.SchemeGroupVersion).
		Body(body).Do(ctx).Get()
}

// get reads a workload and returns it reduced.
func (w WorkloadWriter) get(ctx context.Context, ref names.WorkloadRef) (*kinds.Observation, error) {
	kind := w.Kinds.Row(ref.Kind)
	object, err := w.clientOf(kind).Get().
		Namespace(ref.Namespace).
		Resource(kind.Resource).
		Name(ref.Name).
		Do(ctx).
		Get()
	if err != nil {
		return nil, err
	}
	return kind.Reduce(object, w.Rules)
}

func (w WorkloadWriter) clientOf(kind *kinds.WorkloadKind) rest.Interface {
	if kind.Custom != nil {
		return kind.Custom.Objects
	}
	return w.Apps
}

// encode encodes a patch for a workload of the kind.
func encode(k *kinds.WorkloadKind, patch *WorkloadPatch) ([]byte, error) {
	if k.Custom == nil || patch.Spec == nil {
		return json.Marshal(patch)
	}
	var nested any = patch.Spec.Template
	for _, step := range slices.Backward(k.Custom.Path[1:]) {
		nested = map[string]any{step: nested}
	}
	return json.Marshal(map[string]any{"metadata": patch.Metadata, k.Custom.Path[0]: nested})
}

// SetRestartAt sets .spec.restartAt of a workload, unless the workload has changed: it may be another one by now, or
// somebody may have set a later time.
func (w WorkloadWriter) SetRestartAt(ctx context.Context, of *workload.Workload, at time.Time) error {
	body, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"resourceVersion": of.ResourceVersion},
		"spec":     map[string]any{"restartAt": at.UTC().Format(time.RFC3339)},
	})
	if err != nil {
		return fmt.Errorf("encode: %w", err)
	}
	kind := w.Kinds.Row(of.Ref.Kind)
	after, err := w.send(ctx, kind, of.Ref, annotation.RestartAtManager, body)
	if err != nil {
		return err
	}
	if parts, _ := kind.Parts(after); parts.Problem == "" && parts.RestartAt.Before(at) {
		return &apiclient.IneffectiveError{Object: "the workload", Missing: ".spec.restartAt"}
	}
	return nil
}
