package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"

	"kubernetes-deployment-restart-controller/test/harness"
)

const (
	sharedConfigMap = "shared"
	// unrelatedDelay is how long after the edit of the shared ConfigMap another one
	// is edited.
	unrelatedDelay = time.Second
	restartLimit   = 5 * time.Minute

	liftedTarget, defaultTarget, unrelatedTarget = 2.5, 10.0, 1.0 // seconds
)

var liftedLimits = []string{"--kube-api-qps=100000", "--kube-api-burst=100000"}

// measureShared measures edits of a ConfigMap that many Deployments share, and of
// another one in between.
func (b *bench) measureShared(ctx context.Context) ([]row, error) {
	var lifted, limited, unrelated, floor samples
	err := b.onStage(ctx, func(s *stage) (err error) {
		if lifted, limited, unrelated, err = b.measureCrowd(ctx, s); err != nil || b.quick {
			return err
		}
		floor, err = b.measureBareCrowd(ctx, s)
		return err
	})
	if err != nil {
		return nil, err
	}
	what := fmt.Sprintf("one ConfigMap, %d Deployments: last one patched after the grace period", b.deployments)
	rows := []row{
		upTo(what+", client limits lifted", liftedTarget, lifted, "%.2f", "s"),
		upTo(what+", defaults", defaultTarget, limited, "%.2f", "s"),
		upTo("an unrelated edit made 1 s after that one: patched after its grace period, defaults", unrelatedTarget, unrelated, "%.2f", "s"),
	}
	if len(floor) > 0 {
		rows = append(rows, beside(fmt.Sprintf("one ConfigMap, %d Deployments, with a bare watch-and-patch of 8 workers", b.deployments), floor, "%.2f", "s"))
	}
	return rows, nil
}

func (b *bench) measureCrowd(ctx context.Context, s *stage) (lifted, limited, unrelated samples, err error) {
	c, err := b.gather(ctx, s, "crowd", nil)
	if err != nil {
		return nil, nil, nil, err
	}
	defer c.close()
	if err := c.record(ctx); err != nil {
		return nil, nil, nil, err
	}
	for range b.repetitions {
		if err := b.editShared(ctx, c, false, liftedLimits...); err != nil {
			return nil, nil, nil, err
		}
	}
	lifted, c.shared = c.shared, nil
	for range b.repetitions {
		if err := b.editShared(ctx, c, true); err != nil {
			return nil, nil, nil, err
		}
	}
	return lifted, c.shared, c.unrelated, nil
}

// measureBareCrowd does the same with the bare process, which waits for no grace
// period and writes no Events.
func (b *bench) measureBareCrowd(ctx context.Context, s *stage) (samples, error) {
	c, err := b.gather(ctx, s, "bare-crowd", func(deployment *appsv1.Deployment) {
		deployment.Annotations = map[string]string{bareAnnotation: sharedConfigMap}
	})
	if err != nil {
		return nil, err
	}
	defer c.close()
	c.grace = 0
	stopBare, err := startBare(ctx, s.cluster.Kubeconfig())
	if err != nil {
		return nil, err
	}
	for range b.repetitions {
		begun := time.Now()
		if err = c.editOnce(ctx); err == nil {
			err = c.awaitAll(ctx, begun)
		}
		if err != nil {
			return nil, errors.Join(err, stopBare())
		}
		b.progress.say("%d patches of the bare process, the last one after %.2f s", c.size, c.shared[len(c.shared)-1])
	}
	return c.shared, stopBare()
}

// editShared edits the shared ConfigMap under a fresh controller, whose client
// limits are full, and if asked for the unrelated one a second later.
func (b *bench) editShared(ctx context.Context, c *crowd, withUnrelated bool, flags ...string) error {
	return c.withController(ctx, func(controller *harness.Controller) error {
		begun := time.Now()
		used, err := cpuSecondsOf(controller.PID())
		if err != nil {
			return err
		}
		if err := c.editOnce(ctx); err != nil {
			return err
		}
		if withUnrelated {
			if err := c.editUnrelated(ctx, begun); err != nil {
				return err
			}
		}
		if err := c.awaitAll(ctx, begun); err != nil {
			return err
		}
		usedNow, err := cpuSecondsOf(controller.PID())
		if err != nil {
			return err
		}
		b.progress.say("%d restarts, the last one %.2f s after the grace period, %.2f CPU-s of the controller%s",
			c.size, c.shared[len(c.shared)-1], usedNow-used, c.describeUnrelated(withUnrelated))
		if b.quick {
			return nil
		}
		return c.awaitQuiet(ctx, controller)
	}, append(flags, b.graceFlag())...)
}

func (c *crowd) editUnrelated(ctx context.Context, sharedEdit time.Time) error {
	if err := pause(ctx, time.Until(sharedEdit.Add(unrelatedDelay))); err != nil {
		return err
	}
	begun := time.Now()
	if err := c.editWorkload(ctx, c.lonely(), 0); err != nil {
		return err
	}
	c.lonelyRounds++
	patched, err := c.alone.awaitRestart(ctx, restartLimit, workloadName(0), c.lonelyRounds)
	if err != nil {
		return err
	}
	c.unrelated.addSeconds(patched.Sub(begun) - c.grace)
	return nil
}

func (c *crowd) describeUnrelated(made bool) string {
	if !made {
		return ""
	}
	return fmt.Sprintf("; the unrelated one %.2f s after its own", c.unrelated[len(c.unrelated)-1])
}
