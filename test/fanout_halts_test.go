package test

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// What happens to workloads while a halt holds back their restarts.

// runHalted runs so many readers of the settings, one of which bad content has broken, and returns it. The
// pods that restart crash until heal is called.
func (s *scene) runHalted(count int) (r *readers, broken workload, heal func()) {
	s.Helper()
	s.startGradually()
	s.make(settings, set("used", "v1"))
	r = s.runApps(count)
	heal = s.crashRestartedPodsUntil()
	s.edit(settings, set("used", "bad"))
	broken = r.awaitRestarted(1)[0]
	s.awaitMetric("held_workloads", map[string]string{"reason": "halt"}, float64(count-1))
	return r, broken, heal
}

// others returns the readers but one.
func (r *readers) others(than workload) (others []workload) {
	for _, w := range r.all {
		if w != than {
			others = append(others, w)
		}
	}
	return others
}

func TestUndoingTheBrokenWorkloadEndsNoHaltAndItIsNotRestartedIntoTheBadContent(t *testing.T) {
	s := newSceneApart(t)
	r, broken, heal := s.runHalted(4)
	s.undo(broken)
	s.awaitRollout(broken)
	s.awaitMetric("held_workloads", map[string]string{"reason": "halt"}, 4)
	s.awaitEvent(broken, "RestartHeld", "restart is held: configmap/settings has broken deployment/"+broken.name)
	s.settle()
	r.requireRestarted()
	s.awaitMetric("fan_outs", map[string]string{"state": "halted"}, 1)

	heal()
	s.edit(settings, set("used", "good"))
	r.awaitRestarted(4)
}

func TestAHaltOutlivesTheBrokenWorkload(t *testing.T) {
	s := newSceneApart(t)
	r, broken, _ := s.runHalted(3)
	s.must(s.client.AppsV1().Deployments(s.namespace).Delete(s.Context(), broken.name, metav1.DeleteOptions{}))
	r.all = r.others(broken)
	s.settle()
	s.awaitMetric("held_workloads", map[string]string{"reason": "halt"}, 2)
	s.awaitMetric("stale_workloads", nil, 0) // what is held on purpose is neither stale nor late
	s.awaitMetric("longest_wait_seconds", nil, 0)
	r.requireRestarted()
}

// The new pod has read the bad content, and would keep it.
func TestARevertRestartsAHeldWorkloadWhosePodWasReplacedMeanwhile(t *testing.T) {
	s := newSceneApart(t)
	r, broken, heal := s.runHalted(4)
	evicted := r.others(broken)[0]
	s.letTimePass()
	pods, err := s.podsOf(s.Context(), evicted)
	s.must(err)
	s.must(s.client.CoreV1().Pods(s.namespace).Delete(s.Context(), pods[0].Name, metav1.DeleteOptions{}))
	s.awaitPods(evicted, 1, map[types.UID]bool{pods[0].UID: true})
	exposed := map[string]string{"namespace": s.namespace, "reason": "halt"}
	s.awaitMetric("held_workloads_exposed", exposed, 1)
	s.settle()
	r.requireRestarted(broken)

	s.letTimePass()
	heal()
	r.note()
	s.edit(settings, set("used", "v1"))
	r.awaitRestarted(2)
	s.awaitMetric("undelivered_restarts", nil, 0)
	s.awaitMetric("held_workloads_exposed", nil, 0)
	s.settle()
	r.requireRestarted(broken, evicted)
}

func TestAHeldWorkloadThatIsReleasedIsNotRestartedWhenTheHaltEnds(t *testing.T) {
	s := newSceneApart(t)
	r, broken, heal := s.runHalted(3)
	others := r.others(broken)
	id := s.awaitEventOn(settings, "RestartsHalted", resumeAnnotation+`=(\w+)$`)[1]
	s.letTimePass()
	s.patchImage(others[0], "example/main:2")
	s.awaitRollout(others[0])
	s.awaitMetric("held_workloads", map[string]string{"reason": "halt"}, 1)
	heal()
	s.annotateConfig(settings, resumeAnnotation, id)
	r.awaitRestarted(2)
	s.awaitRollout(others[1])
	s.settle()
	r.requireRestarted(broken, others[1])
}

func TestARestartForTwoConfigsHaltsBothIfItFails(t *testing.T) {
	s := newSceneApart(t)
	s.startController("--fan-out=gradual", "--restart-soak=1s")
	s.leadTheWaves()
	second := configMap("second")
	s.make(settings, set("used", "v1"))
	s.make(second, set("used", "v1"))
	both := s.run("both", podOf(envFrom(settings), envFrom(second)), inWave(-1))
	ofOne := s.run("of-one", podOf(envFrom(settings)))
	ofOther := s.run("of-other", podOf(envFrom(second)))
	r := s.readersOf(both, ofOne, ofOther)
	heal := s.crashRestartedPodsUntil()
	s.stretchGrace(both)
	s.edit(settings, set("used", "bad"))
	s.edit(second, set("used", "bad"))
	s.endGrace(both)
	s.awaitMetric("fan_outs", map[string]string{"state": "halted"}, 2)
	for _, c := range []config{settings, second} {
		s.awaitEventOn(c, "RestartsHalted", "^halted after deployment/both failed, and any of 2 changes may be at fault: 1 held; look with: kubectl ")
	}
	s.awaitMetric("held_workloads", map[string]string{"reason": "halt"}, 2)
	s.settle()
	r.requireRestarted(both)
	if got := s.now(both).revisions - r.before[both].revisions; got != 1 {
		t.Errorf("%d restarts for two edits, want one", got)
	}

	// One of the two was to blame. The broken workload runs with the other one as it is, which ends that halt, too.
	heal()
	s.edit(settings, set("used", "good"))
	r.awaitRestarted(3)
	s.awaitMetric("fan_outs", map[string]string{"state": "halted"}, 0)
}

// A person forgives what has failed so far, and no more.
func TestAFailureAfterAPersonHasResumedHaltsAgain(t *testing.T) {
	s := newSceneApart(t)
	r, _, heal := s.runHalted(4)
	first := s.awaitEventOn(settings, "RestartsHalted", resumeAnnotation+`=(\w+)$`)[1]
	s.annotateConfig(settings, resumeAnnotation, first)
	r.awaitRestarted(2)
	s.awaitMetric("restarts_failed_total", nil, 2)
	s.awaitMetric("held_workloads", map[string]string{"reason": "halt"}, 2)
	s.settle()
	r.awaitRestarted(2)

	heal()
	s.awaitHaltRecord(settings)
	s.patchHalts(fmt.Sprintf(`{"data":{%q:null}}`, s.haltEntry(settings))) // the other way to resume
	r.awaitRestarted(4)
}

func TestAHaltEndsWhenTheBrokenWorkloadRunsAfterAll(t *testing.T) {
	withEachDriver(t, (*scene).requireHaltToEndWhenTheBrokenWorkloadRuns)
}

func (s *scene) requireHaltToEndWhenTheBrokenWorkloadRuns() {
	s.Helper()
	r, broken, heal := s.runHalted(3)
	heal()
	s.recover(broken)
	r.awaitRestarted(3)
	s.awaitMetric("fan_outs", map[string]string{"state": "halted"}, 0)
	if got := s.now(broken).revisions - r.before[broken].revisions; got != 1 {
		s.Errorf("the broken workload was restarted %d times, want once", got)
	}
}

// recover makes the pods of a workload run that crash.
func (s *scene) recover(w workload) {
	s.Helper()
	s.patchPodStatuses(w, `{"status":{"conditions":[{"type":"Ready","status":"True"},{"type":"ContainersReady","status":"True"}],"containerStatuses":[`+
		`{"name":"main","image":"example/app","imageID":"","ready":true,"restartCount":1,"state":{"waiting":null,"running":{}}}]}}`)
}

// patchPodStatuses patches the status of each pod of a workload.
func (s *scene) patchPodStatuses(w workload, patch string) {
	s.Helper()
	pods, err := s.podsOf(s.Context(), w)
	s.must(err)
	for i := range pods {
		s.patchPodStatus(&pods[i], patch)
	}
}

func (s *scene) patchPodStatus(pod *corev1.Pod, patch string) {
	s.Helper()
	_, err := s.client.CoreV1().Pods(s.namespace).Patch(s.Context(), pod.Name, types.StrategicMergePatchType, []byte(patch), metav1.PatchOptions{}, "status")
	s.must(err)
}

// Of a Secret neither content nor names of keys are written anywhere.
func TestAHaltOfASecretNamesNoKeys(t *testing.T) {
	s := newSceneApart(t)
	s.startController("--fan-out=gradual", "--restart-soak=1s")
	s.make(credentials, set("the-name", "v1"))
	r := s.readersOf(s.run("a", podOf(envFrom(credentials))), s.run("b", podOf(envFrom(credentials))))
	s.crashRestartedPods()
	s.edit(credentials, set("the-name", "the-value"))
	s.awaitMetric("held_workloads", map[string]string{"reason": "halt"}, 1)
	r.awaitRestarted(1)
	s.awaitEventOn(credentials, "RestartsHalted", "^halted after ")
	said := s.awaitHaltRecord(credentials)
	events, err := s.client.CoreV1().Events(s.namespace).List(s.Context(), metav1.ListOptions{})
	s.must(err)
	for i := range events.Items {
		said += "\n" + events.Items[i].Message
	}
	said += strings.Join(s.controller.Log().Containing(s.namespace), "\n")
	for _, secret := range []string{"the-name", "the-value"} {
		if strings.Contains(said, secret) {
			t.Errorf("%q is in:\n%s", secret, said)
		}
	}
}

func TestUrgentContentSkipsTheSlowStart(t *testing.T) {
	s := newSceneApart(t)
	s.startController("--fan-out=gradual", "--restart-soak=30s")
	s.make(settings, set("used", "v1"))
	r := s.readersOf(s.runHeld(inWave(0), "a", "b", "c", "d", "e")...)
	s.edit(settings, set("used", "v2"))
	first := r.awaitRestarted(1)[0]
	s.awaitMetric("held_workloads", map[string]string{"reason": "slow-start"}, 4)
	checksums, err := s.now(first).checksums()
	s.must(err)
	id := checksums[settings.key(s.namespace)]
	s.awaitEventOn(settings, "FanOut", "^fan-out of "+id+": 0 of 5 delivered, 1 rolling, 4 waiting$")
	s.annotateConfig(settings, urgentAnnotation, id)
	r.awaitRestarted(5)
	s.awaitMetric("restarts_delivered_total", nil, 0)
}
