package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"
)

// The crowd is a config with many readers that are left alone otherwise. Its bad contents break the reader that
// restarts first, so only the halt keeps the others from restarting, and nothing excuses it if they do.
const (
	crowdNamespace = "soak-crowd"
	crowdSize      = 12
	// overlooking is for how long nobody acts on a halt.
	overlooking = 20 * time.Second
)

// newCrowd returns the config, with its readers.
func newCrowd() *config {
	c := &config{
		kind: "configmap", namespace: crowdNamespace, name: "crowd-config", lively: true, steady: true,
		content: map[string]string{"data/" + theKey: "first", "data/b": "first"},
	}
	for i := range crowdSize {
		reader := &workload{
			kind: []string{"Deployment", "Deployment", "StatefulSet", "DaemonSet"}[i%4], namespace: crowdNamespace,
			name: fmt.Sprintf("crowd-%d", i), steady: true, enabled: true, replicas: 1 + int32(i)%2, surge: 1,
			uses: []use{{config: c, how: []how{byEnv, asItem}[i/4%2]}},
		}
		c.readers = append(c.readers, reader)
	}
	return c
}

// spoilCrowd gives the config of the crowd one bad content after the other until the time is over.
func (d *driver) spoilCrowd(ctx context.Context, random *rand.Rand, end time.Time) error {
	for c := d.world.crowd; time.Now().Before(end); {
		d.count("bad content for the crowd")
		before := c.content["data/"+theKey]
		d.breaker.doomFirst(c, c.readers, time.Now())
		if err := d.setKey(ctx, c, "data/"+theKey, "bad-"+d.value()); err != nil {
			return err
		}
		d.overlook(ctx, c, end)
		victims := d.breaker.spare(c)
		if err := d.mend(ctx, c, "data/"+theKey, before, random.IntN(5)); err != nil {
			return err
		}
		for range 2 {
			pause(ctx, burial)
			if err := d.bury(ctx, victims); err != nil {
				return err
			}
		}
		pause(ctx, min(burial, time.Until(end)))
	}
	return nil
}

// overlook waits until a config has been halted for a while. It does not matter whether somebody resumes it.
func (d *driver) overlook(ctx context.Context, c *config, end time.Time) {
	begin := time.Now()
	var since time.Time
	for ; ctx.Err() == nil && time.Now().Before(end); pause(ctx, time.Second) {
		if halted := d.people.haltedSince(c); since.IsZero() && halted.After(begin) {
			since = halted
		}
		if isHalted := !since.IsZero(); isHalted && time.Since(since) > overlooking || !isHalted && time.Since(begin) > 2*longestBad {
			return
		}
	}
}
