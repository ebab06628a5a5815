package test

import (
	"cmp"
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// How a change of a config reaches the workloads that read it: one first, and all others only if its
// pods run.

const resumeAnnotation = "com.xing.deployment-restart.resume"

// readers are workloads that read the settings.
type readers struct {
	*scene
	all    []workload
	before map[workload]state
}

// runReaders starts a controller that restarts gradually, and so many workloads that read the settings.
func (s *scene) runReaders(count int, flags ...string) *readers {
	s.Helper()
	s.startGradually(flags...)
	s.make(settings, set("used", "v1"), set("other", "v1"))
	return s.runApps(count)
}

// startGradually starts a controller that restarts gradually, with an engine in a scene that is for that.
func (s *scene) startGradually(flags ...string) {
	s.Helper()
	start := s.startController
	if s.hasEngine {
		start = s.startEngine
	}
	start(append([]string{"--fan-out=gradual", "--restart-soak=1s"}, flags...)...)
}

// drivers open scenes in which Kubernetes' own controller drives Deployments, and in which the engine does.
var drivers = map[string]func(*testing.T) *scene{"driven by Kubernetes": newSceneApart, "driven by the engine": newEngineSceneApart}

// withEachDriver runs a test with both of them.
func withEachDriver(t *testing.T, test func(*scene)) {
	t.Helper()
	t.Parallel()
	for name, open := range drivers {
		t.Run(name, func(t *testing.T) { test(open(t)) })
	}
}

// runApps runs so many Deployments that read the settings.
func (s *scene) runApps(count int) *readers {
	s.Helper()
	var all []workload
	for i := range count {
		all = append(all, s.run(fmt.Sprintf("app-%02d", i), podOf(envFrom(settings))))
	}
	return s.readersOf(all...)
}

// readersOf waits until all the workloads run, and long enough that no clock can take an edit for older
// than their pods.
func (s *scene) readersOf(all ...workload) *readers {
	s.Helper()
	r := &readers{scene: s, all: all, before: make(map[workload]state)}
	for _, w := range all {
		r.before[w] = s.started(w)
	}
	s.letTimePass()
	return r
}

// restarted returns the readers whose pod templates have another timestamp than when they were noted last.
func (r *readers) restarted(ctx context.Context) (restarted []workload, err error) {
	for _, w := range r.all {
		now, err := r.look(ctx, w)
		if err != nil {
			return nil, err
		}
		if before := r.before[w]; now.restartedAt() != before.restartedAt() {
			restarted = append(restarted, w)
		}
	}
	return restarted, nil
}

// awaitRestarted waits until so many readers have restarted, and returns them.
func (r *readers) awaitRestarted(count int) (restarted []workload) {
	r.Helper()
	r.eventually(fmt.Sprintf("%d readers restart", count), func(ctx context.Context) (err error) {
		if restarted, err = r.restarted(ctx); err == nil && len(restarted) != count {
			err = fmt.Errorf("%d have: %v", len(restarted), restarted)
		}
		return err
	})
	return restarted
}

// requireRestarted fails the test unless just these readers have restarted.
func (r *readers) requireRestarted(want ...workload) {
	r.Helper()
	got, err := r.restarted(r.Context())
	r.must(err)
	byName := func(a, b workload) int { return cmp.Compare(a.name, b.name) }
	slices.SortFunc(got, byName)
	if !slices.Equal(got, slices.SortedFunc(slices.Values(want), byName)) {
		r.Fatalf("%v restarted, want %v", got, want)
	}
}

// note notes the present state of the readers.
func (r *readers) note() {
	r.Helper()
	for _, w := range r.all {
		r.before[w] = r.now(w)
	}
}

// awaitEventOn waits for an Event of the settings whose text matches, and returns what the groups match.
func (s *scene) awaitEventOn(c config, reason, pattern string) (groups []string) {
	s.Helper()
	s.eventually(fmt.Sprintf("an Event %s of %s", reason, c.name), func(ctx context.Context) error {
		list, err := s.client.CoreV1().Events(s.namespace).List(ctx, metav1.ListOptions{FieldSelector: "reason=" + reason + ",involvedObject.name=" + c.name})
		if err != nil {
			return err
		}
		for i := range list.Items {
			if groups = regexp.MustCompile(pattern).FindStringSubmatch(list.Items[i].Message); groups != nil {
				return nil
			}
		}
		return fmt.Errorf("there are %v", list.Items)
	})
	return groups
}

func TestAGoodContentReachesAllReadersOneAfterAnother(t *testing.T) {
	s := newSceneApart(t)
	r := s.runReaders(6)
	s.edit(settings, set("used", "v2"))
	r.awaitRestarted(6)
	s.awaitMetric("restarts_delivered_total", map[string]string{"kind": "Deployment"}, 6)
	s.awaitEventOn(settings, "FanOut", `^finished: 6 delivered in \S+s$`)
	s.awaitMetric("held_workloads", map[string]string{"reason": "slow-start"}, 0)
	s.awaitMetric("undelivered_restarts", nil, 0)
}

func TestABadContentBreaksOneReaderAndHaltsTheOthersUntilItIsReverted(t *testing.T) {
	s := newSceneApart(t)
	r := s.runReaders(8)
	heal := s.crashRestartedPodsUntil()
	s.edit(settings, set("used", "bad"))
	broken := r.awaitRestarted(1)
	s.awaitMetric("restarts_failed_total", map[string]string{"kind": "Deployment"}, 1)
	s.awaitEventOn(settings, "RestartsHalted", `^halted after deployment/`+broken[0].name+` failed: 7 held; look with: kubectl (?:logs|describe pod) [^;]+; revert the change, or resume with: kubectl annotate --overwrite -n \S+ configmap/settings `+regexp.QuoteMeta(resumeAnnotation)+`=(\w+)$`)
	s.awaitMetric("held_workloads", map[string]string{"reason": "halt"}, 7)
	s.awaitMetric("fan_outs", map[string]string{"state": "halted"}, 1)
	s.settle()
	r.awaitRestarted(1)

	r.note()
	heal()
	s.edit(settings, set("used", "v1"))
	if again := r.awaitRestarted(1); again[0] != broken[0] {
		t.Errorf("%v restarted after the revert, and %v was broken", again, broken)
	}
	s.awaitMetric("held_workloads", map[string]string{"reason": "halt"}, 0)
	s.awaitMetric("fan_outs", map[string]string{"state": "halted"}, 0)
	s.awaitMetric("restarts_delivered_total", map[string]string{"kind": "Deployment"}, 1)
	s.awaitEventOn(settings, "RestartsResumed", `^resumed: its content has changed$`)
	for _, w := range r.all {
		if w != broken[0] {
			s.awaitEvent(w, "RestartsResumed", "restart is no longer held by a halt: restarts for configmap/settings are resumed, because its content has changed. None is due any more")
		}
	}
	s.settle()
	r.awaitRestarted(1)
}

func TestAFixReachesTheBrokenReaderFirstAndThenAllOthers(t *testing.T) {
	withEachDriver(t, (*scene).requireFixToReachTheBrokenReaderFirst)
}

func (s *scene) requireFixToReachTheBrokenReaderFirst() {
	s.Helper()
	r := s.runReaders(5)
	heal := s.crashRestartedPodsUntil()
	s.edit(settings, set("used", "bad"))
	broken := r.awaitRestarted(1)
	s.awaitMetric("held_workloads", map[string]string{"reason": "halt"}, 4)
	r.note()
	s.edit(settings, set("used", "bad too"))
	if first := r.awaitRestarted(1); first[0] != broken[0] {
		s.Errorf("%v got the fix first, and %v was broken", first, broken)
	}
	s.awaitMetric("restarts_failed_total", map[string]string{"kind": "Deployment"}, 2)
	s.awaitMetric("held_workloads", map[string]string{"reason": "halt"}, 4)
	r.awaitRestarted(1)
	r.note()
	heal()
	s.edit(settings, set("used", "good"))
	r.awaitRestarted(5)
	s.awaitMetric("restarts_delivered_total", map[string]string{"kind": "Deployment"}, 5)
}

func TestAnEditOfAnotherKeyIsNotHaltedAndAPersonCanResume(t *testing.T) {
	s := newSceneApart(t)
	s.startGradually()
	s.make(settings, set("used", "v1"), set("other", "v1"))
	var apps []workload
	for i := range 3 { // none of them reads the other key: the one that has failed would restart for it, and run
		apps = append(apps, s.run(fmt.Sprintf("app-%02d", i), podOf(envKey(settings, "used"))))
	}
	r := s.readersOf(apps...)
	bystander := s.run("bystander", podOf(envKey(settings, "other")))
	before := s.started(bystander)
	s.awaitRollout(bystander)
	heal := s.crashRestartedPodsUntil()
	s.edit(settings, set("used", "bad"))
	r.awaitRestarted(1)
	id := s.awaitEventOn(settings, "RestartsHalted", resumeAnnotation+`=(\w+)$`)[1]
	heal()
	s.edit(settings, set("other", "v2"))
	s.awaitRestart(bystander, before)
	s.awaitMetric("held_workloads", map[string]string{"reason": "halt"}, 2)
	s.annotateConfig(settings, resumeAnnotation, id)
	r.awaitRestarted(3)
	s.awaitMetric("fan_outs", map[string]string{"state": "halted"}, 0)
	s.awaitEventOn(settings, "RestartsResumed", `^resumed: a person has set `+regexp.QuoteMeta(resumeAnnotation)+"="+id+"$")
}

// annotateConfig sets an annotation of a config; an empty value removes it.
func (s *scene) annotateConfig(c config, name, value string) {
	s.Helper()
	patch := fmt.Sprintf(`{"metadata":{"annotations":{%q:%q}}}`, name, value)
	if value == "" {
		patch = strings.ReplaceAll(patch, `:""`, ":null")
	}
	err := s.client.CoreV1().RESTClient().Patch(types.MergePatchType).Namespace(s.namespace).Resource(c.kind + "s").Name(c.name).Body([]byte(patch)).Do(s.Context()).Error()
	s.must(err)
}

func TestTheNextLeaderHaltsWhatTheFormerOneHalted(t *testing.T) {
	s := newSceneApart(t)
	r := s.runReaders(4)
	heal := s.crashRestartedPodsUntil()
	s.edit(settings, set("used", "bad"))
	r.awaitRestarted(1)
	s.awaitMetric("held_workloads", map[string]string{"reason": "halt"}, 3)
	s.awaitHaltRecord(settings)
	r.note()
	s.must(s.controller.Stop())
	heal()
	s.startController("--fan-out=gradual", "--restart-soak=1s")
	s.awaitMetric("held_workloads", map[string]string{"reason": "halt"}, 3)
	s.settle()
	r.awaitRestarted(0)
	s.edit(settings, set("used", "good"))
	r.awaitRestarted(4)
	s.awaitEventOn(settings, "RestartsResumed", `^resumed: its content has changed$`)
}

func TestAHoldKeepsARestartFromBeginningUntilItIsRemoved(t *testing.T) {
	s := newSceneApart(t)
	r := s.runReaders(2)
	s.annotateConfig(settings, "com.xing.deployment-restart.hold", "incident 42")
	s.edit(settings, set("used", "v2"))
	s.awaitMetric("held_workloads", map[string]string{"reason": "hold"}, 2)
	s.awaitEvent(r.all[0], "RestartHeld", "restart is held: the configmap/settings is held: incident 42")
	s.settle()
	r.awaitRestarted(0)
	s.annotateConfig(settings, "com.xing.deployment-restart.hold", "")
	r.awaitRestarted(2)
}

// awaitHaltRecord waits until the halts of a config are recorded, and returns the record.
func (s *scene) awaitHaltRecord(c config) (record string) {
	s.Helper()
	s.eventually("the halt is recorded", func(ctx context.Context) error {
		halts, err := s.client.CoreV1().ConfigMaps(s.installation.Namespace).Get(ctx, haltsConfigMap, metav1.GetOptions{})
		if err == nil {
			if record = halts.Data[s.haltEntry(c)]; record == "" {
				err = fmt.Errorf("there is only %v", halts.Data)
			}
		}
		return err
	})
	return record
}

// haltEntry names the entry of the halts of a config.
func (s *scene) haltEntry(c config) string { return c.kind + "." + s.namespace + "." + c.name }
