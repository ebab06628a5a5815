package evict

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"

	"kubernetes-deployment-restart-controller/controller/delivery"
	"kubernetes-deployment-restart-controller/internal/brief"
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

// refusalError says that a PodDisruptionBudget refuses an eviction.
type refusalError struct {
	pod   *delivery.Evicted
	why   string
	after time.Duration // as the API server suggests
}

// Error implements error.
func (e *refusalError) Error() string {
	if !e.pod.IsReady {
		return "a PodDisruptionBudget refuses to evict a pod that is not ready: " + e.why
	}
	return "a PodDisruptionBudget refuses to evict a pod although all are ready: " + e.why
}

// refusalPause is how long to wait after a refusal, unless the API server suggests to wait longer.
const refusalPause = 10 * time.Second

// pause returns how long to wait after so many refusals in a row.
func (e *refusalError) pause(refusals int) time.Duration {
	return doubled(max(e.after, refusalPause), refusals)
}

// disruptionBudgetCause is the type of the cause that an API server names if a PodDisruptionBudget refuses. An overloaded
// one answers with the same code.
const disruptionBudgetCause = "DisruptionBudget"

// severalBudgets is part of the answer if several PodDisruptionBudgets select a pod, which the API does not support.
const severalBudgets = "more than one PodDisruptionBudget"

// refused returns the error of an eviction, which is a refusalError if a PodDisruptionBudget is the reason.
func refused(err error, pod *delivery.Evicted) error {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return fmt.Errorf("evict pod %s: %w", pod.Name, err)
	}
	answer := status.Status()
	if cause, isBudget := apierrors.StatusCause(err, disruptionBudgetCause); isBudget {
		seconds, _ := apierrors.SuggestsClientDelay(err)
		return &refusalError{pod, brief.Text(cause.Message), time.Duration(seconds) * time.Second}
	}
	if strings.Contains(answer.Message, severalBudgets) {
		return &refusalError{pod, brief.Text(answer.Message), 0}
	}
	return fmt.Errorf("evict pod %s: %w", pod.Name, err)
}
