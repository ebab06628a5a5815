package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
)

// driver does to the world what its users would. It speaks to the API server
// directly, and repeats what fails until it knows that it is done. Each object
// belongs to one worker, so that the edits of one are in order.
//
// Every kind of edit has a field manager of its own, and so has each key. With one for
// all, a label that is set later would move the time at which the API says that the
// content was edited (docs/design.md, Limits).
type driver struct {
	client  kubernetes.Interface
	objects dynamic.Interface // for workloads of all kinds
	judge   *judge
	world   *world
	serial  atomic.Int64 // makes each value another: content comes back only where it is flipped
	calm    atomic.Int64 // until when there is a truce, in nanoseconds
	tasks   [workers][]task
	ending  atomic.Bool // bad contents end, too

	breaker *breaker
	people  *people

	mu    sync.Mutex
	edits map[string]int // by kind
}

const (
	workers    = 4
	maker      = "maker"
	retryPause = 200 * time.Millisecond
)

func (d *driver) count(kind string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.edits[kind]++
}

func (d *driver) counts() map[string]int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return maps.Clone(d.edits)
}

// until repeats what fails until it succeeds or the context ends. An answer that done
// accepts is a success: the attempt before may have been carried out.
func until(ctx context.Context, done func(error) bool, attempt func(context.Context) error) error {
	for {
		limited, cancel := context.WithTimeout(ctx, 10*time.Second)
		err := attempt(limited)
		cancel()
		if err == nil || done != nil && done(err) {
			return nil
		}
		if apierrors.IsInvalid(err) || apierrors.IsBadRequest(err) {
			return err // the soak is wrong
		}
		select {
		case <-ctx.Done():
			return errors.Join(ctx.Err(), err)
		case <-time.After(retryPause):
		}
	}
}

func (d *driver) value() string { return fmt.Sprintf("v%d", d.serial.Add(1)) }

// setUp makes everything, and enables it.
func (d *driver) setUp(ctx context.Context) error {
	for _, name := range namespaces() {
		namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
		annotateNamespace(&namespace.ObjectMeta)
		if _, err := d.client.CoreV1().Namespaces().Create(ctx, namespace, metav1.CreateOptions{}); err != nil {
			return fmt.Errorf("create a namespace: %w", err)
		}
	}
	configs, workloads := d.world.everything()
	return d.share(ctx, func(ctx context.Context, w int) error {
		for i := w; i < len(configs); i += workers {
			if err := d.makeConfig(ctx, configs[i], "created"); err != nil {
				return err
			}
		}
		for i := w; i < len(workloads); i += workers {
			if err := d.makeWorkload(ctx, workloads[i]); err != nil {
				return err
			}
		}
		return nil
	})
}

// share runs the workers and returns when all have ended. If one fails, the others end early.
func (d *driver) share(ctx context.Context, work func(context.Context, int) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var wait sync.WaitGroup
	errs := make([]error, workers)
	for w := range workers {
		wait.Go(func() {
			if errs[w] = work(ctx, w); errs[w] != nil {
				cancel()
			}
		})
	}
	wait.Wait()
	return errors.Join(errs...)
}

// disturb edits at random until the time is over, about so many times a second.
func (d *driver) disturb(ctx context.Context, seed uint64, end time.Time, rate float64) error {
	return d.share(ctx, func(ctx context.Context, w int) error {
		random := rand.New(rand.NewPCG(seed, uint64(w)))
		ticker := time.NewTicker(time.Duration(float64(workers) / rate * float64(time.Second)))
		defer ticker.Stop()
		// These take so long that a short soak would seldom see the end of one.
		if err := errors.Join(d.spoil(ctx, random, w), d.holdConfig(ctx, random, w)); err != nil {
			return err
		}
		for time.Now().Before(end) {
			if err := d.step(ctx, random, w); err != nil {
				return err
			}
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-ticker.C:
			}
		}
		return nil
	})
}

// step does one random thing to an object of the worker's.
func (d *driver) step(ctx context.Context, random *rand.Rand, w int) error {
	c := pick(random, d.world.configs, w)
	app := pick(random, d.world.workloads, w)
	if err := d.doDue(ctx, w, time.Now()); err != nil {
		return err
	}
	if random.IntN(100) < d.flipsInAHundred() {
		return d.flip(ctx, random, w)
	}
	switch dice := random.IntN(1000); {
	case dice < 350:
		return d.label(ctx, random, c)
	case dice < 600:
		return d.editBlindly(ctx, random, c)
	case dice < 860:
		return d.edit(ctx, random, c)
	case dice < 880:
		return d.remake(ctx, random, c)
	case dice < 896:
		return d.holdUp(ctx, random, w)
	case dice < 908:
		return d.toggle(ctx, app)
	case dice < 912:
		return d.setGracePeriod(ctx, random, app)
	case dice < 950:
		return d.scale(ctx, random, app)
	case dice < 975:
		return d.pause(ctx, app)
	case dice < 980:
		return d.roll(ctx, app)
	case dice < 987:
		return d.strip(ctx, random, w)
	default:
		return d.remakeWorkload(ctx, random, app)
	}
}

// truce says that until a time the controllers can see everything.
func (d *driver) truce(until time.Time) { d.calm.Store(until.UnixNano()) }

func (d *driver) flipsInAHundred() int {
	if time.Now().UnixNano() < d.calm.Load() {
		return 50
	}
	return 2
}

// pick draws one of the objects that belong to a worker.
func pick[T any](random *rand.Rand, all []T, w int) T {
	count := (len(all) - w + workers - 1) / workers
	return all[w+workers*random.IntN(count)]
}

// calmDown restores what is flipped, mends what is bad, lifts what is held, resumes what is paused, and recreates what is deleted:
// configs that are gone would not be judged.
func (d *driver) calmDown(ctx context.Context) error {
	d.ending.Store(true)
	return d.share(ctx, func(ctx context.Context, w int) error {
		for len(d.tasks[w]) > 0 {
			if err := d.doDue(ctx, w, time.Now().Add(time.Hour)); err != nil {
				return err
			}
		}
		for i := w; i < len(d.world.workloads); i += workers {
			if app := d.world.workloads[i]; app.paused {
				if err := d.pause(ctx, app); err != nil {
					return err
				}
			}
		}
		for i := w; i < len(d.world.configs); i += workers {
			if c := d.world.configs[i]; c.content == nil {
				if err := d.restore(ctx, c); err != nil {
					return err
				}
			}
		}
		return nil
	})
}
