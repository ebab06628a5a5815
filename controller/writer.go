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

// workloadWriter reads and patches single workloads.
type workloadWriter struct{ apps rest.Interface }

// workloadResources are the workloads' plural names in the API's paths.
var workloadResources = map[catalog.WorkloadKind]string{
	catalog.Deployment:  "deployments",
	catalog.StatefulSet: "statefulsets",
	catalog.DaemonSet:   "daemonsets",
}

// patch sends a JSON merge patch and returns the reduced answer, also with the error of a
// patch that was accepted without effect.
func (w workloadWriter) patch(ctx context.Context, ref catalog.WorkloadRef, patch *workloadPatch) (*observation, error) {
	body, err := json.Marshal(patch)
	if err != nil {
		return nil, fmt.Errorf("encode: %w", err)
	}
	options := &metav1.PatchOptions{FieldManager: catalog.FieldManager}
	after, err := w.apps.Patch(types.MergePatchType).
		Namespace(ref.Namespace).
		Resource(workloadResources[ref.Kind]).
		Name(ref.Name).
		VersionedParams(options, apiclient.ParameterCodec).
		Body(body).
		Do(ctx).
		Get()
	if err != nil {
		return nil, err
	}
	missing, err := patch.missingIn(after)
	if err != nil {
		return nil, err
	}
	written, err := reduce(after)
	if err == nil && missing != "" {
		err = &apiclient.IneffectiveError{Object: "the workload", Missing: missing}
	}
	return written, err
}

// get reads a workload and returns it reduced.
func (w workloadWriter) get(ctx context.Context, ref catalog.WorkloadRef) (*observation, error) {
	return reduced(w.apps.Get().
		Namespace(ref.Namespace).
		Resource(workloadResources[ref.Kind]).
		Name(ref.Name).
		Do(ctx))
}

func reduced(result rest.Result) (*observation, error) {
	object, err := result.Get()
	if err != nil {
		return nil, err
	}
	return reduce(object)
}
