package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"kubernetes-deployment-restart-controller/test/soak/model"
)

// strip takes the restart timestamp out of the pod template of a worker's workload, as an operator
// does that writes the template as it wants it. Of the workload that restarted last, that is in
// the middle of a rollout.
func (d *driver) strip(ctx context.Context, random *rand.Rand, w int) error {
	app := pick(random, d.world.workloads, w)
	if random.IntN(4) > 0 {
		app = d.lastRestarted(w)
	}
	var begin time.Time
	err := until(ctx, nil, func(ctx context.Context) error {
		object, err := d.api(app).Get(ctx, app.name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		annotations, _, err := unstructured.NestedStringMap(object.Object, "spec", "template", "metadata", "annotations")
		if err != nil || annotations[timestampAnnotation] == "" {
			return err
		}
		if begin.IsZero() {
			begin = time.Now()
		}
		return d.takeTimestamp(ctx, app, object.GetResourceVersion())
	})
	if err != nil {
		return fmt.Errorf("remove the restart timestamp of %s %s: %w", app.kind, app.name, err)
	}
	if !begin.IsZero() {
		d.count("timestamp stripped")
		d.judge.revert(model.Revert{Begin: begin, End: time.Now(), Workload: app.ref()})
	}
	return nil
}

func (d *driver) lastRestarted(w int) *workload {
	last, at := d.world.workloads[w], time.Time{}
	for i := w; i < len(d.world.workloads); i += workers {
		if restarted := d.judge.restartedAt(d.world.workloads[i].ref()); restarted.After(at) {
			last, at = d.world.workloads[i], restarted
		}
	}
	return last
}

// takeTimestamp does so only if nobody else has written since.
func (d *driver) takeTimestamp(ctx context.Context, w *workload, version string) error {
	patch := fmt.Appendf(nil, `{"metadata":{"resourceVersion":%q},"spec":{"template":{"metadata":{"annotations":{%q:null,%q:null}}}}}`,
		version, timestampAnnotation, causeAnnotation)
	_, err := d.api(w).Patch(ctx, w.name, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: "stripper"})
	return err
}
