package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubernetes-deployment-restart-controller/test/harness"
)

// crowd is a namespace of Deployments that share a ConfigMap, and another one of
// one Deployment with a ConfigMap of its own.
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

// gather makes a crowd, and begins to follow it. Prepare may change a Deployment
// before it is made.
func (b *bench) gather(ctx context.Context, s *stage, namespace string, prepare func(*appsv1.Deployment)) (*crowd, error) {
	b.progress.say("creating %d Deployments that share a ConfigMap", b.deployments)
	c := &crowd{stage: s, namespace: namespace, size: b.deployments, grace: b.grace}
	if err := s.makeNamespace(ctx, c.namespace); err != nil {
		return nil, err
	}
	if err := s.createConfigMap(ctx, newConfigMap(c.namespace, sharedConfigMap, smallSize, smallKeys)); err != nil {
		return nil, err
	}
	err := inParallel(ctx, writers, c.size, func(ctx context.Context, number int) error {
		deployment := newDeployment(c.namespace, workloadName(number), sharedConfigMap)
		if prepare != nil {
			prepare(deployment)
		}
		return s.createDeployment(ctx, deployment)
	})
	if err != nil {
		return nil, err
	}
	if err := s.createWorkloads(ctx, c.lonely(), 1, nil); err != nil {
		return nil, err
	}
	return c, c.follow(ctx)
}

func (c *crowd) follow(ctx context.Context) (err error) {
	if c.all, err = c.stage.follow(ctx, c.namespace); err != nil {
		return err
	}
	if c.alone, err = c.stage.follow(ctx, c.lonely()); err != nil {
		c.all.close()
	}
	return err
}

func (c *crowd) close() {
	c.all.close()
	c.alone.close()
}

// lonely is the namespace of the Deployment with a ConfigMap of its own.
func (c *crowd) lonely() string { return c.namespace + "-apart" }

// record lets a controller record all checksums.
func (c *crowd) record(ctx context.Context) error {
	return c.withController(ctx, func(*harness.Controller) error {
		return errors.Join(
			c.all.await(ctx, recordLimit, c.size, isRecorded),
			c.alone.await(ctx, recordLimit, 1, isRecorded))
	}, append([]string{"--restart-grace-period=0"}, liftedLimits...)...)
}

// editOnce edits the shared ConfigMap.
func (c *crowd) editOnce(ctx context.Context) error {
	c.round++
	return c.edit(ctx, newConfigMap(c.namespace, sharedConfigMap, smallSize, smallKeys))
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
