package controller

import (
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/record"

	"kubernetes-deployment-restart-controller/catalog/annotation"
	"kubernetes-deployment-restart-controller/controller/events"
	"kubernetes-deployment-restart-controller/controller/fanout"
	"kubernetes-deployment-restart-controller/controller/objecttest"
	"kubernetes-deployment-restart-controller/internal/status"
)

// replaceLeader lets a new process lead, with or without the flag --evict.
func (w *evictingWorld) replaceLeader(evicts bool) {
	c := w.controller
	c.role.Leading.Store(false)
	c.evictor.Forget(objecttest.AWeb)
	c.deliveries.Forget(objecttest.AWeb)
	c.gate.Evicts = evicts
	c.beginToLead()
	c.gate.SetHaltsTried()
	c.gate.SetHaltsKnown(true)
}

// delivered counts the restarts that are said to be delivered.
func (w *evictingWorld) delivered() (count int) {
	for _, restart := range w.controller.Overview("", time.Now()).Restarts.Items {
		if restart.Outcome == status.Delivered {
			count++
		}
	}
	return count
}

func (w *evictingWorld) requireHeld(why string) {
	w.t.Helper()
	explained := w.controller.ExplainWorkload("deployment/a/web", time.Now())
	if explained.State != status.Rolling || explained.Pods.Outdated != 2 || !strings.Contains(explained.Text, why) {
		w.t.Errorf("explained as %+v with %+v", explained.Entry, explained.Pods)
	}
	if held := w.controller.Overview("", time.Now()).Held.Items; len(held) != 1 || !strings.Contains(held[0].Text, why) {
		w.t.Errorf("held are %+v", held)
	}
}

func TestARestartByEvictionThatMayNotGoOnIsNotDelivered(t *testing.T) {
	for name, test := range map[string]struct {
		why             string
		forbid, restore func(*evictingWorld)
	}{
		"the flag is gone": {
			"flag --evict", func(w *evictingWorld) { w.replaceLeader(false) }, func(w *evictingWorld) { w.replaceLeader(true) },
		},
		"the method cannot be read": {
			"cannot be read",
			func(w *evictingWorld) {
				w.changed("a/web", func(d *appsv1.Deployment) { d.Annotations[annotation.MethodAnnotation] = "delete" })
			},
			func(w *evictingWorld) {
				w.changed("a/web", func(d *appsv1.Deployment) { d.Annotations[annotation.MethodAnnotation] = "evict" })
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			inEvictingWorld(t, nil, func(w *evictingWorld) {
				w.edited("a/c", "2")
				w.pass(5)
				test.forbid(w)
				w.pass(200)
				w.requireEvicted("web-1")
				w.requireHeld(test.why)
				if count := w.delivered(); count != 0 {
					t.Errorf("%d restarts are delivered", count)
				}
				test.restore(w)
				w.pass(200)
				w.requireEvicted("web-1", "web-2", "web-3")
				if count := w.delivered(); count != 1 {
					t.Errorf("%d restarts are delivered", count)
				}
			})
		})
	}
}

func TestARestartByEvictionThatIsHeldEndsWhenPeopleDeleteThePods(t *testing.T) {
	inEvictingWorld(t, nil, func(w *evictingWorld) {
		w.edited("a/c", "2")
		w.pass(5)
		w.replaceLeader(false)
		w.pass(60)
		for range 2 {
			w.makePod(true)
		}
		w.pods["a/app=web"] = append(w.pods["a/app=web"][2:3], w.pods["a/app=web"][3:]...) // without web-2 and web-3
		before := len(w.listings)
		w.pass(120)
		w.requireEvicted("web-1")
		if held := w.controller.Overview("", time.Now()).Held.Items; len(held) > 0 {
			t.Errorf("held are %+v", held)
		}
		if lists := len(w.listings) - before; lists > 4 {
			t.Errorf("the pods were listed %d times", lists)
		}
		if count := w.delivered(); count != 1 {
			t.Errorf("%d restarts are delivered", count)
		}
	})
}

func TestARestartByEvictionWithARecordFromTheFutureSaysSo(t *testing.T) {
	inEvictingWorld(t, nil, func(w *evictingWorld) {
		w.beginEvicting()
		w.changed("a/web", func(d *appsv1.Deployment) {
			for i := range d.ManagedFields {
				d.ManagedFields[i].Time = &metav1.Time{Time: time.Now().Add(5 * time.Minute)}
			}
		})
		w.pass(100)
		w.requireEvicted("web-1")
		if held := w.controller.Overview("", time.Now()).Held.Items; len(held) != 1 || !strings.Contains(held[0].Text, "is from the future") {
			t.Errorf("held are %+v", held)
		}
		w.pass(300)
		w.requireEvicted("web-1", "web-2", "web-3", "web-4")
	})
}

func TestARestartByEvictionIsNotLostWithItsRecord(t *testing.T) {
	inEvictingWorld(t, nil, func(w *evictingWorld) {
		w.edited("a/c", "2")
		w.pass(5)
		w.changed("a/web", func(d *appsv1.Deployment) {
			delete(d.Annotations, annotation.BasisAnnotation)
			delete(d.Annotations, annotation.ChecksumsAnnotation)
		})
		w.pass(300)
		w.requireEvicted("web-1", "web-2", "web-3")
	})
}

func TestAnOperatorThatRemovesTheRecordAtOnceKeepsNoPodFromItsRestart(t *testing.T) {
	inEvictingWorld(t, nil, func(w *evictingWorld) {
		recorder := record.NewFakeRecorder(1000)
		w.controller.restarter.Events = recorder
		w.edited("a/c", "2")
		for range 3600 {
			w.pass(1)
			if w.deployments["a/web"].Annotations[annotation.BasisAnnotation] != "" {
				w.changed("a/web", func(d *appsv1.Deployment) {
					delete(d.Annotations, annotation.BasisAnnotation)
					delete(d.Annotations, annotation.ChecksumsAnnotation)
				})
			}
		}
		w.requireEvicted("web-1", "web-2", "web-3")
		reported := strings.Join(objecttest.EventsOf(recorder), "\n")
		if strings.Contains(reported, events.Backoff) || !strings.Contains(reported, events.Undone) {
			t.Errorf("the Events are %s", reported)
		}
	})
}

func TestWhatTheNextEvictionWaitsForIsShown(t *testing.T) {
	inEvictingWorld(t, nil, func(w *evictingWorld) {
		w.crashes = true
		w.edited("a/c", "2")
		w.pass(100)
		explained := w.controller.ExplainWorkload("deployment/a/web", time.Now())
		if explained.Text != "a new pod is not ready" || explained.Reason != "" || strings.Contains(explained.Decision.Reason, "is as recorded") {
			t.Errorf("explained as %+v: %+v", explained.Entry, explained.Decision)
		}
	})
}

func TestAFanOutDoesNotEndWithAWorkloadOfWhichPodsAreLeft(t *testing.T) {
	inEvictingWorld(t, nil, func(w *evictingWorld) {
		w.beginEvicting()
		w.changed("a/web", func(d *appsv1.Deployment) { d.Annotations[annotation.HoldAnnotation] = "wait" })
		w.pass(60)
		if o := w.controller.reports.OutcomeOf(aConfig, time.Time{}); o != (fanout.Outcome{Due: 1}) {
			t.Errorf("with pods left: %+v", o)
		}
		began := time.Now().Add(-2 * time.Minute)
		w.changed("a/web", func(d *appsv1.Deployment) { delete(d.Annotations, annotation.HoldAnnotation) })
		w.pass(100)
		w.requireEvicted("web-1", "web-2", "web-3")
		if o := w.controller.reports.OutcomeOf(aConfig, began); o != (fanout.Outcome{Delivered: 1}) {
			t.Errorf("with none left: %+v", o)
		}
	})
}
