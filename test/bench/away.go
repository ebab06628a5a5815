package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"kubernetes-deployment-restart-controller/test/harness"
)

const (
	// killDelay is how long after the last edit the controller is killed. A kill
	// before the end of the grace period loses what is only in its memory.
	killDelay      = time.Second
	quickKillDelay = killDelay / 4
	// catchUpLimit is far beyond a start and a grace period: what has not been
	// restarted by then is lost.
	catchUpLimit = 30 * time.Second
)

// leave lets a running controller go, and edits before or after.
type leave func(ctx context.Context, a *absence, controller *harness.Controller) error

// measureDown edits while no controller runs.
func (b *bench) measureDown(ctx context.Context) ([]row, error) {
	what := fmt.Sprintf("%d edits while the controller is down: restarted after its start", b.away)
	return b.measureAbsence(ctx, "down", what, func(ctx context.Context, a *absence, controller *harness.Controller) error {
		if err := controller.Stop(); err != nil {
			return err
		}
		return a.editAll(ctx)
	})
}

// measureKill kills the controller while it holds edits back.
func (b *bench) measureKill(ctx context.Context) ([]row, error) {
	delay := killDelay
	if b.quick {
		delay = quickKillDelay
	}
	what := fmt.Sprintf("kill -9 %s after %d edits: restarted in the end", delay, b.away)
	return b.measureAbsence(ctx, "kill", what, func(ctx context.Context, a *absence, controller *harness.Controller) error {
		if err := a.editAll(ctx); err != nil {
			return err
		}
		return errors.Join(pause(ctx, delay), controller.Kill())
	})
}

// absence is a namespace whose first Deployments have their ConfigMaps edited
// around an absence of the controller. As many others are bystanders. The last
// one is the marker: its ConfigMap is edited in the end, and its restart shows
// that all that came before has been dealt with.
type absence struct {
	*stage
	bench     *bench
	namespace string
	edits     int
	rollouts  *rollouts
	round     int
}

func (b *bench) measureAbsence(ctx context.Context, namespace, what string, leave leave) ([]row, error) {
	result := row{what: what, target: fmt.Sprint(b.away)}
	var measured []string
	err := b.onStage(ctx, func(s *stage) error {
		a := &absence{stage: s, bench: b, namespace: namespace, edits: b.away}
		if err := s.createWorkloads(ctx, namespace, a.marker()+1, nil); err != nil {
			return err
		}
		var err error
		if a.rollouts, err = s.follow(ctx, namespace); err != nil {
			return err
		}
		defer a.rollouts.close()
		for range b.repetitions {
			restarted, fault, err := a.play(ctx, leave)
			if err != nil {
				return err
			}
			measured = append(measured, fmt.Sprint(restarted))
			result.fault = errors.Join(result.fault, fault)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	result.measured = strings.Join(measured, ", ")
	return []row{result}, nil
}

func (a *absence) marker() int { return 2 * a.edits }

// play starts a controller, lets it go, starts another one, and returns how many
// of the edited Deployments were restarted.
func (a *absence) play(ctx context.Context, leave leave) (restarted int, fault, err error) {
	controller, err := a.installation.StartController(ctx, a.bench.graceFlag())
	if err != nil {
		return 0, nil, err
	}
	err = a.rollouts.await(ctx, recordLimit, a.marker()+1, isRecorded)
	if err == nil {
		err = harness.Eventually(ctx, recordLimit, controller.Idle)
	}
	if err == nil {
		err = leave(ctx, a, controller)
	}
	if err != nil {
		return 0, nil, errors.Join(err, controller.Kill())
	}
	a.round++
	err = a.withController(ctx, func(*harness.Controller) error {
		restarted, fault, err = a.awaitRestarts(ctx)
		return err
	}, a.bench.graceFlag())
	return restarted, fault, err
}

func (a *absence) editAll(ctx context.Context) error {
	a.bench.progress.say("editing %d ConfigMaps", a.edits)
	return inParallel(ctx, writers, a.edits, func(ctx context.Context, number int) error {
		return a.editWorkload(ctx, a.namespace, number)
	})
}

// awaitRestarts waits for the restarts, then for the marker's, and judges.
func (a *absence) awaitRestarts(ctx context.Context) (restarted int, fault, err error) {
	begun := time.Now()
	err = a.rollouts.await(ctx, catchUpLimit, a.edits, restartedTimes(a.round))
	if err != nil && !errors.Is(err, errTooLate) {
		return 0, nil, err
	}
	a.bench.progress.say("waited %.1f s for the restarts; now for the marker", time.Since(begun).Seconds())
	if err := a.editWorkload(ctx, a.namespace, a.marker()); err != nil {
		return 0, nil, err
	}
	if _, err := a.rollouts.awaitRestart(ctx, restartLimit, workloadName(a.marker()), a.round); err != nil {
		return 0, nil, err
	}
	restarted, fault = a.judge()
	return restarted, fault, nil
}

// judge counts the restarts since the beginning: one in each round for each
// edited Deployment and the marker, none for the bystanders.
func (a *absence) judge() (restarted int, fault error) {
	var faults []error
	seen := a.rollouts.look()
	for number := range a.marker() + 1 {
		name, want := workloadName(number), a.round
		isBystander := number >= a.edits && number < a.marker()
		if isBystander {
			want = 0
		}
		got := seen[name].restarts
		if got != want {
			faults = append(faults, fmt.Errorf("%s was restarted %d times by %d edits", name, got, want))
		}
		if number < a.edits && got >= want {
			restarted++
		}
	}
	return restarted, errors.Join(faults...)
}
