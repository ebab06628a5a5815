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
	"k8s.io/client-go/kubernetes"
)

// hostileNamespace is that of somebody who makes what hurts. None of it is judged, but that the
// others do not notice.
const hostileNamespace = "hostile"

// tenant makes hostile objects, works on them, and removes them.
type tenant struct {
	client    kubernetes.Interface
	account   string          // of the controller
	addresses func() []string // where controllers serve their metrics
	serial    atomic.Int64

	mu   sync.Mutex
	acts map[string]int
}

// trouble is one kind of hostility. What it makes is removed with everything in the namespace.
type trouble struct {
	name  string
	every time.Duration
	make  func(ctx context.Context) error // until it is made
	act   func(ctx context.Context) error
}

func newTenant(client kubernetes.Interface, account string, addresses func() []string) *tenant {
	return &tenant{client: client, account: account, addresses: addresses, acts: map[string]int{}}
}

func (t *tenant) counts() map[string]int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return maps.Clone(t.acts)
}

func (t *tenant) value() string { return fmt.Sprintf("h%d", t.serial.Add(1)) }

// haunt makes trouble from one time to another, in spells: between them there is nothing of it. It
// returns the spells.
func (t *tenant) haunt(ctx context.Context, random *rand.Rand, from, to time.Time) (spells []spell, err error) {
	pause(ctx, time.Until(from))
	for first := true; ctx.Err() == nil && (first || time.Now().Before(to)); first = false {
		begin := time.Now()
		end := begin.Add(between(random, 10*time.Second, time.Minute))
		if end.After(to.Add(-10 * time.Second)) {
			end = to
		}
		err := errors.Join(t.haunts(ctx, end), t.leave(ctx))
		if err != nil {
			return spells, fmt.Errorf("create hostile objects: %w", err)
		}
		spells = append(spells, spell{begin, time.Now()})
		pause(ctx, between(random, 3*time.Second, 10*time.Second))
	}
	return spells, nil
}

// spell is a time in which there are hostile objects.
type spell struct{ begin, end time.Time }

func (s spell) has(at time.Time) bool { return !at.Before(s.begin) && at.Before(s.end) }

// haunts makes all trouble at once until a time, each at least once.
func (t *tenant) haunts(ctx context.Context, end time.Time) error {
	if err := t.makeNamespace(ctx); err != nil {
		return err
	}
	troubles := append(t.troubles(), t.excesses()...)
	errs := make([]error, len(troubles))
	var wait sync.WaitGroup
	for i := range troubles {
		wait.Go(func() { errs[i] = t.haveTrouble(ctx, &troubles[i], end) })
	}
	wait.Wait()
	return errors.Join(errs...)
}

func (t *tenant) haveTrouble(ctx context.Context, trouble *trouble, end time.Time) error {
	if err := trouble.make(ctx); err != nil {
		return fmt.Errorf("create %s: %w", trouble.name, err)
	}
	for first := true; first || time.Now().Before(end); first = false {
		if err := until(ctx, nil, trouble.act); err != nil {
			return fmt.Errorf("%s: %w", trouble.name, err)
		}
		t.mu.Lock()
		t.acts[trouble.name]++
		t.mu.Unlock()
		pause(ctx, trouble.every)
	}
	return nil
}

// makeNamespace waits for the former one to be gone.
func (t *tenant) makeNamespace(ctx context.Context) error {
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: hostileNamespace}}
	tried := false
	return until(ctx, nil, func(ctx context.Context) error {
		_, err := t.client.CoreV1().Namespaces().Create(ctx, namespace, metav1.CreateOptions{})
		if apierrors.IsAlreadyExists(err) && tried {
			if found, getErr := t.client.CoreV1().Namespaces().Get(ctx, hostileNamespace, metav1.GetOptions{}); getErr == nil && found.DeletionTimestamp == nil {
				return nil // made, and the answer was lost
			}
		}
		tried = true
		return err
	})
}

// leave removes everything.
func (t *tenant) leave(ctx context.Context) error {
	policies := t.client.AdmissionregistrationV1()
	deletions := []func(context.Context) error{
		func(ctx context.Context) error {
			return policies.ValidatingAdmissionPolicyBindings().Delete(ctx, denyingPolicy, metav1.DeleteOptions{})
		},
		func(ctx context.Context) error {
			return policies.ValidatingAdmissionPolicies().Delete(ctx, denyingPolicy, metav1.DeleteOptions{})
		},
		func(ctx context.Context) error {
			return t.client.AppsV1().Deployments(hostileNamespace).DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{})
		},
		func(ctx context.Context) error {
			return t.client.AppsV1().StatefulSets(hostileNamespace).DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{})
		},
		func(ctx context.Context) error {
			return t.client.CoreV1().Namespaces().Delete(ctx, hostileNamespace, metav1.DeleteOptions{})
		},
	}
	for _, deletion := range deletions {
		if err := until(ctx, apierrors.IsNotFound, deletion); err != nil {
			return fmt.Errorf("delete hostile objects: %w", err)
		}
	}
	return nil
}

// haunt lets the tenant make trouble.
func (s *soak) haunt(ctx context.Context, from, to time.Time) (err error) {
	s.spells, err = s.tenant.haunt(ctx, rand.New(rand.NewPCG(s.seed, 2)), from, to)
	return err
}
