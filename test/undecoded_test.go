package test

import (
	"fmt"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"kubernetes-deployment-restart-controller/test/harness"
)

// mostAboveCalm is how much more memory than usual the controller may take for what a tenant has made, in MiB.
const mostAboveCalm = 60

// manyContainers take 150 MiB and more to decode. An object may have four times as many, but then an API server on a busy
// machine takes longer than its limit to store it.
const manyContainers = 120_000

// emptyContainers is a pod template of 360 KB. No API server has decoded it if it is in an object of a kind that Kubernetes
// does not know, or in a ControllerRevision.
var emptyContainers = `{"spec":{"containers":[` + strings.Repeat("{},", manyContainers-1) + `{}]}}`

// peak returns how much memory a controller has taken at most, in MiB.
func (s *scene) peak(c *harness.Controller) int {
	s.Helper()
	_, most, err := harness.Resident(c.PID())
	s.must(err)
	return int(most >> 20)
}

// calmPeak returns how much memory a controller takes at most for what there is now, in MiB.
func (s *scene) calmPeak(settled workload, flags ...string) int {
	s.Helper()
	controller := s.startController(flags...)
	s.awaitRecorded(settled)
	peak := s.peak(controller)
	s.must(controller.Stop())
	return peak
}

func (s *scene) requireLittleMemory(calm int) {
	s.Helper()
	peak := s.peak(s.controller)
	s.Logf("the controller took %d MiB at most, and %d MiB without the large objects", peak, calm)
	if peak > calm+mostAboveCalm {
		s.Errorf("the controller took %d MiB at most, want no more than %d above %d", peak, mostAboveCalm, calm)
	}
}

// makeRevision adds a revision to those of a StatefulSet.
func (s *scene) makeRevision(of workload, name, template string) {
	s.Helper()
	uid := s.now(of).UID
	_, err := s.client.AppsV1().ControllerRevisions(s.namespace).Create(s.Context(), &appsv1.ControllerRevision{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Labels: map[string]string{"app": of.name},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "StatefulSet", Name: of.name, UID: uid, Controller: new(true)}},
		},
		Data: runtime.RawExtension{Raw: []byte(`{"spec":{"template":` + template + `}}`)}, Revision: 1,
	}, metav1.CreateOptions{})
	s.must(err)
}

// Each of them once took 150 MiB, and more if several were decoded at the same time.
func TestRevisionsThatTakeFarMoreMemoryThanBytesAreNotDecoded(t *testing.T) {
	s := newSceneApart(t)
	s.make(settings, set("used", "v1"))
	calm := s.calmPeak(s.run("calm", podOf(envFrom(settings))))
	var all []workload
	for i := range 8 {
		stateful := s.runStateful(fmt.Sprint("stateful-", i), podOf(envFrom(settings)))
		s.awaitRollout(stateful)
		s.makeRevision(stateful, fmt.Sprint("large-", i), emptyContainers)
		all = append(all, stateful)
	}
	s.letTimePass()
	s.edit(settings, set("used", "v2"))
	s.startController()
	for _, stateful := range all {
		s.awaitRestartEvent(stateful, "restarting: configmap settings changed (keys unknown)")
	}
	s.requireLittleMemory(calm)
}

// One that is not even enabled once ended each replica at its start.
func TestObjectsThatTakeFarMoreMemoryThanBytesAreNotDecoded(t *testing.T) {
	s := newSceneApart(t)
	s.define(gadgets)
	s.allow(gadgets)
	s.make(settings, set("used", "v1"))
	victim := s.runOther(gadgets, "victim", podOf(envFrom(settings)))
	s.replacePods(victim)
	calm := s.calmPeak(victim, gadgets.flag())
	large := func(spec map[string]any) {
		containers := make([]any, manyContainers)
		for i := range containers {
			containers[i] = map[string]any{}
		}
		spec["job"] = map[string]any{"template": map[string]any{"spec": map[string]any{"containers": containers}}}
	}
	s.runOtherAs(gadgets, "disabled", nil, corev1.PodSpec{}, large)
	enabled := s.runOther(gadgets, "enabled", corev1.PodSpec{}, large)
	before := s.now(victim)
	s.startController(gadgets.flag())
	s.edit(settings, set("used", "v2"))
	s.awaitRestart(victim, before)
	s.awaitEvent(enabled, "NotSupported", "config changes do not restart this workload: it has too many values")
	s.requireLittleMemory(calm)
}
