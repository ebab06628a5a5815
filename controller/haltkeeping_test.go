package controller

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/record"

	"kubernetes-deployment-restart-controller/catalog/annotation"
	"kubernetes-deployment-restart-controller/catalog/content"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/controller/controllertest"
	"kubernetes-deployment-restart-controller/controller/events"
	"kubernetes-deployment-restart-controller/controller/gate"
	"kubernetes-deployment-restart-controller/controller/halts"
	"kubernetes-deployment-restart-controller/controller/metrics"
	"kubernetes-deployment-restart-controller/controller/objecttest"
	"kubernetes-deployment-restart-controller/controller/run"
	"kubernetes-deployment-restart-controller/controller/store"
	"kubernetes-deployment-restart-controller/controller/wording"
)

// aConfig is the config that the workloads of a [gradual] world read.
var aConfig = names.ConfigRef{Kind: names.ConfigMap, Namespace: "a", Name: "c"}

// annotate annotates a config, without the other annotations that it had, and does not show that.
func (w *world) annotate(name, annotation, value string) {
	cm := w.configMaps[name].DeepCopy()
	cm.Annotations = map[string]string{annotation: value}
	cm.ResourceVersion = w.nextVersion()
	w.configMaps[name] = cm
}

// fails shows that the rollout of a Deployment has failed, and lets that be judged.
func (w *world) fails(t *testing.T, name string) {
	t.Helper()
	w.changed(name, failed)
	w.controller.deliveries.Look(t.Context(), objecttest.DeploymentNamed(name))
}

// delivers shows that all pods of a Deployment run, for as long as it takes until its restart is delivered, in a bubble of
// synctest.
func (w *world) delivers(t *testing.T, name string) {
	t.Helper()
	w.changed(name, wholeStatus)
	for range 10 {
		w.controller.deliveries.Look(t.Context(), objecttest.DeploymentNamed(name))
		time.Sleep(10 * time.Second)
		settle(w)
	}
}

const aEntry = "configmap.a.c" // of the halts of aConfig

// formerHalt returns what a former leader has recorded: deployment/a/web has failed with the present content of
// aConfig.
func (w *world) formerHalt(t *testing.T) map[string]string {
	t.Helper()
	text, err := json.Marshal([]gate.HaltRecord{{
		ID: "former", Config: aConfig.String(), Content: w.controller.catalog.ContentID(aConfig, nil),
		Failed: []string{"deployment/a/web"}, Since: time.Now().UTC(),
	}})
	if err != nil {
		t.Fatal(err)
	}
	return map[string]string{aEntry: string(text)}
}

// takeOver lets the controller begin to lead, and keep the halts in the ConfigMap of a server, in a bubble of
// synctest. The function that it returns lets time pass.
func (w *world) takeOver(t *testing.T, server *objecttest.HaltServer, data map[string]string) (pass func(time.Duration)) {
	t.Helper()
	k := w.controller.halts
	k.Store = controllertest.StoreOf(t, server)
	server.Object.Data = data
	w.controller.beginToLead()
	ctx, stop := context.WithCancel(t.Context())
	var group sync.WaitGroup
	group.Go(func() { k.Run(ctx) })
	t.Cleanup(func() {
		stop()
		group.Wait()
	})
	return func(d time.Duration) {
		time.Sleep(d)
		synctest.Wait()
	}
}

// requireHalts compares the ids of the halts that stop restarts, in memory and in the ConfigMap.
func (w *world) requireHalts(t *testing.T, server *objecttest.HaltServer, want ...string) {
	t.Helper()
	var active, recorded []string
	for _, h := range w.controller.gate.ActiveHalts() {
		active = append(active, h.ID)
	}
	server.Mu.Lock()
	defer server.Mu.Unlock()
	var records []gate.HaltRecord
	if text := server.Object.Data[aEntry]; text != "" {
		if err := json.Unmarshal([]byte(text), &records); err != nil {
			t.Errorf("%q: %v", text, err)
		}
	}
	for _, r := range records {
		if r.Resumed.IsZero() && !r.Gone {
			recorded = append(recorded, r.ID)
		}
	}
	if !slices.Equal(active, want) || !slices.Equal(recorded, want) {
		t.Errorf("the halts %q are active, and %q recorded, want %q", active, recorded, want)
	}
}

func TestHaltsThatCanBeReadOnlyLateAreTakenInAndKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := gradual(t, "a/web", "a/other")
		server := &objecttest.HaltServer{Failures: slices.Repeat([]int{403}, 70)}
		pass := w.takeOver(t, server, w.formerHalt(t))
		pass(halts.Patience + time.Second)
		server.Mu.Lock()
		refuses := len(server.Failures) > 0
		server.Mu.Unlock()
		if _, known := w.controller.gate.KnowsOfHalts(); !known || !refuses {
			t.Fatal("it should have given up reading for now")
		}
		pass(time.Hour)
		w.requireHalts(t, server, "former")
	})
}

func TestAHaltIsResumedHoweverTheAnnotationBecomesKnown(t *testing.T) {
	resume := func(w *world) { w.annotate("a/c", annotation.ResumeAnnotation, "former") }
	for name, test := range map[string]struct{ before, after func(*world) }{
		"before anybody led": {before: func(w *world) {
			resume(w)
			w.show("configmaps", w.configMaps["a/c"])
		}},
		"in an event": {after: func(w *world) {
			resume(w)
			w.show("configmaps", w.configMaps["a/c"])
		}},
		"in a list": {after: func(w *world) {
			resume(w)
			list(w, "configmaps", w.configMaps)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := gradual(t, "a/web", "a/other")
				log := w.log()
				list(w, "configmaps", w.configMaps)
				if test.before != nil {
					test.before(w)
				}
				server := &objecttest.HaltServer{}
				pass := w.takeOver(t, server, w.formerHalt(t))
				pass(time.Second)
				if test.after != nil {
					w.requireHalts(t, server, "former")
					test.after(w)
				}
				pass(2 * halts.Period)
				w.requireHalts(t, server)
				if n := strings.Count(log.String(), `msg="restarts for a config are resumed" config=configmap/a/c halt=former`); n != 1 {
					t.Errorf("%d lines of the log say that a person resumed it:\n%s", n, log)
				}
			})
		})
	}
}

func TestATypingErrorInTheConfigMapOfHaltsResumesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := gradual(t, "a/web", "a/other")
		log := w.log()
		server := &objecttest.HaltServer{}
		pass := w.takeOver(t, server, w.formerHalt(t))
		pass(time.Second)
		server.Mu.Lock()
		server.Object.Data[aEntry] += "x"
		server.Mu.Unlock()
		pass(2 * halts.Period)
		w.requireHalts(t, server, "former")
		if !strings.Contains(log.String(), "cannot read an entry of the ConfigMap of halts") {
			t.Errorf("the log is\n%s", log)
		}
		server.Mu.Lock()
		server.Object.Data = nil
		server.Mu.Unlock()
		pass(2 * halts.Period)
		w.requireHalts(t, server)
		if !strings.Contains(log.String(), "a person has removed it from the ConfigMap of halts") {
			t.Errorf("the log is\n%s", log)
		}
	})
}

func TestAMisspelledHoldOfEverythingIsToldOnceAndForAsLongAsItIsThere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := gradual(t, "a/web", "a/other")
		log, recorder := w.log(), record.NewFakeRecorder(10)
		w.controller.halts.Events = recorder
		server, began := &objecttest.HaltServer{}, time.Now()
		pass := w.takeOver(t, server, map[string]string{"Hold": "incident 42"})
		pass(3 * halts.Period)
		if n := strings.Count(log.String(), "cannot read an entry of the ConfigMap of halts"); n != 1 {
			t.Errorf("%d lines of the log say so:\n%s", n, log)
		}
		if events := objecttest.EventsOf(recorder); len(events) != 1 || !strings.Contains(events[0], `so nothing is held by it: "Hold"`) || !strings.Contains(events[0], `must have the name "hold"`) {
			t.Errorf("the ConfigMap was told %q", events)
		}
		if !strings.Contains(log.String(), "remedy=") {
			t.Errorf("the log says nothing about what helps:\n%s", log)
		}
		if n := w.gauge(t, "unreadable_halt_entries"); n != 1 {
			t.Errorf("the metric counts %v", n)
		}
		gaps := w.controller.Gaps("")
		if len(gaps) != 1 || !strings.Contains(gaps[0].Text, `"Hold"`) || !gaps[0].Since.Equal(began) || gaps[0].Why != "it is no list of halts" || !strings.Contains(gaps[0].Remedy, `"hold"`) {
			t.Errorf("what is not known: %+v", gaps)
		}
		server.Mu.Lock()
		server.Object.Data = map[string]string{"hold": "incident 42"}
		server.Mu.Unlock()
		pass(2 * halts.Period)
		if gaps := w.controller.Gaps(""); len(gaps) > 0 || w.controller.gate.EverythingHeld() != "incident 42" {
			t.Errorf("afterwards: %+v", gaps)
		}
		if recorded := objecttest.EventsOf(recorder); len(recorded) != 1 || !strings.HasPrefix(recorded[0], "Normal "+events.EntryNotRead) {
			t.Errorf("afterwards the ConfigMap was told %q", recorded)
		}
		if n := w.gauge(t, "unreadable_halt_entries"); n != 0 {
			t.Errorf("afterwards the metric counts %v", n)
		}
	})
}

// gauge returns the value of a metric without labels.
func (w *world) gauge(t *testing.T, name string) float64 {
	t.Helper()
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(w.controller)
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		if family.GetName() == metrics.Namespace+"_"+name {
			return family.GetMetric()[0].GetGauge().GetValue()
		}
	}
	t.Fatalf("there is no metric %s", name)
	return 0
}

// Somebody applies the manifests anew after deleting what they contain, while a halt is in force and everything is
// held.
func TestADeletedConfigMapOfHaltsResumesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := gradual(t, "a/web", "a/other")
		server := &objecttest.HaltServer{}
		data := w.formerHalt(t)
		data[gate.HoldEntry] = "an incident"
		server.Object.UID = "first"
		pass := w.takeOver(t, server, data)
		pass(time.Second)
		change := func(change func(*objecttest.HaltServer)) {
			server.Mu.Lock()
			change(server)
			server.Mu.Unlock()
			pass(2 * halts.Period)
		}
		change(func(s *objecttest.HaltServer) { s.Missing = true })
		change(func(s *objecttest.HaltServer) { s.Missing, s.Object.UID, s.Object.Data = false, "second", nil })
		w.requireHalts(t, server, "former")
		if hold := server.Object.Data[gate.HoldEntry]; hold != "an incident" || w.controller.gate.EverythingHeld() != hold {
			t.Errorf("the ConfigMap holds everything for %q, and so does the gate for %q", hold, w.controller.gate.EverythingHeld())
		}
		change(func(s *objecttest.HaltServer) { s.Object.Data = nil })
		w.requireHalts(t, server)
		if hold := w.controller.gate.EverythingHeld(); hold != "" {
			t.Errorf("everything is held for %q", hold)
		}
	})
}

// A hold of everything works without gradual fan-outs, so they wait for it too.
func TestNothingRestartsBeforeItIsKnownWhetherEverythingIsHeld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := gradual(t, "a/web", "a/other")
		w.controller.gate.FanOut.Gradual = false
		requireRestarted := func(when string, want int) {
			t.Helper()
			settle(w)
			if restarted := w.restarted(); len(restarted) != want {
				t.Errorf("%s, %q restarted", when, restarted)
			}
		}
		server := &objecttest.HaltServer{Failures: []int{503}}
		w.edited("a/c", "2")
		w.controller.beginToLead()
		requireRestarted("before the hold could be read", 0)
		pass := w.takeOver(t, server, map[string]string{gate.HoldEntry: "an incident"})
		pass(time.Second / 2)
		requireRestarted("before the second attempt to read the hold", 0)
		pass(run.MaxBackoff)
		requireRestarted("while everything is held", 0)
		server.Mu.Lock()
		server.Object.Data = nil
		server.Mu.Unlock()
		pass(2 * halts.Period)
		requireRestarted("after the hold", 2)
	})
}

// One restart delivers two configs and fails, so both are halted. Only one of them needs a fix.
func TestAFixOfOneOfTwoConfigsEndsTheHaltsOfBoth(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := gradual(t)
		w.edited("a/d", "1")
		w.runs("a/web", map[string]string{annotation.WaveAnnotation: "-1"}, "c", "d")
		w.runs("a/other", nil, "c")
		settle(w)
		w.edited("a/d", "bad")
		w.edited("a/c", "good")
		settle(w)
		w.fails(t, "a/web")
		settle(w)
		if n := w.controller.gate.Ledger.ActiveHalts(); n != 2 {
			t.Fatalf("%d halts are active", n)
		}
		time.Sleep(time.Second)
		w.edited("a/d", "fixed")
		settle(w)
		w.changed("a/web", wholeStatus)
		for range 10 {
			w.controller.deliveries.Look(t.Context(), objecttest.AWeb)
			time.Sleep(10 * time.Second)
			settle(w)
		}
		if restarted, n := w.restarted(), w.controller.gate.Ledger.ActiveHalts(); n > 0 || !slices.Contains(restarted, "a/other") {
			t.Errorf("%d halts are active although a/web runs with both contents; %q restarted", n, restarted)
		}
	})
}

// A release of the workload that failed reads another key of the config. That it runs then says nothing about the halted one.
func TestAHaltGoesOnAfterARestartForOtherKeysOfItsConfig(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := gradual(t)
		edit := func(data map[string]string) {
			cm := w.configMaps["a/c"].DeepCopy()
			cm.Data, cm.ResourceVersion = data, w.nextVersion()
			w.configMaps["a/c"] = cm
			w.show("configmaps", cm)
			settle(w)
		}
		edit(map[string]string{"k": "1", "o": "1"})
		w.runs("a/web", map[string]string{annotation.WaveAnnotation: "-1"}, "c")
		w.runs("a/other", nil, "c")
		settle(w)
		edit(map[string]string{"k": "bad", "o": "1"})
		w.fails(t, "a/web")
		settle(w)
		w.changed("a/web", func(d *appsv1.Deployment) {
			wholeStatus(d)
			c := &d.Spec.Template.Spec.Containers[0]
			c.EnvFrom, c.Env = nil, []corev1.EnvVar{{Name: "O", ValueFrom: &corev1.EnvVarSource{ConfigMapKeyRef: &corev1.ConfigMapKeySelector{
				LocalObjectReference: corev1.LocalObjectReference{Name: "c"}, Key: "o",
			}}}}
		})
		w.controller.deliveries.Look(t.Context(), objecttest.AWeb)
		settle(w)
		time.Sleep(time.Minute)
		edit(map[string]string{"k": "bad", "o": "2"})
		if cause := w.deployments["a/web"].Spec.Template.Annotations[annotation.CauseAnnotation]; cause != "configmap/c: o" {
			t.Fatalf("the last restart was for %q", cause)
		}
		w.delivers(t, "a/web")
		if n, restarted := len(w.controller.gate.ActiveHalts()), w.restarted(); n != 1 || slices.Contains(restarted, "a/other") {
			t.Errorf("%d halts are active, and %q restarted", n, restarted)
		}
		if of := w.controller.deliveries.Of(objecttest.AWeb); of != nil {
			t.Error("the restart for the other key is still followed")
		}
	})
}

// One config has broken a workload, which then restarts for another one. It fails again, but not because of that.
func TestAWorkloadThatOneConfigHasBrokenHaltsNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := gradual(t)
		w.edited("a/d", "1")
		w.runs("a/web", nil, "c", "d")
		w.runs("a/ofC", map[string]string{annotation.WaveAnnotation: "1"}, "c")
		w.runs("a/ofD", map[string]string{annotation.WaveAnnotation: "1"}, "d")
		settle(w)
		w.edited("a/c", "bad")
		settle(w)
		w.fails(t, "a/web")
		settle(w)
		time.Sleep(time.Second)
		w.edited("a/d", "good")
		settle(w)
		w.fails(t, "a/web")
		settle(w)
		if halts := w.controller.gate.ActiveHalts(); len(halts) != 1 || halts[0].Config != aConfig {
			t.Fatalf("halts: %+v", halts)
		}
		if restarted := w.restarted(); !slices.Equal(restarted, []string{"a/ofD", "a/web"}) {
			t.Errorf("%q restarted", restarted)
		}
		w.delivers(t, "a/ofD")
		time.Sleep(time.Second)
		w.edited("a/c", "bad again")
		settle(w)
		if standing := w.controller.deliveries.Of(objecttest.AWeb); standing.Ran == 0 {
			t.Error("the restart that replaces what broke the pods is not judged")
		}
		w.fails(t, "a/web")
		settle(w)
		if restarted := w.restarted(); slices.Contains(restarted, "a/ofC") {
			t.Errorf("%q restarted", restarted)
		}
		w.delivers(t, "a/web") // after all
		if n, restarted := len(w.controller.gate.ActiveHalts()), w.restarted(); n > 0 || !slices.Contains(restarted, "a/ofC") {
			t.Errorf("%d halts are active although a/web runs; %q restarted", n, restarted)
		}
	})
}

// After the second restart, the workload is still followed because of the first one.
func TestAHaltEndsWhenTheWorkloadRunsWhateverItRestartedForMeanwhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := gradual(t)
		w.edited("a/d", "1")
		w.runs("a/web", nil, "c", "d")
		w.runs("a/ofC", map[string]string{annotation.WaveAnnotation: "1"}, "c")
		settle(w)
		w.edited("a/c", "bad")
		settle(w)
		w.fails(t, "a/web")
		time.Sleep(time.Second)
		w.edited("a/d", "good")
		settle(w)
		w.fails(t, "a/web") // still because of c
		settle(w)
		w.delivers(t, "a/web")
		if n, restarted := len(w.controller.gate.ActiveHalts()), w.restarted(); n > 0 || !slices.Contains(restarted, "a/ofC") {
			t.Errorf("%d halts are active although a/web runs; %q restarted", n, restarted)
		}
	})
}

// Only restarts that the gate has counted can halt others. The owner of a config could make many halts otherwise:
// all restarts begin at once, and their failures would count as those of a gradual fan-out.
func TestAFailureCountsByHowItsRestartBegan(t *testing.T) {
	w := gradual(t, "a/web", "a/other")
	w.annotate("a/c", annotation.FanOutAnnotation, "all-at-once")
	w.configMaps["a/c"].Data = map[string]string{"k": "2"}
	w.show("configmaps", w.configMaps["a/c"])
	settle(w)
	if restarted := w.restarted(); len(restarted) != 2 {
		t.Fatalf("%q restarted", restarted)
	}
	w.annotate("a/c", annotation.FanOutAnnotation, "gradual")
	w.show("configmaps", w.configMaps["a/c"])
	w.fails(t, "a/web")
	if n := len(w.controller.gate.HaltedContents(aConfig)); n > 0 {
		t.Errorf("%d contents have failures", n)
	}
}

// Failures that are too few for a halt are remembered too.
func TestFailuresWithFormerContentsAreForgotten(t *testing.T) {
	w := gradual(t, "a/web")
	w.controller.gate.FanOut.Failures = 1
	w.controller.beginToLead()
	w.controller.gate.SetHaltsTried()
	w.controller.gate.SetHaltsKnown(true)
	for i := range 10 {
		w.edited("a/c", fmt.Sprintf("bad %d", i))
		settle(w)
		w.fails(t, "a/web")
		if n := len(w.controller.gate.HaltedContents(aConfig)); n != 1 {
			t.Fatalf("%d contents have failures after %d edits", n, i+1)
		}
	}
	w.hide("configmaps", w.configMaps["a/c"])
	if n := len(w.controller.gate.HaltedContents(aConfig)); n > 0 {
		t.Errorf("%d contents have failures, and the config is gone", n)
	}
}

// Run with -race, this also shows that nothing is read without the lock.
func TestTheReasonOfAWaitStaysTheSameWhileItsHaltGrows(t *testing.T) {
	w := gradual(t, "a/web")
	g := w.controller.gate
	fail := func(name string) {
		w.controller.gate.Fail(&gate.Failure{Workload: objecttest.DeploymentNamed(name), Config: aConfig, Content: "bad", Began: time.Now()}, time.Now())
	}
	fail("a/first")
	answer := g.Ask(&gate.Request{Workload: objecttest.AWeb, Causes: []gate.Cause{{Config: aConfig, Moments: []names.Sequence{1}, IsGradual: true}}}, time.Now())
	if answer.Reason != gate.Halted {
		t.Fatalf("it waits for %q", answer.Reason)
	}
	want := wording.Wait(answer)
	var group sync.WaitGroup
	group.Go(func() {
		fail("a/second")
		fail("a/third")
	})
	during := wording.Wait(answer)
	group.Wait()
	if after := wording.Wait(answer); during != want || after != want {
		t.Errorf("%q became %q and %q", want, during, after)
	}
}

func TestAHaltOfAGroupNamesNoWorkloadsOfOtherNamespaces(t *testing.T) {
	halt := &gate.Halt{ID: "x", Config: gate.GroupOf(names.ConfigMap, "bundle"), Failed: []names.WorkloadRef{objecttest.DeploymentNamed("secret/plans"), objecttest.DeploymentNamed("b/web")}}
	why := wording.Wait(gate.Answer{Reason: gate.Halted, Halt: halt})
	if !strings.Contains(why, "has broken workloads in several namespaces; revert it, or resume with: ") || strings.Contains(why, "plans") {
		t.Errorf("%q", why)
	}
}

// A key of this process only, or a new one after the old one was lost, gives the same content another id.
func TestAHaltOfASecretOutlastsAnotherKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := gradual(t)
		c := w.controller
		secret := &corev1.Secret{ObjectMeta: w.meta("a/s"), Data: map[string][]byte{"k": []byte("bad")}}
		w.show("secrets", secret)
		w.runs("a/web", nil, "s")
		time.Sleep(time.Minute)
		ref := names.ConfigRef{Kind: names.Secret, Namespace: "a", Name: "s"}
		c.useKey(content.NewChecksumKey([content.ChecksumKeySize]byte{1}))
		c.gate.Restore(gate.Halt{
			ID: "former", Config: ref, Content: c.catalog.ContentID(ref, nil), Key: c.catalog.ContentKey(ref), Since: time.Now(), Failed: []names.WorkloadRef{objecttest.AWeb},
		})
		require := func(want int) {
			t.Helper()
			c.halts.EndHalts()
			if halts := c.gate.ActiveHalts(); len(halts) != want {
				t.Errorf("the halts are %+v, want %d", halts, want)
			}
		}
		require(1)
		c.useKey(content.NewChecksumKey([content.ChecksumKeySize]byte{2}))
		require(1)
		time.Sleep(time.Minute)
		secret = secret.DeepCopy()
		secret.Labels, secret.ResourceVersion = map[string]string{"other": "label"}, w.nextVersion()
		w.show("secrets", secret)
		require(1)
		secret = secret.DeepCopy()
		secret.Data, secret.ResourceVersion = map[string][]byte{"k": []byte("good")}, w.nextVersion()
		w.show("secrets", secret)
		require(0)
	})
}

func TestAHaltThatIsOverIsNotTakenInAgainWhileItCannotBeWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := gradual(t, "a/web", "a/other")
		former := w.formerHalt(t)
		former[aEntry] = " " + former[aEntry] // which is to be written again
		server := &objecttest.HaltServer{ReadOnly: true}
		pass := w.takeOver(t, server, former)
		pass(time.Minute)
		if halts := w.controller.gate.ActiveHalts(); len(halts) != 1 {
			t.Fatalf("the halts are %+v", halts)
		}
		w.controller.gate.Recovered(w.controller.catalog.Workload(objecttest.AWeb), w.controller.catalog.Sequence())
		pass(time.Minute)
		if halts := w.controller.gate.ActiveHalts(); len(halts) != 0 {
			t.Errorf("after the workload has recovered, the halts are %+v", halts)
		}
	})
}

func TestAHaltThatAFormerLeaderWritesInTheMeantimeIsTakenIn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := gradual(t, "a/web", "a/other")
		former := w.formerHalt(t)
		noted := map[string]string{aEntry: " []"} // which is to be removed
		writes := 0
		server := &objecttest.HaltServer{BeforeWrite: func(s *objecttest.HaltServer) {
			writes++
			s.Object.ResourceVersion = fmt.Sprintf("other-%d", writes)
			if writes == store.MaxHaltUpdates { // so that the update fails
				s.Object.Data, s.BeforeWrite = former, nil
			}
		}}
		w.takeOver(t, server, noted)(time.Minute)
		w.requireHalts(t, server, "former")
	})
}

// A typing error that was there when the leader began, and that a person corrects as the Event says.
func TestAnEntryThatIsCorrectedHoldsAsIfItHadBeenReadAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := gradual(t, "a/web", "a/other")
		former := w.formerHalt(t)
		text := former[aEntry]
		former[aEntry] = text + "x"
		server := &objecttest.HaltServer{}
		pass := w.takeOver(t, server, former)
		pass(time.Minute)
		server.Mu.Lock()
		server.Object.Data[aEntry] = text
		server.Mu.Unlock()
		pass(2 * halts.Period)
		w.requireHalts(t, server, "former")
	})
}
