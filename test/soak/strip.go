package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"

	"kubernetes-deployment-restart-controller/test/soak/model"
)

// stripped is what is looked at of a workload, to take its restart timestamp away.
type stripped struct {
	Metadata struct{ ResourceVersion string }
	Spec     struct {
		Template struct {
			Metadata struct{ Annotations map[string]string }
		}
	}
}

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
		object, err := d.lookAt(ctx, app)
		if err != nil || object.Spec.Template.Metadata.Annotations[timestampAnnotation] == "" {
			return err
		}
		if begin.IsZero() {
			begin = time.Now()
		}
		return d.takeTimestamp(ctx, app, object.Metadata.ResourceVersion)
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

func (d *driver) lookAt(ctx context.Context, w *workload) (object stripped, err error) {
	body, err := d.client.AppsV1().RESTClient().Get().Namespace(w.namespace).Resource(w.resource()).Name(w.name).Do(ctx).Raw()
	if err != nil {
		return object, err
	}
	return object, json.Unmarshal(body, &object)
}

// takeTimestamp does so only if nobody else has written since.
func (d *driver) takeTimestamp(ctx context.Context, w *workload, version string) error {
	patch := fmt.Appendf(nil, `{"metadata":{"resourceVersion":%q},"spec":{"template":{"metadata":{"annotations":{%q:null,%q:null}}}}}`,
		version, timestampAnnotation, causeAnnotation)
	return d.client.AppsV1().RESTClient().Patch(types.MergePatchType).Namespace(w.namespace).Resource(w.resource()).Name(w.name).
		VersionedParams(&metav1.PatchOptions{FieldManager: "stripper"}, scheme.ParameterCodec).Body(patch).Do(ctx).Error()
}

func (d *workload) resource() string { return strings.ToLower(d.kind) + "s" }
