package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
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
	if w.kind != "Deployment" {
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
		"spec": map[string]any{"containers": []any{map[string]any{"name": "main", "image": fmt.Sprintf("example/main:%d", w.image)}}}}}})
}

func (d *driver) patchWorkload(ctx context.Context, w *workload, manager string, patch any) error {
	body, err := json.Marshal(patch)
	if err != nil {
		return fmt.Errorf("encode a patch: %w", err)
	}
	apps, options := d.client.AppsV1(), metav1.PatchOptions{FieldManager: manager}
	err = until(ctx, nil, func(ctx context.Context) (err error) {
		switch w.kind {
		case "Deployment":
			_, err = apps.Deployments(w.namespace).Patch(ctx, w.name, types.StrategicMergePatchType, body, options)
		case "StatefulSet":
			_, err = apps.StatefulSets(w.namespace).Patch(ctx, w.name, types.StrategicMergePatchType, body, options)
		default:
			_, err = apps.DaemonSets(w.namespace).Patch(ctx, w.name, types.StrategicMergePatchType, body, options)
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("patch %s %s: %w", w.kind, w.name, err)
	}
	return nil
}

func (d *driver) makeWorkload(ctx context.Context, w *workload) error {
	apps, options := d.client.AppsV1(), metav1.CreateOptions{FieldManager: maker}
	err := until(ctx, apierrors.IsAlreadyExists, func(ctx context.Context) (err error) {
		switch w.kind {
		case "Deployment":
			_, err = apps.Deployments(w.namespace).Create(ctx, w.deployment(), options)
		case "StatefulSet":
			_, err = apps.StatefulSets(w.namespace).Create(ctx, w.statefulSet(), options)
		default:
			_, err = apps.DaemonSets(w.namespace).Create(ctx, w.daemonSet(), options)
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("create %s %s: %w", w.kind, w.name, err)
	}
	return nil
}

// remakeWorkload deletes a workload and makes it again.
func (d *driver) remakeWorkload(ctx context.Context, random *rand.Rand, w *workload) error {
	if w.steady {
		return nil
	}
	d.count("workload recreated")
	apps := d.client.AppsV1()
	options := metav1.DeleteOptions{PropagationPolicy: new(metav1.DeletePropagationBackground)}
	err := until(ctx, apierrors.IsNotFound, func(ctx context.Context) error {
		switch w.kind {
		case "Deployment":
			return apps.Deployments(w.namespace).Delete(ctx, w.name, options)
		case "StatefulSet":
			return apps.StatefulSets(w.namespace).Delete(ctx, w.name, options)
		default:
			return apps.DaemonSets(w.namespace).Delete(ctx, w.name, options)
		}
	})
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
