package controller

import (
	"net/http"
	"path"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"

	"kubernetes-deployment-restart-controller/catalog/annotation"
	"kubernetes-deployment-restart-controller/catalog/content"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/controller/controllertest"
	"kubernetes-deployment-restart-controller/controller/events"
	"kubernetes-deployment-restart-controller/controller/intake"
	"kubernetes-deployment-restart-controller/controller/objecttest"
)

// An API server that has just started may refuse what it allows a moment later.
func TestARestartThatLacksAConfigWaitsThroughAnOutageAndOneRefusal(t *testing.T) {
	handlers := utilruntime.ErrorHandlers
	utilruntime.ErrorHandlers = handlers[:1]
	t.Cleanup(func() { utilruntime.ErrorHandlers = handlers })
	synctest.Test(t, func(t *testing.T) {
		w := lacking(t, "a/one")
		cms := w.watches["configmaps"]
		w.controller.gate.KnowsWhatExists = (&intake.Watches{All: []*intake.ResourceWatch{cms}}).KnowWhatExists
		listed := corev1.ConfigMapList{
			TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMapList"}, ListMeta: metav1.ListMeta{ResourceVersion: "1000"},
			Items: []corev1.ConfigMap{*w.configMaps["a/c"]}, // not b
		}
		var mode atomic.Int32 // 0 works, 1 down, 2 forbidden
		w.answer = func(r *http.Request) (int, any) {
			q := r.URL.Query()
			if path.Base(r.URL.Path) != "configmaps" || q.Get("fieldSelector") != "" {
				return 0, nil
			}
			st := func(e *apierrors.StatusError) (int, any) {
				s := e.Status()
				s.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}
				return int(s.Code), s
			}
			switch mode.Load() {
			case 1:
				return st(apierrors.NewServiceUnavailable(""))
			case 2:
				return st(apierrors.NewForbidden(schema.GroupResource{Resource: "configmaps"}, "", nil))
			}
			switch {
			case q.Has("sendInitialEvents"):
				return st(apierrors.NewInvalid(schema.GroupKind{}, "", nil))
			case !q.Has("watch"):
				return http.StatusOK, listed
			}
			return st(apierrors.NewServiceUnavailable("")) // the stream never opens: the API server goes away
		}
		go cms.Run(t.Context())
		time.Sleep(time.Second)
		synctest.Wait() // for the race detector: a sleep orders nothing
		w.edited("a/c", "2")
		settle(w)
		mode.Store(1)
		time.Sleep(2 * time.Minute)
		list(w, "secrets", w.secrets)
		settle(w)
		mode.Store(2)
		for i := 0; i < 100; i++ {
			time.Sleep(100 * time.Millisecond)
			if apierrors.IsForbidden(cms.Status().Problem) {
				break
			}
		}
		list(w, "secrets", w.secrets) // the watch of Secrets works again
		settle(w)
		if got := w.restarted(); len(got) > 0 {
			t.Errorf("restarted %v without configmap b, %s", got, cms.Status())
		}
	})
}

// The next leader would restore it, and nobody would end it.
func TestAHaltThatAnotherRestartEndsIsWrittenAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		standby := gradual(t)
		time.Sleep(time.Second)
		leader := gradual(t)
		for _, w := range []*world{standby, leader} {
			w.edited("a/b", "1")
		}
		leader.runs("a/web", map[string]string{annotation.WaveAnnotation: "-1"}, "b", "c")
		leader.runs("a/other", nil, "c")
		settle(leader)
		standby.controller.role.Leading.Store(false)
		list(standby, "configmaps", standby.configMaps)
		list(standby, "deployments", leader.deployments)
		time.Sleep(time.Minute)
		server := &objecttest.HaltServer{}
		k := leader.controller.halts
		k.Store = controllertest.StoreOf(t, server)
		sync := func() {
			if err := k.Sync(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		sync()
		for _, w := range []*world{leader, standby} {
			w.edited("a/c", "2")
		}
		settle(leader)
		time.Sleep(time.Minute)
		leader.fails(t, "a/web")
		settle(leader)
		select {
		case <-k.Changed:
			sync()
		default:
			t.Error("nothing to write")
		}
		leader.requireHalts(t, server, leader.controller.gate.ActiveHalts()[0].ID)
		// the other config is mended: it was what broke the pods
		time.Sleep(time.Minute)
		for _, w := range []*world{leader, standby} {
			w.edited("a/b", "2")
		}
		settle(leader)
		leader.changed("a/web", wholeStatus)
		for range 4 {
			leader.controller.deliveries.Look(t.Context(), objecttest.AWeb)
			time.Sleep(10 * time.Second)
		}
		woken := false
		select {
		case <-k.Changed:
			woken = true
		default:
		}
		if woken {
			sync()
		}
		// the leader dies now; another one follows
		standby.deployments, standby.version = leader.deployments, leader.version+1000
		list(standby, "deployments", standby.deployments)
		pass := standby.takeOver(t, &objecttest.HaltServer{}, server.Object.Data)
		for range 60 {
			pass(time.Minute)
			settle(standby)
			for name := range standby.deployments {
				standby.controller.deliveries.Look(t.Context(), objecttest.DeploymentNamed(name))
			}
		}
		if h := standby.controller.gate.ActiveHalts(); len(h) > 0 {
			t.Errorf("an hour later it is halted: %+v; a/other restarted: %v", h, standby.deployments["a/other"].Spec.Template.Annotations)
		}
	})
}

// Without the content, its failure would halt nothing.
func TestACanaryOfASecretIsJudgedOnceTheKeyIsKnown(t *testing.T) {
	for name, knows := range map[string]bool{"key known": true, "key not known yet": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				key := content.NewChecksumKey([content.ChecksumKeySize]byte{1})
				standby := gradual(t)
				time.Sleep(time.Second)
				leader := gradual(t)
				leader.controller.useKey(key)
				secret := &corev1.Secret{ObjectMeta: leader.meta("a/s"), Data: map[string][]byte{"k": []byte("1")}}
				both := func(change func(w *world)) { change(leader); change(standby) }
				both(func(w *world) { w.show("secrets", secret) })
				leader.runs("a/web", nil, "s")
				leader.runs("a/other", nil, "s")
				leader.runs("a/third", nil, "s")
				settle(leader)
				standby.controller.role.Leading.Store(false)
				list(standby, "deployments", leader.deployments)
				time.Sleep(time.Minute)
				edited := secret.DeepCopy()
				edited.Data, edited.ResourceVersion = map[string][]byte{"k": []byte("bad")}, leader.nextVersion()
				both(func(w *world) { w.show("secrets", edited) })
				for _, w := range []*world{leader, standby} {
					w.answer = func(r *http.Request) (int, any) {
						if path.Base(r.URL.Path) != "secrets" {
							return 0, nil
						}
						return http.StatusOK, corev1.SecretList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "SecretList"}, Items: []corev1.Secret{*edited}}
					}
				}
				settle(leader)
				canary := leader.restarted()
				time.Sleep(20 * time.Second)
				leader.changed(canary[0], failed)
				standby.deployments, standby.version = leader.deployments, leader.version+1000
				list(standby, "deployments", standby.deployments)
				pass := standby.takeOver(t, &objecttest.HaltServer{}, nil)
				if knows {
					standby.controller.useKey(key)
				}
				pass(time.Second)
				standby.controller.deliveries.Look(t.Context(), objecttest.DeploymentNamed(canary[0]))
				settle(standby)
				pass(time.Second)
				standby.controller.useKey(key)
				for n := range standby.deployments {
					standby.controller.restarter.Queue.Add(objecttest.DeploymentNamed(n), names.ConfigRef{})
				}
				settle(standby)
				for range 30 {
					pass(20 * time.Second)
					settle(standby)
					for n := range standby.deployments {
						standby.controller.deliveries.Look(t.Context(), objecttest.DeploymentNamed(n))
					}
				}
				if got := standby.restarted(); len(got) > 1 || len(standby.controller.gate.ActiveHalts()) != 1 {
					t.Errorf("%s broke, and then %v; halts %+v", canary, got, standby.controller.gate.ActiveHalts())
				}
			})
		})
	}
}

// The first read of a new leader may be refused by an API server that has just started.
func TestAHoldOfEverythingHoldsAfterARefusedRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := gradual(t, "a/web")
		w.controller.gate.FanOut.Gradual = false
		server := &objecttest.HaltServer{Failures: []int{403}}
		pass := w.takeOver(t, server, map[string]string{"hold": "incident"})
		w.edited("a/c", "2")
		synctest.Wait()
		settle(w)
		pass(5 * time.Second)
		if got := w.restarted(); len(got) > 0 {
			t.Errorf("restarted %v although everything is held", got)
		}
	})
}

func TestNothingIsCalledMissingBeforeItIsListed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		former := gradual(t)
		former.edited("a/b", "1")
		former.runs("a/web", nil, "b")
		settle(former)
		former.edited("a/b", "2")
		settle(former)
		time.Sleep(time.Minute)
		next := gradual(t) // which knows no a/b
		told := next.listens()
		next.deployments, next.version = former.deployments, 1000
		next.controller.gate.KnowsWhatExists = (&intake.Watches{All: []*intake.ResourceWatch{next.watches["configmaps"]}}).KnowWhatExists
		next.leads()
		list(next, "deployments", next.deployments)
		for range 100 {
			next.controller.deliveries.Look(t.Context(), objecttest.AWeb)
			time.Sleep(10 * time.Second)
		}
		for _, m := range told(events.NotDelivered) {
			if strings.Contains(m, "does not exist") {
				t.Errorf("told %q", m)
			}
		}
	})
}

// A record without a restart is later than the failure.
func TestARecordAfterAFailureKeepsItsHaltFromLastingForEver(t *testing.T) {
	for name, records := range map[string]bool{"no record between": false, "a record between": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				leader, standby := twoLeadersOfAFailure(t)
				time.Sleep(time.Minute)
				if records {
					leader.changed("a/web", func(d *appsv1.Deployment) { d.Annotations[annotation.IgnoreAnnotation] = "configmap/c/unused" })
					settle(leader)
				}
				time.Sleep(time.Minute)
				pass, _ := succeed(t, leader, standby)
				pass(time.Second)
				standby.changed("a/web", wholeStatus)
				for range 30 {
					pass(time.Minute)
				}
				if h := standby.controller.gate.ActiveHalts(); len(h) > 0 {
					t.Errorf("it has run for half an hour, and is halted: %+v", h)
				}
			})
		})
	}
}

func TestACanaryIsFollowedAlsoIfItsRecordWasWrittenAgain(t *testing.T) {
	for name, records := range map[string]bool{"no record between": false, "a record between": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				leader, standby, canary := twoLeadersOfACanary(t)
				time.Sleep(5 * time.Second)
				if records {
					leader.changed(canary, func(d *appsv1.Deployment) { d.Annotations[annotation.IgnoreAnnotation] = "configmap/c/unused" })
					settle(leader)
				}
				time.Sleep(20 * time.Second)
				leader.changed(canary, failed)
				pass, told := succeed(t, leader, standby)
				pass(time.Second)
				for range 10 {
					pass(time.Minute)
				}
				if h := standby.controller.gate.ActiveHalts(); len(h) != 1 || len(standby.restarted()) != 1 {
					t.Errorf("halts %+v, restarted %v, told %q", h, standby.restarted(), told(events.NotDelivered))
				}
			})
		})
	}
}

func TestARestartThatWasHeldForDaysIsNotLateForANewProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		former, next := gradual(t, "a/web"), gradual(t)
		time.Sleep(time.Minute)
		former.controller.gate.HoldEverything("an incident")
		former.edited("a/c", "2")
		settle(former)
		next.deployments, next.version = former.deployments, 1000
		next.edited("a/c", "2")
		next.configMaps["a/c"].ManagedFields = []metav1.ManagedFieldsEntry{{
			Manager: "kubectl", Operation: metav1.ManagedFieldsOperationUpdate, Time: new(metav1.Now()), FieldsType: "FieldsV1",
			FieldsV1: metav1.NewFieldsV1(`{"f:data":{"f:k":{}}}`),
		}}
		time.Sleep(5 * 24 * time.Hour)
		next.controller.beginToLead()
		list(next, "configmaps", next.configMaps)
		list(next, "deployments", next.deployments)
		settle(next)
		time.Sleep(30 * time.Second)
		next.requireWait(t, 30*time.Second)
	})
}
