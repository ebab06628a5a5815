package test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	registrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// The pods of a kind without a preset show how its restart goes.
func TestAnyKindWithAPodTemplateRestarts(t *testing.T) {
	s := newSceneApart(t)
	s.define(gadgets)
	s.allow(gadgets)
	s.startController(gadgets.flag(), "--restart-soak=1s")
	s.make(settings, set("used", "v1"))
	s.make(configMap("unrelated"), set("used", "v1"))
	app := s.runOther(gadgets, "app", podOf(envFrom(settings)))
	s.replacePods(app)
	before := s.awaitRecorded(app)

	s.edit(configMap("unrelated"), set("used", "v2"))
	s.settle()
	s.requireUnwritten(app, before)

	s.edit(settings, set("used", "v2"))
	s.awaitRestart(app, before)
	s.awaitEvent(app, "Restarting", "restarting: configmap settings changed")
	s.settle()
	s.requireRestarts(app, before, 1)
	kind := map[string]string{"kind": gadgets.name()}
	if delivered := s.metric("restarts_delivered_total", kind); delivered != 0 {
		t.Errorf("%v restarts are delivered although the pods are those of before", delivered)
	}
	s.replacePods(app)
	s.awaitMetric("restarts_delivered_total", kind, 1)

	outcomes := s.impact(2, "configmap/"+settings.name, "--key=used", gadgets.flag())
	if outcomes["app"] != "restarts" {
		t.Errorf("the plugin expects %v", outcomes)
	}
	stdout, _ := s.plugin(0, "explain", gadgets.name()+"/app", gadgets.flag())
	if !strings.Contains(stdout, "is up to date") {
		t.Errorf("the plugin says\n%s", stdout)
	}
	s.plugin(0, "hold", gadgets.name()+"/app", "freeze", gadgets.flag())
	held := s.now(app)
	s.edit(settings, set("used", "v3"))
	s.awaitEvent(app, "RestartHeld", "restart is held: the workload is held: freeze")
	s.settle()
	s.requireRestarts(app, held, 0)
}

// requireUnwritten fails the test if a workload of another kind was written to.
func (s *scene) requireUnwritten(w workload, before state) {
	s.Helper()
	if now := s.now(w); now.ResourceVersion != before.ResourceVersion {
		s.Errorf("%s %s was written: %v", w.kind, w.name, now.Annotations)
	}
}

// A pause between two steps of a canary may last longer than a rollout may make no progress.
func TestARolloutIsFollowedThroughItsSteps(t *testing.T) {
	newSceneApart(t).again((*scene).tryRolloutInSteps)
}

func (s *scene) tryRolloutInSteps() (held bool) {
	s.Helper()
	const deadline = 3 * time.Second
	s.define(rollouts)
	s.startController(rollouts.flag(), "--restart-soak=1s", "--restart-deadline="+deadline.String())
	s.make(settings, set("used", "v1"))
	app := s.runOther(rollouts, "app", podOf(envFrom(settings)))
	s.setStatus(app, `{"observedGeneration":"GENERATION","currentPodHash":"a","stableRS":"a","phase":"Healthy","replicas":2,"updatedReplicas":2,"availableReplicas":2}`)
	before := s.awaitRecorded(app)
	s.edit(settings, set("used", "v2"))
	late := s.awaitRestart(app, before).restartTime(s).Add(deadline)
	s.setStatus(app, `{"observedGeneration":"GENERATION","currentPodHash":"b","stableRS":"a","phase":"Paused","replicas":2,"updatedReplicas":1,"availableReplicas":2,"pauseConditions":[{"reason":"CanaryPauseStep"}]}`)
	if !time.Now().Before(late.Add(-deadline / 3)) {
		return false // it may have failed before the pause
	}
	s.awaitTime(late.Add(time.Second))
	s.settle()
	kind := map[string]string{"kind": rollouts.name()}
	if failed := s.metric("restarts_failed_total", kind); failed != 0 {
		s.Errorf("%v restarts failed in the pause", failed)
	}
	s.setStatus(app, `{"stableRS":"b","phase":"Healthy","updatedReplicas":2,"pauseConditions":null}`)
	s.awaitMetric("restarts_delivered_total", kind, 1)

	last := s.now(app)
	s.edit(settings, set("used", "v3"))
	s.awaitRestart(app, last)
	s.setStatus(app, `{"observedGeneration":"GENERATION","currentPodHash":"c","phase":"Degraded","abort":true,"updatedReplicas":0}`)
	s.awaitMetric("restarts_failed_total", kind, 1)
	s.awaitEvent(app, "RestartNotDelivered", "failed")
	return true
}

func TestAKindThatIsNotInstalledIsWaitedFor(t *testing.T) {
	s := newSceneApart(t)
	s.allow(latecomers)
	s.startController(latecomers.flag(), "--status-address=127.0.0.1:0") // returns when it is ready
	s.awaitLine("not installed", latecomers.name())
	if _, body, err := s.controller.Get(t.Context(), "/readyz?verbose"); err != nil || !strings.Contains(body, "watch "+latecomers.name()+" in "+s.namespace+": not installed, waiting for it") {
		t.Errorf("/readyz says %v\n%s", err, body)
	}
	if _, body, err := s.controller.GetStatus(t.Context(), "/status.json"); err != nil || !strings.Contains(body, `"missing":true`) {
		t.Errorf("the status page says %v\n%s", err, body)
	}
	s.settle() // others restart meanwhile

	s.define(latecomers)
	s.make(settings, set("used", "v1"))
	app := s.runOther(latecomers, "app", podOf(envFrom(settings)))
	before := s.awaitRecorded(app)
	s.edit(settings, set("used", "v2"))
	s.awaitRestart(app, before)
	if lines := s.controller.Log().Containing("level=WARN", latecomers.name()); len(lines) != 1 {
		t.Errorf("the log says %q", lines)
	}
}

func TestAWorkloadThatCannotBeRestartedIsReportedAndHarmsNobody(t *testing.T) {
	s := newSceneApart(t)
	s.define(rollouts, gadgets, cloneSets)
	s.allow(gadgets)
	s.startController(rollouts.flag(), gadgets.flag(), cloneSets.flag())
	s.make(settings, set("used", "v1"))
	pod := podOf(envFrom(settings))
	other := s.runOther(rollouts, "other", pod, func(spec map[string]any) {
		delete(spec, "template")
		spec["workloadRef"] = map[string]any{"apiVersion": "apps/v1", "kind": "Deployment", "name": "other"}
	})
	none := s.runOther(gadgets, "none", pod, func(spec map[string]any) { spec["job"] = map[string]any{"template": "a text"} })
	broad := s.runOther(gadgets, "broad", pod, func(spec map[string]any) { spec["selector"] = map[string]any{} })
	inPlace := s.runOther(cloneSets, "in-place", pod, func(spec map[string]any) {
		spec["updateStrategy"] = map[string]any{"type": "InPlaceIfPossible"}
	})
	const cannot = "config changes do not restart this workload: "
	s.awaitEvent(other, "NotSupported", cannot+"its pod template is in another object (.spec.workloadRef)")
	s.awaitEvent(none, "NotSupported", cannot+".spec.job.template is not a pod template")
	s.awaitEvent(broad, "NotSupported", cannot+"its .spec.selector selects all pods of the namespace")
	before := map[workload]state{other: s.mustLookOther(other), none: {}, broad: s.mustLookOther(broad), inPlace: s.awaitRecorded(inPlace)}

	s.edit(settings, set("used", "v2"))
	s.awaitEvent(inPlace, "RestartHeld", "restart is held: its update strategy updates pods in place")
	s.settle()
	for _, w := range []workload{other, broad, inPlace} {
		if now := s.mustLookOther(w); now.Generation != before[w].Generation {
			t.Errorf("the spec of %s %s was written", w.kind, w.name)
		}
	}
	for _, w := range []workload{other, none, broad} {
		if lines := s.controller.Log().Containing("cannot restart a workload that is enabled", "/"+w.name+" "); len(lines) != 1 {
			t.Errorf("the log says of %s %q", w.name, lines)
		}
	}
}

func (s *scene) mustLookOther(w workload) state {
	s.Helper()
	st, err := s.lookOther(s.Context(), w)
	s.must(err)
	return st
}

// Each kind that the manifest names is watched, read and patched, and nothing else of it is used.
func TestTheManifestOfOtherKindsGrantsWhatIsUsedAndNothingElse(t *testing.T) {
	s := newEngineSceneApart(t)
	kinds := []otherKind{rollouts, cloneSets, advancedSets, deploymentConfigs}
	s.define(kinds...)
	manifests, home := s.manifestsApart("rbac-namespaced.yaml", "rbac-workloads.yaml")
	var err error
	s.installation, err = s.cluster.Install(t.Context(), manifests)
	s.must(err)
	s.make(settings, set("used", "v1"))
	apps := map[string]workload{}
	for _, k := range kinds {
		apps[k.kind] = s.runOther(k, strings.ToLower(k.kind), podOf(envFrom(settings)))
		s.replacePods(apps[k.kind], "rollouts-pod-template-hash", "a", "controller-revision-hash", "a")
		s.setStatus(apps[k.kind], `{"observedGeneration":GENERATION,"currentPodHash":"a","updateRevision":"a"}`)
	}
	conflicts := s.interfere(apps[deploymentConfigs.kind]) // no label of its pods is looked up, so it would not be read otherwise
	s.letTimePass()
	s.edit(settings, set("used", "v2")) // whether the pods have read that, only they can tell
	var flags []string
	for _, k := range kinds {
		flags = append(flags, k.flag())
	}
	s.startController(flags...)
	for _, k := range kinds {
		s.awaitRestart(apps[k.kind], state{template: &corev1.PodTemplateSpec{}})
	}
	if !conflicts() {
		t.Error("no patch of the controller had a conflict")
	}
	s.requireUsed(s.namespace, home, s.rulesOf("rbac-workloads.yaml"))
	for _, r := range s.requests(func(r *request) bool { return r.code == http.StatusForbidden }) {
		t.Errorf("lacks the permission to %s %s", r.verb, r.resource)
	}
}

// interfere writes to a workload of another kind while the controller's first patch of it is under way, which then has a
// conflict. It returns a function that reports whether that has happened.
func (s *scene) interfere(w workload) (hasHappened func() bool) {
	s.Helper()
	k, _ := otherKindNamed(w.kind)
	touch := func(ctx context.Context, value string) error {
		patch := fmt.Appendf(nil, `{"metadata":{"annotations":{"touched":%q}}}`, value)
		_, err := s.others(k).Patch(ctx, w.name, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: "somebody"})
		return err
	}
	var isAsked, isDone atomic.Bool
	s.askOf(registrationv1.Update, k.groupResource(), func(ctx context.Context, request *admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
		if isAsked.Store(true); isOfController(request) && isDone.CompareAndSwap(false, true) {
			if err := touch(ctx, "meanwhile"); err != nil {
				s.Error(err)
			}
		}
		return &admissionv1.AdmissionResponse{Allowed: true}
	})
	s.eventually("the webhook is asked", func(ctx context.Context) error {
		if err := touch(ctx, time.Now().String()); err != nil || isAsked.Load() {
			return err
		}
		return errors.New("it is not")
	})
	return isDone.Load
}

// The API spells a kind of OpenKruise like one of Kubernetes.
func TestWorkloadsOfTheSameKindAndNameInTwoGroupsAreToldApart(t *testing.T) {
	s := newSceneApart(t)
	s.define(advancedSets)
	other := configMap("other")
	s.make(settings, set("used", "v1"))
	s.make(other, set("used", "v1"))
	own := s.runStateful("app", podOf(envFrom(settings)))
	advanced := s.runOther(advancedSets, "app", podOf(envFrom(other)))
	s.setStatus(advanced, `{"observedGeneration":GENERATION,"updateRevision":"a"}`)
	s.startController(advancedSets.flag())
	before := map[workload]state{own: s.started(own), advanced: s.awaitRecorded(advanced)}

	s.edit(settings, set("used", "v2"))
	s.awaitRestart(own, before[own])
	s.awaitEvent(own, "Restarting", "restarting: configmap settings changed")
	s.settle()
	s.requireUnwritten(advanced, before[advanced])
	before[own] = s.now(own)

	s.edit(other, set("used", "v2"))
	s.awaitRestart(advanced, before[advanced])
	s.awaitEvent(advanced, "Restarting", "restarting: configmap other changed")
	s.settle()
	s.requireRestarts(own, before[own], 0)
	for _, w := range []workload{own, advanced} {
		if events, err := s.eventsOf(t.Context(), w, "Restarting"); err != nil || len(events) != 1 {
			t.Errorf("%d Events about the %s, %v", len(events), w.kind, err)
		}
		if restarts := s.metric("restarts_total", map[string]string{"kind": w.kind}); restarts < 1 {
			t.Errorf("no restart of a %s is counted", w.kind)
		}
	}
	s.requirePlugin("configmap/other", "explain", advancedSets.name()+"/app", advancedSets.flag())
	s.requirePlugin("configmap/settings", "explain", "statefulset/app", advancedSets.flag())
}
