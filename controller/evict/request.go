package evict

import (
	"context"
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"

	"kubernetes-deployment-restart-controller/controller/delivery"
)

// request asks the API server to evict exactly this pod: the next one of a StatefulSet has the same name.
func (e *Evictor) request(ctx context.Context, namespace string, pod *delivery.Evicted) error {
	body, err := json.Marshal(map[string]any{
		"apiVersion": "policy/v1", "kind": "Eviction",
		"metadata":      map[string]any{"namespace": namespace, "name": pod.Name},
		"deleteOptions": map[string]any{"preconditions": map[string]any{"uid": pod.UID}},
	})
	if err != nil {
		return fmt.Errorf("build eviction: %w", err)
	}
	// The client would wait and repeat the request itself. Get also returns a refusal that comes as an answer with a
	// code of success, as that of several PodDisruptionBudgets.
	_, err = e.Core.Post().
		Namespace(namespace).
		Resource("pods").
		Name(pod.Name).
		SubResource("eviction").
		MaxRetries(0).
		SetHeader("Content-Type", runtime.ContentTypeJSON).
		Body(body).
		Do(ctx).
		Get()
	return err
}
