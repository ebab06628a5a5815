package test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"kubernetes-deployment-restart-controller/test/faultproxy"
	"kubernetes-deployment-restart-controller/test/harness"
)

// The permissions for the lease are for one name in one namespace: one election at a time.
var election struct {
	sync.Mutex
	holder atomic.Pointer[testing.T]
}

// longLease is a duration after which no leader loses its lease because the machine is busy. Nobody waits for
// its end: see [scene.expireLease].
const longLease = time.Hour

// openElection returns the flags of replicas that elect a leader, for as long as the test
// runs.
func (s *scene) openElection(leaseDuration time.Duration) []string {
	s.Helper()
	if election.holder.Load() != s.T { // or another attempt of the test has it already
		election.Lock()
		election.holder.Store(s.T)
		s.Cleanup(func() { // runs after the replicas have been stopped
			election.holder.Store(nil)
			election.Unlock()
		})
	}
	err := s.client.CoordinationV1().Leases(s.installation.Namespace).Delete(s.Context(), controllerName, metav1.DeleteOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		s.Fatal(err)
	}
	return []string{
		"--leader-elect", "--leader-elect-lease-duration", leaseDuration.String(),
		"--leader-elect-renew-deadline", (leaseDuration * 2 / 3).String(),
		"--leader-elect-retry-period", "250ms",
	}
}

// startReplicas starts two controllers of which one leads, and returns that one
// first.
func (s *scene) startReplicas(leaseDuration time.Duration, further ...string) (leader, standby *harness.Controller) {
	s.Helper()
	flags := append(s.openElection(leaseDuration), further...)
	replicas := []*harness.Controller{s.startController(flags...), s.startController(flags...)}
	s.eventually("one of the replicas leads", func(ctx context.Context) error {
		for i, replica := range replicas {
			leads, err := replica.Metric(ctx, "leader", nil)
			if err != nil {
				return err
			}
			if leads == 1 {
				leader, standby = replica, replicas[1-i]
				return nil
			}
		}
		return errors.New("none leads")
	})
	s.controller = leader
	return leader, standby
}

// expireLease frees the lease of a leader that was killed. By itself it is free when it has not been renewed for
// its duration.
func (s *scene) expireLease() {
	s.Helper()
	s.expireLeaseIn(s.installation.Namespace)
}

func (s *scene) expireLeaseIn(namespace string) {
	s.Helper()
	_, err := s.client.CoordinationV1().Leases(namespace).Patch(s.Context(), controllerName, types.MergePatchType,
		[]byte(`{"spec":{"holderIdentity":null}}`), metav1.PatchOptions{})
	s.must(err)
}

func (s *scene) requireLeads(c *harness.Controller, want float64) {
	s.Helper()
	got, err := c.Metric(s.Context(), "leader", nil)
	s.must(err)
	if got != want {
		s.Errorf("leader is %v, want %v", got, want)
	}
}

func TestOnlyTheLeaderActsAndAStandbyTakesOverWhenItIsKilled(t *testing.T) {
	s := newSceneApart(t)
	leader, standby := s.startReplicas(15 * time.Second)
	crowd := s.gather(9)
	crowd.note()
	s.requireLeads(standby, 0)
	if status, body, err := standby.Get(t.Context(), "/readyz"); err != nil || status != http.StatusOK {
		t.Errorf("the standby is not ready: %d %s %v", status, body, err)
	}
	if len(standby.Log().Containing("waiting for leadership")) == 0 {
		t.Error("the standby does not say that it is one")
	}

	edited := crowd.edit(6, "v2")
	s.must(leader.Kill())
	s.controller = standby
	crowd.requireRestartsOf(edited)
	s.requireLeads(standby, 1)
}

// The standby sees the leader's record and not the edit that it reports. It must not take
// what it knows for newer, and make the pods restart for it.
func TestAStandbyWhoseWatchesOfConfigsAreBehindWaitsForThem(t *testing.T) {
	s := newSceneApart(t)
	flags := s.openElection(longLease)
	leader := s.startController(flags...)
	s.awaitMetric("leader", nil, 1)
	crowd := s.gather(3) // the last one reads a Secret
	crowd.note()
	proxy := s.startProxySparing(func(r *http.Request) bool {
		return !strings.HasSuffix(r.URL.Path, "/configmaps") && !strings.HasSuffix(r.URL.Path, "/secrets")
	})
	standby := s.startController(flags...)
	proxy.Inject(faultproxy.Mix{faultproxy.StallWatch: 1})
	s.eventually("the standby's watches of configs stall", func(context.Context) error {
		if stalled := proxy.Stalled(); stalled != 2 {
			return fmt.Errorf("%d watches stall", stalled)
		}
		return nil
	})
	proxy.Inject(nil)

	s.controller = leader
	edited := crowd.edit(3, "v2")
	crowd.requireRestartsOf(edited)
	s.must(leader.Kill())
	s.expireLease()
	s.controller = standby
	s.awaitMetric("leader", nil, 1)
	s.eventually("the standby waits for each config", func(context.Context) error {
		for _, w := range edited {
			if len(standby.Log().Containing("waiting", "deployment/"+s.namespace+"/"+w.name, "a config has changed")) == 0 {
				return fmt.Errorf("not for %s", w.name)
			}
		}
		return nil
	})
	proxy.Cut()
	crowd.requireRestartsOf(edited)
}

func TestALeaderThatStopsGivesUpItsLease(t *testing.T) {
	s := newSceneApart(t)
	leader, standby := s.startReplicas(longLease)
	s.must(leader.Stop())
	s.controller = standby
	s.awaitMetric("leader", nil, 1) // long before the end of the lease
	s.settle()
}

func TestALeaderThatLosesItsLeaseEndsAndNothingIsRestartedTwice(t *testing.T) {
	s := newSceneApart(t)
	leader, standby := s.startReplicas(longLease)
	crowd := s.gather(6)
	crowd.note()
	edited := crowd.edit(4, "v2")
	s.stealLease()
	s.eventually("the leader notices", func(context.Context) error {
		if leader.Running() == nil {
			return errors.New("it runs on")
		}
		return nil
	})
	if code := leader.ExitCode(); code == 0 {
		t.Error("a process that lost its lease exited with 0")
	}
	s.controller = standby
	s.expireLease() // the thief does not renew it
	s.awaitMetric("leader", nil, 1)
	crowd.requireRestartsOf(edited)
}

// stealLease gives the lease to somebody else.
func (s *scene) stealLease() {
	s.Helper()
	leases := s.client.CoordinationV1().Leases(s.installation.Namespace)
	s.eventually("the lease is stolen", func(ctx context.Context) error {
		lease, err := leases.Get(ctx, controllerName, metav1.GetOptions{})
		if err != nil {
			return err
		}
		thief, now := "a thief", metav1.NowMicro()
		lease.Spec.HolderIdentity, lease.Spec.RenewTime, lease.Spec.AcquireTime = &thief, &now, &now
		if _, err := leases.Update(ctx, lease, metav1.UpdateOptions{}); err != nil {
			return fmt.Errorf("steal: %w", err) // the leader was faster; its next renewal is a while off
		}
		return nil
	})
}
