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

// task is what a worker is to do later.
type task struct {
	due time.Time
	do  func(context.Context) error
}

const (
	// longestFlip is longer than most restarts take to be made.
	longestFlip = 10 * time.Second
	// Most flips are there for more than a second when a pod is deleted, leave its successor time to start,
	// to the second of its times, and are over before the grace period of a patient workload is.
	beforeHit               = 1200 * time.Millisecond
	shortestHit, longestHit = 6 * time.Second, 8 * time.Second
	patientGrace            = 9 * time.Second
)

// flip gives a key that pods see another value for a while, in which, as a rule, a pod is recreated.
func (d *driver) flip(ctx context.Context, random *rand.Rand, w int) error {
	c := d.pickFlippable(random, w)
	if c.content == nil || !c.lively || c.shared {
		return d.label(ctx, random, c)
	}
	key := []string{"data/a", "data/b"}[random.IntN(2)]
	before := c.content[key]
	d.count("content flipped")
	if err := d.setKey(ctx, c, key, d.value()); err != nil {
		return err
	}
	takes := between(random, 0, longestFlip)
	if readers := c.readersOf(key); len(readers) > 0 && random.IntN(5) > 0 {
		takes = between(random, shortestHit, longestHit)
		reader, dice := readers[max(0, slices.IndexFunc(readers, isPatient))], random.Int()
		d.later(w, beforeHit, func(ctx context.Context) error { return d.reschedule(ctx, dice, reader) })
	}
	c.flips++
	d.later(w, takes, func(ctx context.Context) error {
		c.flips--
		return d.setKey(ctx, c, key, before)
	})
	return nil
}

// later lets a worker do something after a while.
func (d *driver) later(w int, after time.Duration, do func(context.Context) error) {
	d.tasks[w] = append(d.tasks[w], task{time.Now().Add(after), do})
}

// doDue lets a worker do what is due.
func (d *driver) doDue(ctx context.Context, w int, now time.Time) error {
	var due []task
	d.tasks[w] = slices.DeleteFunc(d.tasks[w], func(t task) bool {
		if t.due.After(now) {
			return false
		}
		due = append(due, t)
		return true
	})
	for _, t := range due {
		if err := t.do(ctx); err != nil {
			return err
		}
	}
	return nil
}

func isPatient(w *workload) bool { return w.ownGrace > 0 && !w.never }

// pickFlippable draws a config of a worker's, if possible a lively one that a patient workload reads.
func (d *driver) pickFlippable(random *rand.Rand, w int) (c *config) {
	for range 10 {
		c = pick(random, d.world.configs, w)
		if c.lively && !c.shared && c.content != nil && slices.ContainsFunc(c.readers, isPatient) {
			break
		}
	}
	return c
}

// reschedule deletes a pod of a workload, so that another one starts.
func (d *driver) reschedule(ctx context.Context, dice int, app *workload) error {
	d.count("pod deleted")
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
