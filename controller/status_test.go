package controller

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"kubernetes-deployment-restart-controller/catalog/annotation"
	"kubernetes-deployment-restart-controller/catalog/content"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/controller/events"
	"kubernetes-deployment-restart-controller/controller/failures"
	"kubernetes-deployment-restart-controller/controller/fanout"
	"kubernetes-deployment-restart-controller/controller/follow"
	"kubernetes-deployment-restart-controller/controller/gate"
	"kubernetes-deployment-restart-controller/controller/objecttest"
	"kubernetes-deployment-restart-controller/controller/tracker"
	"kubernetes-deployment-restart-controller/internal/status"
)

func (w *world) overview() *status.Overview { return w.controller.Overview("", time.Now()) }

// workloadsIn returns the names of the workloads in a list, sorted.
func workloadsIn(list status.List[status.Entry]) (names []string) {
	for i := range list.Items {
		names = append(names, list.Items[i].Workload)
	}
	slices.Sort(names)
	return names
}

func TestTheOverviewShowsAnEditOnItsWayToTheReaders(t *testing.T) {
	w := gradual(t, "a/one", "a/two", "a/three")
	w.edited("a/c", "2")
	o := w.overview()
	if got := workloadsIn(o.Pending); len(got) != 3 || o.Rolling.Total != 0 {
		t.Errorf("in the grace period, %v are pending", got)
	}
	if e := o.Pending.Items[0]; e.State != status.Pending || e.For != "configmap/a/c" || !e.Until.After(e.Since) {
		t.Errorf("pending: %+v", e)
	}

	settle(w)
	w.changed(w.restarted()[0], func(d *appsv1.Deployment) { d.Status.UpdatedReplicas = 1 })
	if got := w.controller.ExplainConfig("configmap/a/c", time.Now()).States; !maps.Equal(got, map[status.State]int{status.Rolling: 1, status.Waiting: 2}) {
		t.Errorf("while it rolls: %v", got)
	}
	w.changed(w.restarted()[0], wholeStatus)
	if got := w.controller.ExplainConfig("configmap/a/c", time.Now()).States; !maps.Equal(got, map[status.State]int{status.Soaking: 1, status.Waiting: 2}) {
		t.Errorf("while it soaks: %v", got)
	}
	if c := w.controller.ExplainConfig("configmap/a/c", time.Now()); c.Restarts.Total != 1 || c.Restarts.Items[0].Workload != objecttest.DeploymentNamed(w.restarted()[0]).String() || c.RestartsSince.IsZero() || c.MissesRestarts {
		t.Errorf("the restarts for it: %+v since %s, some are not known: %t", c.Restarts, c.RestartsSince, c.MissesRestarts)
	}
	w.controller.gate.Began = time.Now().Add(time.Hour)
	if c := w.controller.ExplainConfig("configmap/a/c", time.Now()); !c.MissesRestarts {
		t.Error("a former leader may have made some")
	}
	o = w.overview()
	if o.Pending.Total != 0 || o.Rolling.Total != 1 || o.Waiting.Total != 2 {
		t.Fatalf("after the grace period: %+v", o)
	}
	rolling := o.Rolling.Items[0]
	if e := o.Waiting.Items[0]; e.Reason != string(gate.SlowStart) || e.On != "configmap/a/c" || e.Since.IsZero() {
		t.Errorf("waiting: %+v", e)
	}
	if rolling.For != "configmap/c: k" || rolling.Pods == nil || rolling.Pods.Wanted != 3 {
		t.Errorf("rolling: %+v", rolling)
	}
	if f := o.FanOuts.Items; len(f) != 1 || f[0].Config != "configmap/a/c" || f[0].Total != 3 || f[0].Rolling != 1 || f[0].Waiting != 2 || f[0].Since.IsZero() {
		t.Errorf("fan-outs: %+v", f)
	}
	if r := o.Restarts.Items; len(r) != 1 || r[0].Workload != rolling.Workload || r[0].Outcome != "" || r[0].Cause != "configmap/c: k" {
		t.Errorf("restarts: %+v", r)
	}
}

func TestTheOverviewShowsAHaltWithWhatResumesIt(t *testing.T) {
	w := gradual(t, "a/one", "a/two", "a/three")
	w.edited("a/c", "2")
	settle(w)
	first := w.restarted()[0]
	w.fails(t, first)
	settle(w)
	o := w.overview()
	if o.Failed.Total != 1 || o.Held.Total != 2 || o.Halts.Total != 1 {
		t.Fatalf("failed %v, held %v, halts %v", o.Failed, o.Held, o.Halts)
	}
	if e, last := o.Failed.Items[0], o.Restarts.Items[0]; e.Text == "" || e.Text != last.Why || e.For != "configmap/c: k" {
		t.Errorf("failed: %+v, want why as in %+v", e, last)
	}
	h := o.Halts.Items[0]
	want := status.Halt{
		ID: h.ID, Config: "configmap/a/c", Keys: []string{"k"}, Failed: []string{objecttest.DeploymentNamed(first).String()}, Held: 2, Since: h.Since,
		Command: "kubectl describe pod -n " + strings.Replace(first, "/", " ", 1) + "-hangs", Resume: "kubectl annotate --overwrite -n a configmap/c com.xing.deployment-restart.resume=" + h.ID,
	}
	if fmt.Sprint(h) != fmt.Sprint(want) || h.Since.IsZero() {
		t.Errorf("got %+v, want %+v", h, want)
	}
	if e := o.Held.Items[0]; e.Reason != string(gate.Halted) || e.On != "configmap/a/c" {
		t.Errorf("held: %+v", e)
	}
	if r := o.Restarts.Items[0]; r.Outcome != status.Broken || r.Why == "" {
		t.Errorf("restart: %+v", r)
	}
	c := w.controller.ExplainConfig("configmap/a/c", time.Now())
	if got := c.States; !maps.Equal(got, map[status.State]int{status.Failed: 1, status.Held: 2}) || c.Halts.Total != 1 || c.Readers.Items[0].State != status.Failed {
		t.Errorf("config: %+v", c)
	}
}

func TestWhatWaitsInANamespaceWithTooManyHaltsNamesNoConfig(t *testing.T) {
	w := gradual(t, "a/web")
	for i := range 16 {
		config := names.ConfigRef{Kind: names.ConfigMap, Namespace: "a", Name: fmt.Sprint("broken-", i)}
		w.controller.gate.Ledger.Fail(&gate.Failure{Workload: objecttest.DeploymentNamed("a/other"), Config: config, Content: "bad"}, fmt.Sprint(i), time.Now())
	}
	w.edited("a/c", "2")
	settle(w)
	const want = "too many configs of namespace a have broken workloads"
	if held := w.overview().Held; held.Total != 1 || held.Items[0].Reason != string(gate.Halted) || held.Items[0].On != "" || held.Items[0].Text != want {
		t.Errorf("held: %+v", held)
	}
	if answer := w.controller.ExplainWorkload("deployment/a/web", time.Now()).Gate; answer.On != "" || answer.Why != want {
		t.Errorf("the gate answers %+v", answer)
	}
}

func TestTheOverviewStaysTheSameWhileNothingHappens(t *testing.T) {
	w := gradual(t, "a/web")
	now := time.Now()
	for i := range 3 * tracker.MaxSubjects {
		config := names.ConfigRef{Kind: names.ConfigMap, Namespace: "a", Name: fmt.Sprint("c-", i)}
		w.controller.changes.Observe(objecttest.DeploymentNamed("a/web"), config, now, time.Hour)
	}
	for range 100 {
		if shown := w.controller.Overview("", now).Pending.Items[0].For; shown != "configmap/a/c-0, configmap/a/c-1, configmap/a/c-2" {
			t.Fatalf("it shows %q", shown)
		}
	}
}

func TestTheOverviewOfANamespaceIsAboutNoOther(t *testing.T) {
	w := gradual(t, "a/one", "a/two")
	w.edited("b/c", "1")
	w.runs("b/one", nil, "c")
	w.runs("b/two", nil, "c")
	settle(w)
	w.edited("a/c", "2")
	w.edited("b/c", "2")
	settle(w)
	o := w.controller.Overview("b", time.Now())
	if o.Namespace != "b" || o.Rolling.Total != 1 || o.Waiting.Total != 1 || o.FanOuts.Total != 1 || o.Restarts.Total != 1 || o.Workloads != 4 {
		t.Errorf("got %+v", o)
	}
	encoded, err := json.Marshal(o)
	if err != nil || strings.Contains(string(encoded), "/a/") {
		t.Errorf("it names another namespace: %s, %v", encoded, err)
	}
	if all := w.overview(); all.Rolling.Total != 2 || all.Waiting.Total != 2 || all.FanOuts.Total != 2 || all.Restarts.Total != 2 {
		t.Errorf("that of all namespaces: %+v", all)
	}
	if none := w.controller.Overview("c", time.Now()); none.Rolling.Total+none.Waiting.Total+none.FanOuts.Total+none.Restarts.Total > 0 || none.Rolling.Items == nil {
		t.Errorf("that of a namespace without workloads: %+v", none)
	}
}

func TestAStandbyShowsNothingOfWhatIsUnderWay(t *testing.T) {
	w := gradual(t, "a/one", "a/two")
	w.edited("a/c", "2")
	w.controller.role.Leading.Store(false)
	if o := w.overview(); o.Leads || o.Pending.Total > 0 || o.Workloads != 2 || o.Pending.Items == nil || o.FanOuts.Items == nil {
		t.Errorf("got %+v", o)
	}
}

// Asking must not make a workload part of a fan-out, or end its turn.
func TestAnExplanationIsWhatIsDecidedAndChangesNothing(t *testing.T) {
	w := gradual(t, "a/one", "a/two")
	w.edited("a/c", "2")
	explain := func(name string) *status.Workload {
		return w.controller.ExplainWorkload(objecttest.DeploymentNamed(name).String(), time.Now())
	}
	for _, name := range []string{"a/one", "a/two"} {
		got := explain(name)
		if got.State != status.Pending || got.Change == nil || got.Change.For[0] != "configmap/a/c" || got.Decision.Outcome != "restart" || got.Gate == nil || !got.Gate.MayBegin {
			t.Errorf("before the restarts, %s: %+v", name, got)
		}
	}
	if o := w.overview(); o.FanOuts.Total > 0 {
		t.Fatalf("asking began a fan-out: %+v", o.FanOuts)
	}
	settle(w)
	rolling := w.restarted()
	if len(rolling) != 1 {
		t.Fatalf("%v restarted", rolling)
	}
	other := map[string]string{"a/one": "a/two", "a/two": "a/one"}[rolling[0]]
	got := explain(other)
	if got.State != status.Waiting || got.Gate == nil || got.Gate.MayBegin || got.Gate.Reason != string(gate.SlowStart) || got.Gate.On != "configmap/a/c" {
		t.Errorf("while the first rolls: %+v with %+v", got, got.Gate)
	}
	if got := explain(rolling[0]); got.Decision.Outcome != "keep" || got.Gate != nil || !got.Record.Trusted || got.Last == nil || got.Last.Cause != "configmap/c: k" {
		t.Errorf("the first: %+v", got)
	}
	if got := w.controller.gate.Ledger.Waiting()[gate.SlowStart]; got != 1 {
		t.Errorf("%d wait", got)
	}
	w.controller.deliveries.History = follow.History{}
	if last := explain(rolling[0]).Last; last == nil || last.Cause != "configmap/c: k" || last.Time.IsZero() || last.Outcome != status.Unknown || last.Why != "this replica has not followed it" {
		t.Errorf("a restart of another process: %+v", last)
	}
}

func TestARestartForManyConfigsIsListedForThoseThatAreNamed(t *testing.T) {
	w := gradual(t)
	var configs []string
	for i := range names.MaxNamed + 1 {
		configs = append(configs, fmt.Sprintf("c-%02d", i))
		w.edited("a/"+configs[i], "1")
	}
	w.runs("a/web", nil, configs...)
	settle(w)
	for _, config := range configs {
		w.edited("a/"+config, "2")
	}
	settle(w)
	requireListed := func(by string) {
		var listed []string
		for _, config := range configs {
			if w.controller.ExplainConfig("configmap/a/"+config, time.Now()).Restarts.Total == 1 {
				listed = append(listed, config)
			}
		}
		if !slices.Equal(listed, configs[:names.MaxNamed]) {
			t.Errorf("%s lists %q", by, listed)
		}
	}
	requireListed("the leader")
	deliveries := w.controller.deliveries
	deliveries.Forget(objecttest.AWeb)
	deliveries.History = follow.History{}
	deliveries.ResumeAll(time.Now())
	requireListed("the next leader")
}

func TestAnExplanationSaysThatNothingIsDecidedWhileConfigsAreUnknown(t *testing.T) {
	w := gradual(t, "a/one")
	settle(w)
	w.controller.restarter.KnowsConfigs = func(string) bool { return false }
	got := w.controller.ExplainWorkload(objecttest.DeploymentNamed("a/one").String(), time.Now())
	if want := (status.Decision{Outcome: status.Undecided, Reason: failures.ErrConfigsUnknown.Error()}); got.Decision != want || got.Gate != nil {
		t.Errorf("it says %+v, and %+v", got.Decision, got.Gate)
	}
}

func TestAnExplanationHasWhatTheAnnotationsAskForAndWhatIsWrongWithThem(t *testing.T) {
	w := gradual(t)
	w.runs("a/web", map[string]string{
		annotation.HoldAnnotation: "an incident", annotation.WaveAnnotation: "3", annotation.WindowAnnotation: "never", "com.xing.deployment-restart.grace-period": "soon",
	}, "c")
	settle(w)
	w.edited("a/c", "2")
	settle(w)
	got := w.controller.ExplainWorkload("deployment/a/web", time.Now())
	if got.State != status.Held || got.Gate.Why != "the workload is held: an incident" || got.Holds.Items[0].Text != "an incident" || got.Wave != 3 || got.Window != "never" || len(got.Mistakes) != 1 || strings.Count(got.Mistakes[0].Problem, "annotation ") != 2 {
		t.Errorf("got %+v with %+v", got, got.Gate)
	}
	if e := w.overview().Held.Items[0]; e.Text != "the workload is held: an incident" || e.Reason != "hold" {
		t.Errorf("held: %+v", e)
	}
	for _, unknown := range []string{"deployment/a/other", "configmap/a/c", "", "deployment/a", "x"} {
		if got := w.controller.ExplainWorkload(unknown, time.Now()); got != nil {
			t.Errorf("%q: %+v", unknown, got)
		}
	}
}

func TestAnExplanationNamesTheEarlierWave(t *testing.T) {
	w := gradual(t)
	w.runs("a/early", map[string]string{annotation.WaveAnnotation: "-1"}, "c")
	w.runs("a/late", nil, "c")
	settle(w)
	w.edited("a/c", "2")
	settle(w)
	got := w.controller.ExplainWorkload("deployment/a/late", time.Now()).Gate
	if got == nil || got.Reason != string(gate.Wave) || !strings.Contains(got.Why, "deployment/early") {
		t.Errorf("got %+v", got)
	}
}

func TestNeitherDataNorTheKeysOfSecretsAreShown(t *testing.T) {
	w := gradual(t)
	secret := &corev1.Secret{ObjectMeta: w.meta("a/s"), Data: map[string][]byte{"hush": []byte("a-secret-value"), "hush-too": nil}}
	w.secrets["a/s"] = secret
	w.show("secrets", secret)
	w.controller.useKey(content.NewChecksumKey([content.ChecksumKeySize]byte{1}))
	w.edited("a/c", "a-plain-value")
	w.runs("a/web", nil, "c", "s")
	w.changed("a/web", func(d *appsv1.Deployment) {
		container := &d.Spec.Template.Spec.Containers[0]
		container.Env = []corev1.EnvVar{{Name: "X", ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{Key: "hush", Optional: new(true), LocalObjectReference: corev1.LocalObjectReference{Name: "one"}}}}}
	})
	settle(w)
	edited := secret.DeepCopy()
	edited.ResourceVersion, edited.Data["hush"] = w.nextVersion(), []byte("another-value")
	w.show("secrets", edited)
	shows := func(when string) {
		t.Helper()
		text := ""
		for _, v := range []any{
			w.overview(), w.controller.ExplainWorkload("deployment/a/web", time.Now()),
			w.controller.ExplainConfig("secret/a/s", time.Now()), w.controller.ExplainConfig("configmap/a/c", time.Now()),
		} {
			encoded, err := json.Marshal(v)
			if err != nil {
				t.Fatal(err)
			}
			text += string(encoded)
		}
		for _, hidden := range []string{"hush", "value"} {
			if strings.Contains(text, hidden) {
				t.Errorf("%s, %q is shown: %s", when, hidden, text)
			}
		}
	}
	shows("before the restart")
	settle(w)
	if len(w.restarted()) != 1 {
		t.Fatal("not restarted")
	}
	shows("after the restart")
	if got := w.controller.ExplainConfig("secret/a/s", time.Now()); got.KeyCount != 2 || got.Content == "" || got.Readers.Total != 1 {
		t.Errorf("the Secret: %+v", got)
	}
	reads := w.controller.ExplainWorkload("deployment/a/web", time.Now()).Reads.Items
	if len(reads) != 3 || reads[1].KeyCount != 1 || reads[1].AllKeys || reads[1].Exists != nil || !reads[2].AllKeys || reads[2].KeyCount != 2 {
		t.Errorf("reads: %+v", reads)
	}
}

func TestAFanOutSaysTheSameWhereverItIsShown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := gradual(t, "a/one", "a/two", "a/three")
		says := func(want string) {
			t.Helper()
			time.Sleep(fanout.ProgressPeriod)
			settle(w)
			w.controller.reports.LookAtFanOuts(time.Now())
			events, shown := w.eventsOf(events.FanOut), w.overview().FanOuts.Items[0].Progress()
			if shown != want || len(events) != 1 || !strings.HasSuffix(events[0], ": "+want) {
				t.Errorf("the list says %q, and the Events %q, want %q", shown, events, want)
			}
		}
		w.edited("a/c", "2")
		says("0 of 3 delivered, 1 rolling, 2 waiting")
		w.fails(t, w.restarted()[0])
		says("0 of 3 delivered, 0 rolling, 2 waiting, 1 failed or not needed")
	})
}

// One that lacks pods restarts last, and proves nothing.
func TestAFanOutCountsWorkloadsThatLackedPodsAsDelivered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := gradual(t, "a/one", "a/two", "a/unwell-1", "a/unwell-2")
		for _, name := range []string{"a/unwell-1", "a/unwell-2"} {
			w.changed(name, func(d *appsv1.Deployment) { d.Status.AvailableReplicas = 1 })
		}
		w.edited("a/c", "2")
		settle(w)
		delivered := make(map[string]bool)
		for range 4 {
			i := slices.IndexFunc(w.restarted(), func(name string) bool { return !delivered[name] })
			name := w.restarted()[i]
			delivered[name] = true
			w.delivers(t, name)
			for _, f := range w.overview().FanOuts.Items {
				if f.Total != 4 || f.Delivered+f.Rolling+f.Waiting != 4 {
					t.Errorf("%+v", f)
				}
			}
		}
		if got := w.restarted(); len(got) != 4 {
			t.Errorf("restarted: %q", got)
		}
	})
}
