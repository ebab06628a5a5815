package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

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

// crowd is a namespace of Deployments that share a ConfigMap, and one Deployment
// with a ConfigMap of its own.
type crowd struct {
	*stage
	namespace         string
	size              int
	grace             time.Duration
	all, alone        *rollouts
	round             int // how often the shared ConfigMap was edited
	lonelyRounds      int
	shared, unrelated samples // seconds after the grace period
}

// measureShared measures edits of a ConfigMap that many Deployments share, and of
// another one in between.
func (b *bench) measureShared(ctx context.Context) ([]row, error) {
	var lifted, limited, unrelated samples
	err := b.onStage(ctx, func(s *stage) error {
		c, err := b.gather(ctx, s)
		if err != nil {
			return err
		}
		defer c.close()
		for range b.repetitions {
			if err := b.editShared(ctx, c, false, liftedLimits...); err != nil {
				return err
			}
		}
		lifted, c.shared = c.shared, nil
		for range b.repetitions {
			if err := b.editShared(ctx, c, true); err != nil {
				return err
			}
		}
		limited, unrelated = c.shared, c.unrelated
		return nil
	})
	if err != nil {
		return nil, err
	}
	what := fmt.Sprintf("one ConfigMap, %d Deployments: last one patched after the grace period", b.deployments)
	return []row{
		upTo(what+", client limits lifted", liftedTarget, lifted, "%.2f", "s"),
		upTo(what+", defaults", defaultTarget, limited, "%.2f", "s"),
		upTo("an unrelated edit made 1 s after that one: patched after its grace period, defaults", unrelatedTarget, unrelated, "%.2f", "s"),
	}, nil
}

func (b *bench) gather(ctx context.Context, s *stage) (*crowd, error) {
	b.progress.say("creating %d Deployments that share a ConfigMap", b.deployments)
	c := &crowd{stage: s, namespace: "crowd", size: b.deployments, grace: b.grace}
	if err := s.makeNamespace(ctx, c.namespace); err != nil {
		return nil, err
	}
	if err := s.createConfigMap(ctx, newConfigMap(c.namespace, sharedConfigMap, smallSize, smallKeys)); err != nil {
		return nil, err
	}
	err := inParallel(ctx, c.size, func(ctx context.Context, number int) error {
		return s.createDeployment(ctx, newDeployment(c.namespace, workloadName(number), sharedConfigMap))
	})
	if err != nil {
		return nil, err
	}
	if err := s.createWorkloads(ctx, c.lonely(), 1, nil); err != nil {
		return nil, err
	}
	if c.all, err = s.follow(ctx, c.namespace); err != nil {
		return nil, err
	}
	if c.alone, err = s.follow(ctx, c.lonely()); err != nil {
		c.all.close()
		return nil, err
	}
	return c, c.record(ctx)
}

func (c *crowd) close() {
	c.all.close()
	c.alone.close()
}

// lonely is the namespace of the Deployment with a ConfigMap of its own.
func (c *crowd) lonely() string { return c.namespace + "-apart" }

func (c *crowd) record(ctx context.Context) error {
	return c.withController(ctx, func(*harness.Controller) error {
		return errors.Join(
			c.all.await(ctx, recordLimit, c.size, isRecorded),
			c.alone.await(ctx, recordLimit, 1, isRecorded))
	}, append([]string{"--restart-grace-period=0"}, liftedLimits...)...)
}

// editShared edits the shared ConfigMap under a fresh controller, whose client
// limits are full, and if asked for the unrelated one a second later.
func (b *bench) editShared(ctx context.Context, c *crowd, withUnrelated bool, flags ...string) error {
	return c.withController(ctx, func(controller *harness.Controller) error {
		begun := time.Now()
		if err := c.edit(ctx, newConfigMap(c.namespace, sharedConfigMap, smallSize, smallKeys)); err != nil {
			return err
		}
		c.round++
		if withUnrelated {
			if err := c.editUnrelated(ctx, begun); err != nil {
				return err
			}
		}
		if err := c.awaitAll(ctx, begun); err != nil {
			return err
		}
		b.progress.say("%d restarts, the last one %.2f s after the grace period%s", c.size, c.shared[len(c.shared)-1], c.tellUnrelated(withUnrelated))
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

func (c *crowd) tellUnrelated(made bool) string {
	if !made {
		return ""
	}
	return fmt.Sprintf("; the unrelated one %.2f s after its own", c.unrelated[len(c.unrelated)-1])
}

// awaitAll waits for the restart of all Deployments and notes when the last one
// was seen.
func (c *crowd) awaitAll(ctx context.Context, begun time.Time) error {
	if err := c.all.await(ctx, restartLimit, c.size, restartedTimes(c.round)); err != nil {
		return err
	}
	last := begun
	for name, seen := range c.all.look() {
		if seen.restarts > c.round {
			return fmt.Errorf("%s was restarted %d times by %d edits", name, seen.restarts, c.round)
		}
		if seen.restartedAt.After(last) {
			last = seen.restartedAt
		}
	}
	c.shared.addSeconds(last.Sub(begun) - c.grace)
	return nil
}

// awaitQuiet waits until the controller has nothing to do and no more Events
// come, which would compete with the next edit.
func (c *crowd) awaitQuiet(ctx context.Context, controller *harness.Controller) error {
	if err := harness.Eventually(ctx, restartLimit, controller.Idle); err != nil {
		return err
	}
	for before := int64(-1); ; {
		events, err := c.client.CoreV1().Events(c.namespace).List(ctx, metav1.ListOptions{Limit: 1})
		if err != nil {
			return fmt.Errorf("count events: %w", err)
		}
		now := int64(len(events.Items))
		if events.RemainingItemCount != nil {
			now += *events.RemainingItemCount
		}
		if now == before {
			return nil
		}
		before = now
		if err := pause(ctx, time.Second); err != nil {
			return err
		}
	}
}
