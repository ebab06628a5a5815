package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
)

// toggle opts a workload in or out.
func (d *driver) toggle(ctx context.Context, w *workload) error {
	if w.steady || w.never {
		return nil
	}
	d.count("opt-in toggled")
	w.enabled = !w.enabled
	var value any // removes the annotation
	if own := w.optIn(); own != "" {
		value = own
	}
	return d.patchWorkload(ctx, w, "opt", map[string]any{"metadata": map[string]any{"annotations": map[string]any{enabledAnnotation: value}}})
}

// setGracePeriod gives a workload a grace period of its own, or takes it away. It is never
// shorter than the default, so that the model need not know.
func (d *driver) setGracePeriod(ctx context.Context, random *rand.Rand, w *workload) error {
	d.count("grace period set or removed")
	var period any
	if seconds := random.IntN(4); seconds > 0 {
		period = (grace + time.Duration(seconds)*time.Second).String()
	}
	return d.patchWorkload(ctx, w, "grace", map[string]any{"metadata": map[string]any{"annotations": map[string]any{graceAnnotation: period}}})
}

func (d *driver) scale(ctx context.Context, random *rand.Rand, w *workload) error {
	if w.kind == "DaemonSet" {
		return nil
	}
	d.count("workload scaled")
	w.replicas = 1 + random.Int32N(4)
	if !w.steady && random.IntN(3) == 0 {
		w.replicas = 0
	}
	return d.patchWorkload(ctx, w, "scaler", map[string]any{"spec": map[string]any{"replicas": w.replicas}})
}

func (d *driver) pause(ctx context.Context, w *workload) error {
	if w.kind != "Deployment" || w.evicts { // which waits for as long as it is paused if its pod template has changed
		return nil
	}
	d.count("paused or resumed")
	w.paused = !w.paused
	return d.patchWorkload(ctx, w, "pauser", map[string]any{"spec": map[string]any{"paused": w.paused}})
}

// roll gives a workload another pod template.
func (d *driver) roll(ctx context.Context, w *workload) error {
	if w.steady {
		return nil
	}
	d.count("pod template edited")
	w.image++
	return d.patchWorkload(ctx, w, "releaser", map[string]any{"spec": map[string]any{"template": map[string]any{
		"spec": map[string]any{"containers": w.template().Spec.Containers}}}})
}

// patchWorkload applies a merge patch.
func (d *driver) patchWorkload(ctx context.Context, w *workload, manager string, patch any) error {
	body, err := json.Marshal(patch)
	if err != nil {
		return fmt.Errorf("encode a patch: %w", err)
	}
	err = until(ctx, nil, func(ctx context.Context) error {
		_, err := d.api(w).Patch(ctx, w.name, types.MergePatchType, body, metav1.PatchOptions{FieldManager: manager})
		return err
	})
	if err != nil {
		return fmt.Errorf("patch %s %s: %w", w.kind, w.name, err)
	}
	return nil
}

// api is where a workload is.
func (d *driver) api(w *workload) dynamic.ResourceInterface {
	resource := gadgets
	if w.kind != gadgetKind {
		resource = appsv1.SchemeGroupVersion.WithResource(strings.ToLower(w.kind) + "s")
	}
	return d.objects.Resource(resource).Namespace(w.namespace)
}

func (d *driver) makeWorkload(ctx context.Context, w *workload) error {
	object, err := w.object()
	if err != nil {
		return fmt.Errorf("encode %s %s: %w", w.kind, w.name, err)
	}
	err = until(ctx, apierrors.IsAlreadyExists, func(ctx context.Context) error {
		_, err := d.api(w).Create(ctx, object, metav1.CreateOptions{FieldManager: maker})
		return err
	})
	if err != nil {
		return fmt.Errorf("create %s %s: %w", w.kind, w.name, err)
	}
	return nil
}

// remakeWorkload deletes a workload and makes it again.
func (d *driver) remakeWorkload(ctx context.Context, random *rand.Rand, w *workload) error {
	if w.steady || w.kind == gadgetKind { // whose pods the garbage collector would have to delete first
		return nil
	}
	d.count("workload recreated")
	options := metav1.DeleteOptions{PropagationPolicy: new(metav1.DeletePropagationBackground)}
	err := until(ctx, apierrors.IsNotFound, func(ctx context.Context) error { return d.api(w).Delete(ctx, w.name, options) })
	if err != nil {
		return fmt.Errorf("delete %s %s: %w", w.kind, w.name, err)
	}
	if w.kind == "StatefulSet" { // its pods' names are needed again; the garbage collector can be late
		err := until(ctx, nil, func(ctx context.Context) error {
			return d.client.CoreV1().Pods(w.namespace).DeleteCollection(ctx, metav1.DeleteOptions{GracePeriodSeconds: new(int64(0))},
				metav1.ListOptions{LabelSelector: "app=" + w.name})
		})
		if err != nil {
			return fmt.Errorf("delete the pods of %s: %w", w.name, err)
		}
	}
	w.paused, w.replicas = false, 1+random.Int32N(3)
	return d.makeWorkload(ctx, w)
}

// wakeStatefulSets makes their controller look at all of them at once. Where it has failed
// often, as when an orphaned pod has the name of one to come, it would do so only after up
// to a quarter of an hour.
func (d *driver) wakeStatefulSets(ctx context.Context) error {
	_, workloads := d.world.everything()
	return d.share(ctx, func(ctx context.Context, w int) error {
		for i := w; i < len(workloads); i += workers {
			if app := workloads[i]; app.kind == "StatefulSet" {
				err := d.patchWorkload(ctx, app, "waker", map[string]any{"metadata": map[string]any{"labels": map[string]any{"woken": d.value()}}})
				if err != nil {
					return err
				}
			}
		}
		return nil
	})
}
