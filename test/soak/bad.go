package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"kubernetes-deployment-restart-controller/test/harness"
)

const (
	// longestBad is how long a bad content stays if nobody is halted for it.
	longestBad = 40 * time.Second
	// noticing is how long a person takes at most to act on a halt.
	noticing = 10 * time.Second
	// burial is how long after the end of a bad content the pods go that it has broken, which a
	// StatefulSet waits for.
	burial = 5 * time.Second
)

// spoil gives a config that many workloads read a content that breaks some of them, until a person notices.
func (d *driver) spoil(ctx context.Context, random *rand.Rand, w int) error {
	c := d.pickShared(random, w)
	if c == nil || c.bad {
		return nil
	}
	key := []string{"data/a", "data/b"}[random.IntN(2)]
	var victims []*workload
	for _, reader := range c.readersOf(key) {
		if !reader.never && (len(victims) == 0 || random.IntN(3) > 0) {
			victims = append(victims, reader)
		}
	}
	if len(victims) == 0 {
		return nil
	}
	d.count("bad content")
	before, begin := c.content[key], time.Now()
	c.bad = true
	d.breaker.doom(c, victims, begin)
	acts := random.IntN(5)
	notices := between(random, 0, noticing)
	var look func(ctx context.Context) error
	look = func(ctx context.Context) error {
		since := d.people.haltedSince(c)
		isNoticed := !since.IsZero() && time.Since(since) > notices
		if !d.ending.Load() && !isNoticed && time.Since(begin) < longestBad {
			d.later(w, time.Second, look)
			return nil
		}
		return d.makeGood(ctx, w, c, key, before, acts)
	}
	d.later(w, time.Second, look)
	return d.setKey(ctx, c, key, "bad-"+d.value())
}

// makeGood ends a bad content: somebody reverts it, fixes it, or mends what it needs.
func (d *driver) makeGood(ctx context.Context, w int, c *config, key, before string, acts int) error {
	victims := d.breaker.spare(c)
	c.bad = false
	bury := func(ctx context.Context) error { return d.bury(ctx, victims) }
	d.later(w, burial, bury)
	d.later(w, 2*burial, bury)
	return d.mend(ctx, c, key, before, acts)
}

// mend reverts a bad content, fixes it, or leaves it as one that breaks nothing any more.
func (d *driver) mend(ctx context.Context, c *config, key, before string, acts int) error {
	switch {
	case acts < 3:
		d.count("bad content reverted")
		return d.setKey(ctx, c, key, before)
	case acts < 4:
		d.count("bad content fixed")
		return d.setKey(ctx, c, key, d.value())
	}
	d.count("bad content that becomes good")
	return nil
}

// bury deletes the pods of workloads that crash.
func (d *driver) bury(ctx context.Context, victims []*workload) error {
	for _, app := range victims {
		err := until(ctx, nil, func(ctx context.Context) error {
			pods, err := d.client.CoreV1().Pods(app.namespace).List(ctx, metav1.ListOptions{LabelSelector: "app=" + app.name})
			if err != nil {
				return err
			}
			return deleteCrashing(ctx, d.client, pods.Items, d.breaker)
		})
		if err != nil {
			return fmt.Errorf("delete broken pods of %s: %w", app.name, err)
		}
	}
	return nil
}

// deleteCrashing deletes the pods that crash and need not.
func deleteCrashing(ctx context.Context, client kubernetes.Interface, pods []corev1.Pod, b *breaker) error {
	for i := range pods {
		pod := &pods[i]
		if !harness.IsCrashing(pod) || b.isDoomed(pod) {
			continue
		}
		err := client.CoreV1().Pods(pod.Namespace).Delete(ctx, pod.Name,
			metav1.DeleteOptions{GracePeriodSeconds: new(int64(0)), Preconditions: &metav1.Preconditions{UID: &pod.UID}})
		if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
			return err
		}
	}
	return nil
}

// breaker makes pods crash that a restart has created with bad content, as a kubelet reports it.
type breaker struct {
	client kubernetes.Interface
	doomed chan *corev1.Pod

	mu      sync.Mutex
	victims map[*config]outbreak
	crashed int
}

// outbreak is a content that breaks all restarts of some workloads from a time on.
type outbreak struct {
	since   time.Time
	victims []*workload
	isOne   bool // only the first of the victims to restart is one
}

func newBreaker(client kubernetes.Interface) *breaker {
	return &breaker{client: client, doomed: make(chan *corev1.Pod, 10_000), victims: map[*config]outbreak{}}
}

func (b *breaker) doom(c *config, victims []*workload, since time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.victims[c] = outbreak{since, victims, false}
}

// doomFirst dooms whichever workload restarts first from a time on.
func (b *breaker) doomFirst(c *config, workloads []*workload, since time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.victims[c] = outbreak{since, workloads, true}
}

// spare ends what a config does, and returns the workloads that suffered from it.
func (b *breaker) spare(c *config) []*workload {
	b.mu.Lock()
	defer b.mu.Unlock()
	victims := b.victims[c].victims
	delete(b.victims, c)
	return victims
}

func (b *breaker) isDoomed(pod *corev1.Pod) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	_, victim := b.victimOf(pod)
	return victim != nil
}

// victimOf returns the workload of a pod that is doomed, and the config that it suffers from.
func (b *breaker) victimOf(pod *corev1.Pod) (*config, *workload) {
	restarted, err := time.Parse(time.RFC3339Nano, pod.Annotations[timestampAnnotation])
	if err != nil {
		return nil, nil
	}
	isVictim := func(w *workload) bool { return w.namespace == pod.Namespace && w.name == pod.Labels["app"] }
	for c, o := range b.victims {
		if i := slices.IndexFunc(o.victims, isVictim); i >= 0 && restarted.After(o.since) {
			return c, o.victims[i]
		}
	}
	return nil, nil
}

// see lets a pod crash that runs and is doomed.
func (b *breaker) see(pod *corev1.Pod) {
	if harness.IsReady(pod) && b.strikes(pod) {
		b.doomed <- pod
	}
}

func (b *breaker) strikes(pod *corev1.Pod) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	c, victim := b.victimOf(pod)
	if victim != nil && b.victims[c].isOne {
		b.victims[c] = outbreak{since: b.victims[c].since, victims: []*workload{victim}}
	}
	return victim != nil
}

// work makes pods crash until the context ends.
func (b *breaker) work(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case pod := <-b.doomed:
			if !b.isDoomed(pod) {
				continue
			}
			// It can only fail because the context ends.
			_ = until(ctx, apierrors.IsNotFound, func(ctx context.Context) error { return harness.CrashPod(ctx, b.client, pod) })
			b.mu.Lock()
			b.crashed++
			b.mu.Unlock()
		}
	}
}

func (b *breaker) count() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.crashed
}
