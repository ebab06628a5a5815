package deployment

import (
	"errors"
	"fmt"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
)

// attempts is a new Deployment with its engine, in a bubble.
type attempts struct {
	cluster *cluster
	engine  *Engine
	key     types.NamespacedName
}

func newAttempts() *attempts {
	c := newCluster(time.Now)
	d := deploymentObject(3, "v1")
	d.UID, d.Generation, d.Status = "", 1, appsv1.DeploymentStatus{}
	c.put(d)
	a := &attempts{cluster: c, engine: c.newEngine(newMetrics()), key: types.NamespacedName{Namespace: "ns", Name: "web"}}
	c.list(a.engine)
	return a
}

// sync waits until the Deployment is due and takes a step for it, unless it is settled. It
// returns how long it had to wait.
func (a *attempts) sync(t *testing.T) (waited time.Duration) {
	t.Helper()
	key, found := a.engine.queue.Get()
	if !found {
		if waited = time.Until(a.engine.queue.NextDue()); waited > time.Hour || waited < 0 {
			t.Fatal("nothing is due")
		}
		time.Sleep(waited)
		key, found = a.engine.queue.Get()
	}
	if !found {
		t.Fatal("nothing is due when it is time")
	}
	a.engine.sync(t.Context(), key)
	a.engine.queue.Done(key)
	return waited
}

func TestAnActionThatSucceedsResetsTheBackoff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAttempts()
		failing := "create"
		a.cluster.refuse = func(write string) error {
			if write == failing {
				return syscall.ECONNRESET
			}
			return nil
		}
		for range 8 {
			a.sync(t)
		}
		if failures := a.engine.queue.Failures(a.key); failures != 8 {
			t.Fatalf("%d failures, want 8", failures)
		}
		failing = "deployment/status"
		a.sync(t)
		if failures := a.engine.queue.Failures(a.key); failures != 1 {
			t.Errorf("%d failures after a ReplicaSet was created, want 1", failures)
		}
		if waited := a.sync(t); waited != backoff.First {
			t.Errorf("tried again after %s", waited)
		}
	})
}

func TestABrokenConnectionIsTriedAgainSoonerThanARefusal(t *testing.T) {
	for name, test := range map[string]struct {
		err  error
		want time.Duration
	}{
		"broken":  {syscall.ECONNRESET, time.Second},
		"refused": {apierrors.NewInternalError(errors.New("in trouble")), time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a := newAttempts()
				a.cluster.refuse = func(string) error { return test.err }
				longest := time.Duration(0)
				for range 40 {
					longest = max(longest, a.sync(t))
					a.engine.queue.Forget(types.NamespacedName{Name: "another, that got an answer"})
				}
				if longest != test.want {
					t.Errorf("waited for up to %s, want %s", longest, test.want)
				}
			})
		})
	}
}

// The attempt that hangs is followed by one that writes the condition, which does not.
func TestACreationThatHangsAndFailsIsRetriedLessAndLessOften(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAttempts()
		creations := 0
		a.cluster.refuse = func(write string) error {
			if write != "create" {
				return nil
			}
			creations++
			time.Sleep(30 * time.Second)
			return apierrors.NewInternalError(errors.New("failed calling webhook: context deadline exceeded"))
		}
		for begun := time.Now(); time.Since(begun) < time.Hour; {
			a.sync(t)
		}
		if creations > 13 {
			t.Errorf("tried %d times in an hour, which was under way for %s of it", creations, time.Duration(creations)*30*time.Second)
		}
	})
}

func TestBehindManyDeploymentsOfOneNamespaceThatOfAnotherIsSecond(t *testing.T) {
	q := newQueue(1, newMetrics())
	for i := range 5000 {
		q.Add(types.NamespacedName{Namespace: "crowded", Name: fmt.Sprint(i)}, struct{}{})
	}
	q.Add(types.NamespacedName{Namespace: "other", Name: "web"}, struct{}{})
	first, _ := q.Get()
	q.Done(first)
	if second, found := q.Get(); !found || second.Namespace != "other" {
		t.Errorf("after %s comes %s", first, second)
	}
}
