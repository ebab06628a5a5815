package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"

	"kubernetes-deployment-restart-controller/test/harness"
)

const (
	// latencyWorkloads take turns, so that no limit on the Events about one object
	// makes later edits cheaper than the first.
	latencyWorkloads = 40
	editLimit        = 30 * time.Second

	medianTarget, p99Target, aboveBareTarget = 7.0, 15.0, 1.5 // milliseconds

	controllerNamespace, bareNamespace = "edits-controller", "edits-bare"
)

// side is one of the two processes that are compared.
type side struct {
	namespace string
	rollouts  *rollouts
	latencies samples // in milliseconds
}

// measureLatency measures edits for the controller and for the bare process in
// turns.
func (b *bench) measureLatency(ctx context.Context) ([]row, error) {
	ours, floor := &side{namespace: controllerNamespace}, &side{namespace: bareNamespace}
	err := b.onStage(ctx, func(s *stage) error {
		if err := s.createLatencyWorkloads(ctx); err != nil {
			return err
		}
		return s.withController(ctx, func(controller *harness.Controller) error {
			return b.compare(ctx, s, controller, ours, floor)
		}, "--restart-grace-period=0", "--restart-backoff-limit=0") // many restarts in a row are what is measured
	})
	if err != nil {
		return nil, err
	}
	return latencyRows(ours.latencies, floor.latencies), nil
}

func latencyRows(ours, floor samples) []row {
	above := ours.median() - floor.median()
	quantiles := func(s samples) string {
		return fmt.Sprintf("%.1f ms (%.1f), of %d edits", s.median(), s.p99(), len(s))
	}
	return []row{
		{
			what:     "edit to patched template, grace period 0: median (p99)",
			target:   fmt.Sprintf("≤ %g ms (%g)", medianTarget, p99Target),
			measured: quantiles(ours),
			missed:   ours.median() > medianTarget || ours.p99() > p99Target,
		},
		{what: "the same with a bare watch-and-patch", measured: quantiles(floor), noTarget: true},
		{
			what:     "difference of the medians",
			target:   fmt.Sprintf("≤ %g ms", aboveBareTarget),
			measured: fmt.Sprintf("%.1f ms", above),
			missed:   above > aboveBareTarget,
		},
	}
}

func (s *stage) createLatencyWorkloads(ctx context.Context) error {
	return errors.Join(
		s.createWorkloads(ctx, controllerNamespace, latencyWorkloads, nil),
		s.createWorkloads(ctx, bareNamespace, latencyWorkloads, func(deployment *appsv1.Deployment) {
			deployment.Annotations = map[string]string{bareAnnotation: deployment.Name}
		}))
}

func (b *bench) compare(ctx context.Context, s *stage, controller *harness.Controller, ours, floor *side) error {
	stopBare, err := startBare(ctx, s.cluster.Kubeconfig())
	if err != nil {
		return err
	}
	return errors.Join(ours.watched(ctx, s, func() error {
		return floor.watched(ctx, s, func() error {
			return b.editBoth(ctx, s, controller, ours, floor)
		})
	}), stopBare())
}

// watched runs an act while the rollouts of the side are followed.
func (x *side) watched(ctx context.Context, s *stage, act func() error) (err error) {
	if x.rollouts, err = s.follow(ctx, x.namespace); err != nil {
		return err
	}
	defer x.rollouts.close()
	return act()
}

func (b *bench) editBoth(ctx context.Context, s *stage, controller *harness.Controller, ours, floor *side) error {
	if err := ours.rollouts.await(ctx, recordLimit, latencyWorkloads, isRecorded); err != nil {
		return err
	}
	if err := harness.Eventually(ctx, recordLimit, controller.Idle); err != nil {
		return err
	}
	b.progress.say("editing %d times for each of controller and bare process", b.edits)
	return b.alternate(ctx, s, ours, floor)
}

// alternate edits back to back: cores that fall asleep in between would be
// measured, too. What one restart leaves to do, such as an Event, falls into the
// next edit. So the order changes with each pair, and either side follows the other
// as often as itself.
func (b *bench) alternate(ctx context.Context, s *stage, ours, floor *side) error {
	pair := []*side{ours, floor}
	for number := range b.edits {
		for _, side := range pair {
			if err := side.edit(ctx, s, number); err != nil {
				return err
			}
		}
		slices.Reverse(pair)
		if done := number + 1; done%100 == 0 {
			b.progress.say("%d edits: median %.1f ms, bare %.1f ms", done, ours.latencies.median(), floor.latencies.median())
		}
	}
	return nil
}

// edit measures from just before the request that replaces a ConfigMap is sent
// until the watch shows the Deployment with a changed pod template.
func (x *side) edit(ctx context.Context, s *stage, number int) error {
	workload := number % latencyWorkloads
	configMap := newConfigMap(x.namespace, workloadName(workload), smallSize, smallKeys)
	begun := time.Now()
	if err := s.edit(ctx, configMap); err != nil {
		return err
	}
	patched, err := x.rollouts.awaitRestart(ctx, editLimit, configMap.Name, number/latencyWorkloads+1)
	if err != nil {
		return err
	}
	x.latencies.addMilliseconds(patched.Sub(begun))
	return nil
}
