package main

import (
	"context"
	"fmt"
	"time"

	"kubernetes-deployment-restart-controller/test/harness"
)

const firstStartTarget = 10.0 // seconds

// measureFirstStart starts the controller where no Deployment has a record. Some
// ConfigMaps, or all, were edited after the Deployments had opted in and before
// their pods started: the controller has to ask the pods, and must not restart.
func (b *bench) measureFirstStart(ctx context.Context) ([]row, error) {
	var rows []row
	counts := []int{0, b.deployments / 10, b.deployments}
	if b.quick {
		counts = counts[1:2]
	}
	for number, edited := range counts {
		var times samples
		var fault error
		for repetition := range b.repetitions {
			namespace := fmt.Sprintf("first-start-%d-%d", number, repetition)
			err := b.onStage(ctx, func(s *stage) error {
				if err := b.prepareFirstStart(ctx, s, namespace, edited); err != nil {
					return err
				}
				taken, err := b.startFirst(ctx, s, namespace)
				times.addSeconds(taken.time)
				if fault == nil {
					fault = taken.fault
				}
				return err
			})
			if err != nil {
				return rows, err
			}
		}
		rows = append(rows, b.firstStartRow(edited, times, fault))
	}
	return rows, nil
}

func (b *bench) firstStartRow(edited int, times samples, fault error) row {
	what := fmt.Sprintf("first start on %d enabled Deployments, %d ConfigMaps edited since: all recorded, none restarted", b.deployments, edited)
	r := upTo(what, firstStartTarget, times, "%.1f", "s")
	r.fault = fault
	return r
}

func (b *bench) prepareFirstStart(ctx context.Context, s *stage, namespace string, edited int) error {
	b.progress.say("creating %d Deployments with pods, %d ConfigMaps edited between them", b.deployments, edited)
	if err := s.createWorkloads(ctx, namespace, b.deployments, nil); err != nil {
		return err
	}
	err := inParallel(ctx, writers, edited, func(ctx context.Context, number int) error {
		return s.editWorkload(ctx, namespace, number)
	})
	if err != nil {
		return err
	}
	return s.createPods(ctx, namespace)
}

// firstStart is how long it took until all was recorded, and what was restarted
// needlessly.
type firstStart struct {
	time  time.Duration
	fault error
}

func (b *bench) startFirst(ctx context.Context, s *stage, namespace string) (firstStart, error) {
	deployments, err := s.follow(ctx, namespace)
	if err != nil {
		return firstStart{}, err
	}
	defer deployments.close()
	var taken firstStart
	begun := time.Now()
	err = s.withController(ctx, func(controller *harness.Controller) error {
		if err := deployments.await(ctx, recordLimit, b.deployments, isRecorded); err != nil {
			return err
		}
		for _, seen := range deployments.look() {
			taken.time = max(taken.time, seen.recordedAt.Sub(begun))
		}
		b.progress.say("all recorded after %.2f s", taken.time.Seconds())
		return harness.Eventually(ctx, recordLimit, controller.Idle)
	}, b.graceFlag())
	if restarted := countRestarted(deployments); restarted > 0 {
		taken.fault = fmt.Errorf("%d deployments were restarted needlessly", restarted)
	}
	return taken, err
}

func countRestarted(deployments *rollouts) int {
	restarted := 0
	for _, seen := range deployments.look() {
		if seen.restarts > 0 {
			restarted++
		}
	}
	return restarted
}
