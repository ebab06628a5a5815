package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
)

// counts are the numbers of pods that a Deployment's status shows, and that the
// status of its ReplicaSets add up to.
type counts struct{ replicas, updated, ready, available int32 }

// notice is what a watch has shown of a Deployment or of one of its ReplicaSets.
type notice struct {
	version uint64 // of the object; later ones are greater, of whatever object
	at      time.Time

	deployment *appsv1.Deployment
	replicaSet *appsv1.ReplicaSet
	deleted    bool
}

// chronicle notes all that happens to the Deployments and ReplicaSets of a
// namespace.
type chronicle struct {
	stop context.CancelFunc
	done sync.WaitGroup

	mu      sync.Mutex
	notices []notice
	failure error
}

// record begins a chronicle with what there is. The caller closes it.
func (s *stage) record(ctx context.Context, namespace string) (*chronicle, error) {
	deployments, sets := s.client.AppsV1().Deployments(namespace), s.client.AppsV1().ReplicaSets(namespace)
	ctx, stop := context.WithCancel(ctx)
	c := &chronicle{stop: stop}
	// A watch without a version begins with what there is.
	for _, begin := range []func(context.Context, metav1.ListOptions) (watch.Interface, error){deployments.Watch, sets.Watch} {
		events, err := begin(ctx, metav1.ListOptions{})
		if err != nil {
			c.close()
			return nil, fmt.Errorf("watch %s: %w", namespace, err)
		}
		c.done.Go(func() { c.run(ctx, events) })
	}
	return c, nil
}

func (c *chronicle) close() {
	c.stop()
	c.done.Wait()
}

func (c *chronicle) run(ctx context.Context, events watch.Interface) {
	defer events.Stop()
	for event := range events.ResultChan() {
		n := notice{at: time.Now(), deleted: event.Type == watch.Deleted}
		var meta metav1.Object
		switch object := event.Object.(type) {
		case *appsv1.Deployment:
			n.deployment, meta = object, object
		case *appsv1.ReplicaSet:
			n.replicaSet, meta = object, object
		default:
			c.fail(fmt.Errorf("a watch failed: %v", event.Object))
			continue
		}
		var err error
		if n.version, err = strconv.ParseUint(meta.GetResourceVersion(), 10, 64); err != nil {
			c.fail(err)
			continue
		}
		c.mu.Lock()
		c.notices = append(c.notices, n)
		c.mu.Unlock()
	}
	if ctx.Err() == nil {
		c.fail(errors.New("a watch ended"))
	}
}

func (c *chronicle) fail(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.failure = errors.Join(c.failure, err)
}

// of returns what was noted about a Deployment and its ReplicaSets.
func (c *chronicle) of(deployment string) ([]notice, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var found []notice
	for _, n := range c.notices {
		isOwn := n.deployment != nil && n.deployment.Name == deployment
		if n.replicaSet != nil {
			owner := metav1.GetControllerOf(n.replicaSet)
			isOwn = owner != nil && owner.Name == deployment
		}
		if isOwn {
			found = append(found, n)
		}
	}
	return found, c.failure
}

// pendingSum is a sum that the Deployment's status does not show yet.
type pendingSum struct {
	counts
	at           time.Time
	byReplicaSet bool // a ReplicaSet's status has led to it
}

// staleness returns the longest time from when the watch showed a ReplicaSet's
// status to when it showed a Deployment's status with that sum or a later one. It
// is an error if the last sum is not shown in the end.
func staleness(notices []notice) (time.Duration, error) {
	slices.SortStableFunc(notices, func(a, b notice) int {
		switch {
		case a.version < b.version:
			return -1
		case a.version > b.version:
			return 1
		}
		return 0
	})
	var longest time.Duration
	var pending []pendingSum
	var shown, latest counts
	var template string
	sets := map[string]*appsv1.ReplicaSet{}
	for _, n := range notices {
		switch {
		case n.deployment != nil:
			template, shown = imageIn(n.deployment.Spec.Template.Spec.Containers), countsOf(&n.deployment.Status)
		case n.deleted:
			delete(sets, n.replicaSet.Name)
		default:
			sets[n.replicaSet.Name] = n.replicaSet
		}
		if sum := sumOf(sets, template); sum != latest {
			latest = sum
			pending = append(pending, pendingSum{sum, n.at, n.replicaSet != nil})
		}
		settled := 0
		for i := range pending {
			if pending[i].counts == shown {
				settled = i + 1
			}
		}
		for _, p := range pending[:settled] {
			if p.byReplicaSet {
				longest = max(longest, n.at.Sub(p.at))
			}
		}
		pending = pending[settled:]
	}
	if len(pending) > 0 {
		return longest, fmt.Errorf("the status of the deployment shows %+v in the end, that of its replicasets %+v", shown, latest)
	}
	return longest, nil
}

func countsOf(status *appsv1.DeploymentStatus) counts {
	return counts{status.Replicas, status.UpdatedReplicas, status.ReadyReplicas, status.AvailableReplicas}
}

func sumOf(sets map[string]*appsv1.ReplicaSet, template string) (sum counts) {
	for _, rs := range sets {
		sum.replicas += rs.Status.Replicas
		sum.ready += rs.Status.ReadyReplicas
		sum.available += rs.Status.AvailableReplicas
		if imageIn(rs.Spec.Template.Spec.Containers) == template {
			sum.updated += rs.Status.Replicas
		}
	}
	return sum
}
