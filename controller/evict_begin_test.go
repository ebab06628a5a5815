package controller

import (
	"fmt"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"

	"kubernetes-deployment-restart-controller/catalog/annotation"
	"kubernetes-deployment-restart-controller/controller/gate"
	"kubernetes-deployment-restart-controller/internal/status"
)

// requireWaiting fails the test unless the restart has not begun for this reason. It returns until when it waits.
func (w *evictingWorld) requireWaiting(state status.State, reason gate.Reason) (until time.Time) {
	w.t.Helper()
	explained := w.controller.ExplainWorkload("deployment/a/web", time.Now())
	if explained.State != state || explained.Reason != string(reason) {
		w.t.Errorf("explained as %+v, want %s because of the %s", explained.Entry, state, reason)
	}
	return explained.Until
}

// A window says when restarts may begin. What has begun goes on after its end.
func TestARestartByEvictionBeginsInItsWindowAndEndsAfterIt(t *testing.T) {
	inEvictingWorld(t, nil, func(w *evictingWorld) {
		opens := time.Now().UTC().Truncate(time.Minute).Add(5 * time.Minute)
		w.changed("a/web", func(d *appsv1.Deployment) {
			d.Annotations[annotation.WindowAnnotation] = fmt.Sprintf("%d %d * * * 1m", opens.Minute(), opens.Hour())
		})
		w.edited("a/c", "2")
		for time.Until(opens) > 2*time.Second {
			w.pass(1)
			w.requireEvicted()
		}
		if until := w.requireWaiting(status.Held, gate.Window); !until.Equal(opens) {
			t.Errorf("it waits until %s, want %s", until, opens)
		}
		w.crashes = true
		w.pass(100) // the window has closed again
		w.requireEvicted("web-1")
		w.crashes = false
		w.pass(60)
		w.requireEvicted("web-1", "web-2", "web-3")
		w.edited("a/c", "3")
		w.pass(600)
		w.requireEvicted("web-1", "web-2", "web-3")
	})
}

// After ten restarts in a row, the next one must be 128 seconds later than the last.
func TestTheBudgetSpacesOutRestartsByEviction(t *testing.T) {
	inEvictingWorld(t, nil, func(w *evictingWorld) {
		w.controller.restarter.BackoffLimit = time.Hour
		var last time.Time
		for version := range 10 {
			w.edited("a/c", fmt.Sprint(version+2))
			last = time.Now()
			w.pass(70)
			if want := 3 * (version + 1); len(w.evicted) != want {
				t.Fatalf("after %d edits, %d pods are evicted, want %d", version+1, len(w.evicted), want)
			}
		}
		w.edited("a/c", "12")
		for time.Since(last) < 128*time.Second {
			w.pass(1)
		}
		if len(w.evicted) != 30 {
			t.Errorf("%d pods are evicted, want those of ten restarts", len(w.evicted))
		}
		w.requireWaiting(status.Slowed, gate.Backoff)
		w.pass(60)
		if len(w.evicted) != 33 {
			t.Errorf("%d pods are evicted, want those of eleven restarts", len(w.evicted))
		}
	})
}
