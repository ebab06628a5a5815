package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// flip is an edit that is to be taken back.
type flip struct {
	config     *config
	key, value string // value is what it was before
	due        time.Time
}

const (
	// longestFlip is longer than most restarts take to be made.
	longestFlip = 10 * time.Second
	// shortFlip leaves a pod time to start, and is shorter than the grace periods of patient workloads.
	shortFlip = 4 * time.Second
)

// flip gives a key that pods see another value for a while, in which, as a rule, a pod starts anew.
func (d *driver) flip(ctx context.Context, random *rand.Rand, w int) error {
	c := d.pickFlippable(random, w)
	if c.content == nil || !c.lively {
		return d.label(ctx, random, c)
	}
	key := []string{"data/a", "data/b"}[random.IntN(2)]
	before := c.content[key]
	d.count("content flipped")
	if err := d.setKey(ctx, c, key, d.value()); err != nil {
		return err
	}
	longest := longestFlip
	if random.IntN(4) > 0 {
		longest = shortFlip
	}
	d.flips[w] = append(d.flips[w], flip{c, key, before, time.Now().Add(between(random, 0, longest))})
	c.flips++
	if readers := c.readersOf(key); len(readers) > 0 && random.IntN(5) > 0 {
		return d.reschedule(ctx, random, readers[random.IntN(len(readers))])
	}
	return nil
}

// pickFlippable draws a config of a worker's, if possible a lively one that a patient workload reads.
func (d *driver) pickFlippable(random *rand.Rand, w int) (c *config) {
	for range 10 {
		c = pick(random, d.world.configs, w)
		if c.lively && c.content != nil && slices.ContainsFunc(c.readers, func(r *workload) bool { return r.ownGrace > 0 && !r.never }) {
			break
		}
	}
	return c
}

// flipBack takes back what a worker has flipped, if it is due.
func (d *driver) flipBack(ctx context.Context, w int, now time.Time) error {
	var rest []flip
	due := d.flips[w]
	d.flips[w] = nil
	for _, f := range due {
		if f.due.After(now) {
			rest = append(rest, f)
			continue
		}
		if err := d.setKey(ctx, f.config, f.key, f.value); err != nil {
			return err
		}
		f.config.flips--
	}
	d.flips[w] = append(rest, d.flips[w]...)
	return nil
}

// reschedule deletes a pod of a workload, so that another one starts.
func (d *driver) reschedule(ctx context.Context, random *rand.Rand, app *workload) error {
	d.count("pod deleted")
	dice := random.Int()
	err := until(ctx, apierrors.IsNotFound, func(ctx context.Context) error {
		pods, err := d.client.CoreV1().Pods(app.namespace).List(ctx, metav1.ListOptions{LabelSelector: "app=" + app.name})
		if err != nil || len(pods.Items) == 0 {
			return err
		}
		pod := &pods.Items[dice%len(pods.Items)]
		return d.client.CoreV1().Pods(app.namespace).Delete(ctx, pod.Name, metav1.DeleteOptions{GracePeriodSeconds: new(int64(0))})
	})
	if err != nil {
		return fmt.Errorf("delete a pod of %s: %w", app.name, err)
	}
	return nil
}
