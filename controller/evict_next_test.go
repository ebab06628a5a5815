package controller

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubernetes-deployment-restart-controller/catalog/annotation"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/controller/events"
	"kubernetes-deployment-restart-controller/controller/gate"
	"kubernetes-deployment-restart-controller/controller/gatekeeper"
	"kubernetes-deployment-restart-controller/controller/objecttest"
	"kubernetes-deployment-restart-controller/controller/pending"
	"kubernetes-deployment-restart-controller/internal/status"
)

// startsSlowly makes restarts gradual, for a leader that knows all.
func (w *evictingWorld) startsSlowly() {
	w.controller.gate.FanOut = gatekeeper.FanOutOptions{Gradual: true, Limit: 50}
	w.controller.gate.Reset()
	w.knowsAll()
}

func (w *evictingWorld) knowsAll() {
	c := w.controller
	c.gate.KnowsWorkloads = func(string) bool { return true }
	c.halts.KnowsConfigs = func(string) bool { return true }
	c.gate.SetHaltsTried()
	c.gate.SetHaltsKnown(true)
}

// readsToo lets the workload read another ConfigMap, and waits until that is rolled out.
func (w *evictingWorld) readsToo(name string) {
	w.edited("a/"+name, "1")
	w.changed("a/web", func(d *appsv1.Deployment) {
		container := &d.Spec.Template.Spec.Containers[0]
		from := corev1.ConfigMapEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: name}}
		container.EnvFrom = append(container.EnvFrom, corev1.EnvFromSource{ConfigMapRef: &from})
	})
	w.pass(60)
	w.requireEvicted()
}

// editedAgain changes the content of a ConfigMap and leaves its annotations alone.
func (w *evictingWorld) editedAgain(name, value string) {
	cm := w.configMaps[name].DeepCopy()
	cm.Data, cm.ResourceVersion = map[string]string{"k": value}, w.nextVersion()
	w.configMaps[name] = cm
	w.show("configmaps", cm)
}

func TestAnEvictionBringsNoContentThatIsHeld(t *testing.T) {
	inEvictingWorld(t, nil, func(w *evictingWorld) {
		w.readsToo("d")
		w.annotate("a/d", annotation.HoldAnnotation, "needs approval")
		w.show("configmaps", w.configMaps["a/d"])
		w.beginEvicting()
		w.editedAgain("a/d", "2")
		w.pass(300)
		w.requireEvicted("web-1")
		if explained := w.controller.ExplainWorkload("deployment/a/web", time.Now()); !strings.Contains(explained.Decision.Causes, "configmap d changed") || !strings.Contains(explained.Decision.Causes, "configmap c changed") {
			t.Errorf("the next restart is for %q", explained.Decision.Causes)
		}
		w.annotate("a/d", "released", "now")
		w.show("configmaps", w.configMaps["a/d"])
		w.pass(100)
		w.requireEvicted("web-1", "web-2", "web-3", "web-4")
	})
}

func TestAnEvictionBringsNoContentThatANewProcessHasYetToLookAt(t *testing.T) {
	inEvictingWorld(t, nil, func(w *evictingWorld) {
		w.readsToo("d")
		w.beginEvicting()
		// A list shows the edit, and then the workload may have to restart for it after its grace period.
		w.controller.changes.Observe(objecttest.AWeb, objecttest.AWeb, time.Now(), time.Hour)
		if why := w.controller.restarter.NextWaits(objecttest.AWeb); !strings.Contains(why, "may have to restart again") {
			t.Errorf("the evictor waits because %q", why)
		}
	})
}

func TestAnEvictionWaitsForADecisionThatIsDue(t *testing.T) {
	inEvictingWorld(t, nil, func(w *evictingWorld) {
		w.beginEvicting()
		w.controller.restarter.Backlogs.Note(pending.ObservedChange{Workload: objecttest.AWeb, Subject: objecttest.AWeb, Since: time.Now(), Count: 1})
		w.pass(60)
		w.requireEvicted("web-1")
		w.controller.restarter.Backlogs.PutOffRecord(objecttest.AWeb, time.Now().Add(time.Hour))
		w.pass(60)
		w.requireEvicted("web-1", "web-2", "web-3")
	})
}

func TestAnEvictionBringsNoContentThatHasYetToBeProven(t *testing.T) {
	inEvictingWorld(t, nil, func(w *evictingWorld) {
		c := w.controller
		w.startsSlowly()
		w.readsToo("d")
		w.edited("a/d", "2")
		w.pass(5)
		ref := names.ConfigRef{Kind: names.ConfigMap, Namespace: "a", Name: "c"}
		w.runs("a/first", nil, "c")
		settle(w.world)
		c.gate.Restore(gate.Halt{ID: "x", Config: ref, Keys: []string{"k"}, Content: c.catalog.ContentID(ref, []string{"k"}), Since: time.Now(), Failed: []names.WorkloadRef{objecttest.DeploymentNamed("a/first")}})
		w.edited("a/c", "3")
		w.pass(200)
		if restarted := w.restarted(); len(restarted) != 1 || restarted[0] != "a/first" {
			t.Errorf("%q restarted first", restarted)
		}
		w.requireEvicted("web-1")
	})
}

func TestARestartForAnotherConfigDoesNotLiftTheHaltOfPodsThatAreLeft(t *testing.T) {
	inEvictingWorld(t, nil, func(w *evictingWorld) {
		w.startsSlowly()
		w.readsToo("d")
		w.crashes = true
		w.edited("a/c", "2")
		w.pass(700)
		w.requireEvicted("web-1")
		if halts := w.controller.gate.ActiveHalts(); len(halts) != 1 {
			t.Fatalf("the halts are %+v", halts)
		}
		w.crashes = false
		w.pass(300)
		w.edited("a/d", "2")
		w.pass(600)
		w.requireEvicted("web-1")
		if halts := w.controller.gate.ActiveHalts(); len(halts) != 1 {
			t.Errorf("after another edit, the halts are %+v", halts)
		}
	})
}

func TestNoPodIsEvictedWhileAnEditWaitsForItsGracePeriod(t *testing.T) {
	inEvictingWorld(t, nil, func(w *evictingWorld) {
		w.beginEvicting()
		w.edited("a/c", "3")
		if why := w.controller.restarter.NextWaits(objecttest.AWeb); why == "" {
			t.Error("the next restart need not wait")
		}
		drain(w.controller.evictor.Queue, w.controller.evictor.Work, w.t)
		w.requireEvicted("web-1")
		w.pass(100)
		w.requireEvicted("web-1", "web-2", "web-3", "web-4")
	})
}

// The configs may keep changing for hours, and the pods that are left would have older content all the time.
func TestARestartThatItsBudgetPutsOffKeepsNoPodFromTheLastOne(t *testing.T) {
	inEvictingWorld(t, nil, func(w *evictingWorld) {
		w.edited("a/c", "2")
		w.pass(5)
		w.controller.restarter.Backlogs.PutOff(objecttest.AWeb, nil, gate.Answer{Reason: gate.Backoff, Until: time.Now().Add(time.Hour)}, time.Now())
		w.edited("a/c", "3")
		if why := w.controller.restarter.NextWaits(objecttest.AWeb); why != "" {
			t.Errorf("the next eviction waits: %s", why)
		}
	})
}

// spendsBudget makes the budget space out the next restarts. The last one has begun, and its new pod crashes.
func (w *evictingWorld) spendsBudget() {
	w.controller.restarter.BackoffLimit = time.Hour
	for version := range 9 {
		w.edited("a/c", fmt.Sprint(version+2))
		w.pass(100)
	}
	w.crashes = true
	w.edited("a/c", "11")
	w.pass(5)
	w.evicted = nil
}

// mayRead lets the workload read a ConfigMap that does not exist.
func (w *evictingWorld) mayRead(name string) {
	w.changed("a/web", func(d *appsv1.Deployment) {
		container := &d.Spec.Template.Spec.Containers[0]
		from := corev1.ConfigMapEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: name}, Optional: new(true)}
		container.EnvFrom = append(container.EnvFrom, corev1.EnvFromSource{ConfigMapRef: &from})
	})
	w.pass(60)
}

// appears creates a ConfigMap with an annotation.
func (w *evictingWorld) appears(name, annotation, value string) {
	cm := &corev1.ConfigMap{ObjectMeta: w.meta(name), Data: map[string]string{"k": "2"}}
	cm.CreationTimestamp, cm.Annotations = metav1.Time{Time: time.Now().Truncate(time.Second)}, map[string]string{annotation: value}
	w.configMaps[name] = cm
	w.show("configmaps", cm)
}

// No restart is due for it, because all pods that are left will read it.
func TestAnEvictionBringsNoConfigThatHasAppearedAndHasToWait(t *testing.T) {
	for annotation, value := range map[string]string{annotation.HoldAnnotation: "needs approval", annotation.WindowAnnotation: "0 0 31 12 * 1h"} {
		t.Run(annotation, func(t *testing.T) {
			inEvictingWorld(t, nil, func(w *evictingWorld) {
				w.mayRead("d")
				w.edited("a/c", "2")
				w.pass(1)
				w.requireEvicted()
				w.appears("a/d", annotation, value)
				w.pass(60)
				w.requireEvicted()
			})
		})
		t.Run(annotation+", while the budget puts the next restart off", func(t *testing.T) {
			inEvictingWorld(t, nil, func(w *evictingWorld) {
				w.mayRead("d")
				w.spendsBudget()
				w.pass(20)
				w.appears("a/d", annotation, value)
				w.crashes = false
				w.pass(60)
				w.requireEvicted()
			})
		})
	}
}

func TestAnEvictionGoesOnOnceAnEditThatIsHeldIsTakenBack(t *testing.T) {
	inEvictingWorld(t, nil, func(w *evictingWorld) {
		w.readsToo("d")
		w.annotate("a/d", annotation.HoldAnnotation, "frozen")
		w.show("configmaps", w.configMaps["a/d"])
		w.crashes = true
		w.edited("a/c", "2")
		w.pass(30)
		w.requireEvicted("web-1")
		w.editedAgain("a/d", "2")
		w.crashes = false
		w.pass(60)
		w.requireEvicted("web-1")
		w.editedAgain("a/d", "1")
		w.pass(100)
		w.requireEvicted("web-1", "web-2", "web-3")
	})
}

func TestAnEvictionBringsNothingOutsideOfItsWindowWhileTheBudgetPutsItOff(t *testing.T) {
	inEvictingWorld(t, nil, func(w *evictingWorld) {
		w.readsToo("d")
		w.annotate("a/d", annotation.WindowAnnotation, "0 0 31 12 * 1h")
		w.show("configmaps", w.configMaps["a/d"])
		w.spendsBudget()
		w.editedAgain("a/d", "2")
		w.pass(2)
		w.requireWaiting(status.Slowed, gate.Backoff)
		w.crashes = false
		w.pass(60)
		w.requireEvicted()
	})
}

func TestAHoldOfAConfigThatHasNotChangedHoldsNoRestartForTenOthers(t *testing.T) {
	inEvictingWorld(t, nil, func(w *evictingWorld) {
		for i := range 10 {
			w.readsToo(fmt.Sprintf("d%02d", i))
		}
		w.annotate("a/c", annotation.HoldAnnotation, "frozen")
		w.show("configmaps", w.configMaps["a/c"])
		w.controller.restarter.Grace = 10 * time.Second
		for i := range 10 {
			w.editedAgain(fmt.Sprintf("a/d%02d", i), "2")
		}
		w.pass(100)
		w.requireEvicted("web-1", "web-2", "web-3")
	})
}

// With its record, what the last restart was for is gone.
func TestAHoldOutlivesTheRecordWhenTheNextRestartIsForAnotherConfig(t *testing.T) {
	inEvictingWorld(t, nil, func(w *evictingWorld) {
		w.readsToo("d")
		w.edited("a/c", "2")
		w.pass(5)
		w.annotate("a/c", annotation.HoldAnnotation, "needs approval")
		w.show("configmaps", w.configMaps["a/c"])
		w.changed("a/web", func(d *appsv1.Deployment) {
			delete(d.Annotations, annotation.BasisAnnotation)
			delete(d.Annotations, annotation.ChecksumsAnnotation)
		})
		w.pass(100)
		w.requireEvicted("web-1")
		w.editedAgain("a/d", "2")
		w.pass(100)
		w.requireEvicted("web-1")
	})
}

// The budget does not keep pods from the last content, but whoever holds the next content keeps them from that.
func TestAnEvictionBringsNoContentThatIsHeldWhileTheBudgetPutsItOff(t *testing.T) {
	d := names.ConfigRef{Kind: names.ConfigMap, Namespace: "a", Name: "d"}
	for name, hold := range map[string]func(*evictingWorld){
		"by a person": func(w *evictingWorld) {
			w.annotate("a/d", annotation.HoldAnnotation, "needs approval")
			w.show("configmaps", w.configMaps["a/d"])
		},
		"by a halt": func(w *evictingWorld) {
			w.controller.gate.Restore(gate.Halt{ID: "x", Config: d, Keys: []string{"k"}, Content: w.controller.catalog.ContentID(d, []string{"k"}), Since: time.Now(), Failed: []names.WorkloadRef{objecttest.DeploymentNamed("a/first")}})
		},
	} {
		t.Run(name, func(t *testing.T) {
			inEvictingWorld(t, nil, func(w *evictingWorld) {
				w.startsSlowly()
				w.readsToo("d")
				w.spendsBudget()
				w.editedAgain("a/d", "2")
				w.pass(2)
				w.requireWaiting(status.Slowed, gate.Backoff)
				hold(w)
				w.crashes = false
				w.pass(60)
				w.requireEvicted()
			})
		})
	}
}

// The record of a restart names ten configs.
func TestAHoldOfAConfigThatTheRecordDoesNotNameKeepsItsContentFromThePodsThatAreLeft(t *testing.T) {
	inEvictingWorld(t, nil, func(w *evictingWorld) {
		for i := range 12 {
			w.readsToo(fmt.Sprintf("d%02d", i))
		}
		w.controller.restarter.Grace = 10 * time.Second
		for i := range 12 {
			w.editedAgain(fmt.Sprintf("a/d%02d", i), "2")
		}
		for len(w.evicted) == 0 {
			w.pass(1)
		}
		w.replaceLeader(true)
		w.annotate("a/d11", annotation.HoldAnnotation, "needs approval")
		w.show("configmaps", w.configMaps["a/d11"])
		w.pass(60)
		w.requireEvicted("web-1")
		if explained := w.controller.ExplainWorkload("deployment/a/web", time.Now()); !strings.Contains(explained.Text, "needs approval") || !strings.Contains(explained.Last.Cause, "and perhaps others") {
			t.Errorf("explained as %+v", explained.Entry)
		}
	})
}

func TestARestartThatEndedUnderAnotherLeaderIsNoPartOfTheNextOne(t *testing.T) {
	inEvictingWorld(t, nil, func(w *evictingWorld) {
		w.readsToo("d")
		w.edited("a/c", "2")
		w.pass(60)
		w.requireEvicted("web-1", "web-2", "web-3")
		w.annotate("a/c", annotation.HoldAnnotation, "never again")
		w.show("configmaps", w.configMaps["a/c"])
		w.controller.role.Leading.Store(false)
		w.controller.catalog.ForgetWorkload(objecttest.AWeb) // the catalog of another process knows only the record
		w.show("deployments", w.deployments["a/web"])
		w.replaceLeader(true)
		w.editedAgain("a/d", "2")
		settle(w.world)
		if explained := w.controller.ExplainWorkload("deployment/a/web", time.Now()); strings.Contains(explained.Last.Cause, "configmap c") || explained.State == status.Held {
			t.Errorf("explained as %+v, %+v", explained.Entry, explained.Last)
		}
		w.pass(60)
		w.requireEvicted("web-1", "web-2", "web-3", "web-4", "web-5", "web-6")
	})
}

func TestANewLeaderEvictsNothingBeforeItKnowsWhatIsHeld(t *testing.T) {
	inEvictingWorld(t, nil, func(w *evictingWorld) {
		c := w.controller
		w.startsSlowly()
		w.edited("a/c", "2")
		w.pass(5)
		c.gate.HoldEverything("incident")
		w.pass(60)
		c.role.Leading.Store(false)
		c.evictor.Forget(objecttest.AWeb)
		c.deliveries.Forget(objecttest.AWeb)
		c.beginToLead()
		w.pass(40) // nothing is read yet
		w.requireEvicted("web-1")
		w.knowsAll()
		c.restarter.KnowsConfigs = func(string) bool { return false }
		w.pass(40)
		w.requireEvicted("web-1")
		c.restarter.KnowsConfigs = func(string) bool { return true }
		w.pass(100)
		w.requireEvicted("web-1", "web-2", "web-3")
	})
}

func TestAPodThatTerminatesSlowlyHaltsNothing(t *testing.T) {
	inEvictingWorld(t, nil, func(w *evictingWorld) {
		w.startsSlowly()
		w.changed("a/web", func(d *appsv1.Deployment) {
			d.Spec.Template.Spec.TerminationGracePeriodSeconds = new(int64(3600))
			d.Spec.ProgressDeadlineSeconds = new(int32(600))
		})
		w.pass(60)
		first := w.pods["a/app=web"][0]
		w.edited("a/c", "2")
		for len(w.evicted) == 0 {
			w.pass(1)
		}
		first.DeletionTimestamp = &metav1.Time{Time: time.Now().Add(time.Hour)}
		w.pods["a/app=web"] = append(w.pods["a/app=web"], first)
		w.pass(1200)
		w.requireEvicted("web-1")
		if halts := w.controller.gate.ActiveHalts(); len(halts) > 0 {
			t.Errorf("the halts are %+v", halts)
		}
		w.pods["a/app=web"] = slices.DeleteFunc(w.pods["a/app=web"], func(p corev1.Pod) bool { return p.DeletionTimestamp != nil })
		w.pass(300)
		w.requireEvicted("web-1", "web-2", "web-3")
	})
}

func TestAPodThatCrashesAtATakeoverFailsARestartThatLasts(t *testing.T) {
	inEvictingWorld(t, nil, func(w *evictingWorld) {
		w.startsSlowly()
		w.beginEvicting()
		w.changed("a/web", func(d *appsv1.Deployment) { d.Annotations[annotation.HoldAnnotation] = "lunch" })
		w.pass(900)
		w.crashes = true
		w.changed("a/web", func(d *appsv1.Deployment) { delete(d.Annotations, annotation.HoldAnnotation) })
		w.pass(20)
		w.requireEvicted("web-1", "web-2")
		w.replaceLeader(true)
		w.knowsAll()
		w.pass(30)
		if restart := w.controller.deliveries.Of(objecttest.AWeb); restart == nil || restart.HasFailed {
			t.Errorf("after a takeover, the new leader follows %+v", restart)
		}
		w.pass(3000)
		if halts := w.controller.gate.ActiveHalts(); len(halts) != 1 {
			t.Errorf("the halts are %+v", halts)
		}
	})
}

func TestAPersonWhoResumedARestartByEvictionIsNotOverruledByANewLeader(t *testing.T) {
	inEvictingWorld(t, nil, func(w *evictingWorld) {
		w.startsSlowly()
		w.crashes = true
		w.edited("a/c", "2")
		w.pass(700)
		halts := w.controller.gate.ActiveHalts()
		if len(halts) != 1 {
			t.Fatalf("the halts are %+v", halts)
		}
		w.controller.gate.ResumeByID(halts[0].ID)
		records := w.controller.gate.Records()
		w.replaceLeader(true)
		resumed, _ := records[0][0].Halt()
		w.controller.gate.Restore(resumed)
		w.knowsAll()
		w.pass(3000)
		w.requireEvicted("web-1")
		if halts := w.controller.gate.ActiveHalts(); len(halts) != 0 {
			t.Errorf("the halts are %+v", halts)
		}
	})
}

// Its status is that of pods that run, but those that are left have not restarted.
func TestAFailedEvictionThatIsHeldDoesNotKeepTheEndOfAFanOut(t *testing.T) {
	inEvictingWorld(t, nil, func(w *evictingWorld) {
		w.startsSlowly()
		w.crashes = true
		began := time.Now()
		w.edited("a/c", "2")
		w.pass(10)
		for i := range w.pods["a/app=web"] {
			if pod := &w.pods["a/app=web"][i]; pod.Status.Conditions[0].Status != corev1.ConditionTrue {
				pod.Status.ContainerStatuses[0] = corev1.ContainerStatus{
					Name: "app", RestartCount: 5, State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}},
				}
			}
		}
		w.pass(900)
		if restart := w.controller.deliveries.Of(objecttest.AWeb); restart == nil || !restart.HasFailed {
			t.Fatal("the restart has not failed")
		}
		w.annotate("a/c", annotation.HoldAnnotation, "an incident")
		w.show("configmaps", w.configMaps["a/c"])
		w.pass(60)
		w.crashes = false
		w.pass(600)
		w.eventsOf(events.FanOut)
		w.controller.reports.NoteUnfinished(aConfig, began)
		w.controller.reports.LookAtFanOuts(time.Now())
		if events := w.eventsOf(events.FanOut); !slices.Equal(events, []string{"ended: no restart for it is under way any more; 1 not restarted"}) {
			t.Errorf("%q", events)
		}
	})
}
