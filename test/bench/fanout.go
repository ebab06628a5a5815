package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"kubernetes-deployment-restart-controller/test/harness"
)

const (
	fanOutLimit = 50 // the default of --fan-out-limit
	// fanOutPlaces is how many of these places one namespace gets.
	fanOutPlaces = fanOutLimit/2 + 1

	fanOutTarget = 3.0 // seconds beyond the rounds
)

var fanOutFlags = []string{"--fan-out=gradual", "--restart-soak=0s"}

// fanOuts are what several fan-outs took, in seconds.
type fanOuts struct {
	total    samples // from the end of the grace period until all were delivered
	delivery samples // the median of each fan-out
	beyond   samples // what the total exceeds the rounds by
}

// measureFanOut measures edits of a ConfigMap that reach many Deployments gradually, and of
// another ConfigMap meanwhile.
func (b *bench) measureFanOut(ctx context.Context) ([]row, error) {
	var taken fanOuts
	var unrelated samples
	err := b.onArena(ctx, func(a *arena) error {
		c, err := b.gather(ctx, a.stage, "fan-out", nil)
		if err != nil {
			return err
		}
		defer c.close()
		err = a.drive(ctx, upstream, func(*shift) error { return b.fanOutRepeatedly(ctx, c, &taken) })
		unrelated = c.unrelated
		return err
	})
	if err != nil {
		return nil, err
	}
	what := fmt.Sprintf("gradual fan-out to %d Deployments without a soak: ", b.deployments)
	return []row{
		upTo(fmt.Sprintf("%slonger than %d rounds of the median delivery by", what, roundsOf(b.deployments)), fanOutTarget, taken.beyond, "%.2f", "s"),
		beside(what+"median delivery", taken.delivery, "%.2f", "s"),
		beside(what+"all delivered after the grace period", taken.total, "%.1f", "s"),
		upTo("an unrelated edit made in the middle of it: patched after its grace period", unrelatedTarget, unrelated, "%.2f", "s"),
	}, nil
}

// roundsOf returns how many rounds a fan-out takes in one namespace if all deliveries take equally long.
func roundsOf(readers int) int {
	count := 0
	for proven := 0; proven < readers; count++ {
		proven += min(max(1, proven), fanOutPlaces)
	}
	return count
}

func (b *bench) fanOutRepeatedly(ctx context.Context, c *crowd, taken *fanOuts) error {
	err := errors.Join(c.all.await(ctx, rolloutLimit, c.size, runs), c.alone.await(ctx, rolloutLimit, 1, runs))
	if err == nil {
		err = c.record(ctx)
	}
	for number := 0; err == nil && number < b.repetitions; number++ {
		err = c.withController(ctx, func(controller *harness.Controller) error {
			if err := c.fanOut(ctx, controller, taken); err != nil {
				return err
			}
			b.progress.say("%d deliveries within %.1f s, the median took %.2f s, at most %d were rolling%s",
				c.size, taken.total[number], taken.delivery[number], c.all.most(), c.describeUnrelated(true))
			return c.awaitQuiet(ctx, controller)
		}, append(fanOutFlags, b.graceFlag())...)
	}
	return err
}

func runs(seen *sight) bool { return seen.complete }

// fanOut edits the shared ConfigMap, and the unrelated one when half of the Deployments have restarted.
func (c *crowd) fanOut(ctx context.Context, controller *harness.Controller, taken *fanOuts) error {
	begun := time.Now()
	if err := c.editOnce(ctx); err != nil {
		return err
	}
	if err := c.all.await(ctx, restartLimit, c.size/2, restartedTimes(c.round)); err != nil {
		return err
	}
	if err := c.editUnrelated(ctx, begun); err != nil {
		return err
	}
	err := c.all.await(ctx, restartLimit, c.size, func(seen *sight) bool { return seen.restarts >= c.round && !seen.rolling })
	if err != nil {
		return err
	}
	taken.add(c.all.look(), begun.Add(c.grace))
	return errors.Join(c.checkFanOut(), c.awaitDelivered(ctx, controller))
}

func (f *fanOuts) add(seen map[string]sight, due time.Time) {
	var deliveries samples
	last := due
	for _, one := range seen {
		deliveries.addSeconds(one.completeAt.Sub(one.restartedAt))
		if one.completeAt.After(last) {
			last = one.completeAt
		}
	}
	total, median := last.Sub(due).Seconds(), deliveries.median()
	f.total.add(total)
	f.delivery.add(median)
	f.beyond.add(total - float64(roundsOf(len(seen)))*median)
}

// checkFanOut returns an error if a Deployment restarted twice, or if there were more restarts than
// the limit at the same time.
func (c *crowd) checkFanOut() error {
	for name, seen := range c.all.look() {
		if seen.restarts != c.round {
			return fmt.Errorf("%s was restarted %d times by %d edits", name, seen.restarts, c.round)
		}
	}
	if most := c.all.most(); most > fanOutLimit {
		return fmt.Errorf("%d restarts were rolling at the same time", most)
	}
	return nil
}

// awaitDelivered waits until the controller knows that each restart was delivered, the unrelated one
// as well.
func (c *crowd) awaitDelivered(ctx context.Context, controller *harness.Controller) error {
	return harness.Eventually(ctx, restartLimit, func(ctx context.Context) error {
		metrics, err := controller.Metrics(ctx)
		if err != nil {
			return err
		}
		delivered, errDelivered := metrics.Value("restarts_delivered_total", nil)
		waiting, errWaiting := metrics.Value("undelivered_restarts", nil)
		if err := errors.Join(errDelivered, errWaiting); err != nil {
			return harness.Final(err)
		}
		if int(delivered) != c.size+1 || waiting != 0 {
			return fmt.Errorf("%.0f restarts were delivered and %.0f were not, want %d and 0", delivered, waiting, c.size+1)
		}
		return nil
	})
}
