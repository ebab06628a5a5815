package test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/google/go-cmp/cmp"

	"kubernetes-deployment-restart-controller/test/harness"
)

const (
	onFailureAnnotation = "com.xing.deployment-restart.on-failure"
	retryAnnotation     = "com.xing.deployment-restart.retry"
	fallenBack          = appsv1.DeploymentConditionType("FallenBack")
	fallBacksTotal      = enginePrefix + "fallbacks_total"
)

// fallsBack makes a Deployment run its last release again if one fails.
func fallsBack(d *appsv1.Deployment) {
	metav1.SetMetaDataAnnotation(&d.ObjectMeta, onFailureAnnotation, "fall-back")
}

// within sets the progress deadline.
func within(seconds int32) func(*appsv1.Deployment) {
	return func(d *appsv1.Deployment) { d.Spec.ProgressDeadlineSeconds = &seconds }
}

// bothStrategies replace at most one pod of four at a time, and all at once.
var bothStrategies = map[string]func(*appsv1.Deployment){"RollingUpdate": rolling(1, 0), "Recreate": recreated}

// The images of a good release, and of two whose pods crash.
const (
	goodImage  = "example/main:1"
	badImage   = "example/main:2"
	worseImage = "example/main:3"
)

// crashBadReleases makes the pods of a workload crash as they start if they have one of the bad images, until heal is called.
func (s *scene) crashBadReleases(w workload) (heal func()) {
	s.Helper()
	return s.crashAtStart(func(pod *corev1.Pod) bool {
		return pod.Labels["app"] == w.name && slices.Contains([]string{badImage, worseImage}, pod.Spec.Containers[0].Image)
	})
}

// newFallBackScene opens a scene with an engine and a Deployment of four pods whose releases fall back. Its first release is
// complete, and the pods of bad releases crash until heal is called.
func newFallBackScene(t *testing.T, adjust func(*appsv1.Deployment)) (s *scene, web workload, heal func()) {
	t.Helper()
	s = newEngineSceneApart(t)
	s.startEngine()
	web = s.deploy("web", 4, adjust, fallsBack)
	s.awaitRollout(web)
	return s, web, s.crashBadReleases(web)
}

// condition returns a condition of a Deployment, nil if it has none of the type.
func condition(d *appsv1.Deployment, kind appsv1.DeploymentConditionType) *appsv1.DeploymentCondition {
	i := slices.IndexFunc(d.Status.Conditions, func(c appsv1.DeploymentCondition) bool { return c.Type == kind })
	if i < 0 {
		return nil
	}
	return &d.Status.Conditions[i]
}

// awaitFallenBack waits until a Deployment says that it runs that many pods of an earlier release, and asks for this attempt
// next. It returns what it says.
func (s *scene) awaitFallenBack(w workload, pods, next int) *appsv1.Deployment {
	s.Helper()
	d := s.awaitDeployment(w, "has fallen back", func(d *appsv1.Deployment) error {
		c, status := condition(d, fallenBack), d.Status
		switch {
		case c == nil || !strings.HasSuffix(c.Message, fmt.Sprintf("/%d.", next)):
			return fmt.Errorf("its conditions are %+v", status.Conditions)
		case status.ObservedGeneration < d.Generation || status.UpdatedReplicas > 0,
			int(status.Replicas) != pods, int(status.AvailableReplicas) != pods:
			return fmt.Errorf("its status is %+v", status)
		}
		return nil
	})
	why, progressing := condition(d, fallenBack), condition(d, appsv1.DeploymentProgressing)
	if why.Status != corev1.ConditionTrue || why.Reason != "ReleaseCrashed" {
		s.Errorf("FallenBack is %s for the reason %s", why.Status, why.Reason)
	}
	if progressing.Status != corev1.ConditionFalse || progressing.Reason != "ProgressDeadlineExceeded" || progressing.Message != why.Message {
		s.Errorf("Progressing is %+v, FallenBack %+v", progressing, why)
	}
	return d
}

// requireMessage fails the test unless a Deployment that has fallen back names the release that failed, why, what runs instead,
// and what to do.
func (s *scene) requireMessage(d *appsv1.Deployment, failed, good *appsv1.ReplicaSet, attempt int) {
	s.Helper()
	want := fmt.Sprintf(`^The release of ReplicaSet "%[1]s" has failed: container main of pod \S+: CrashLoopBackOff\. `+
		`ReplicaSet %[2]s, which was complete before, runs instead; to keep it, roll back to its revision %[3]d\. `+
		`To try the failed release again, set the annotation %[4]s to %[1]s/%[5]d\.$`,
		failed.Name, good.Name, revision(good), regexp.QuoteMeta(retryAnnotation), attempt)
	if got := condition(d, fallenBack).Message; !regexp.MustCompile(want).MatchString(got) {
		s.Errorf("the condition says %q, want %s", got, want)
	}
}

// requireSpecAsBefore fails the test if anybody has written to a Deployment's spec or annotations since an earlier state.
func (s *scene) requireSpecAsBefore(w workload, since state) {
	s.Helper()
	st := s.now(w)
	if diff := cmp.Diff(since.spec, st.spec); diff != "" || st.Generation != since.Generation {
		s.Errorf("generation %d became %d, and the spec changed (-before +after):\n%s", since.Generation, st.Generation, diff)
	}
}

// awaitComplete waits until a Deployment says that its release is complete, and that it has not fallen back.
func (s *scene) awaitComplete(w workload, release *appsv1.ReplicaSet) {
	s.Helper()
	s.awaitDeployment(w, "is complete", func(d *appsv1.Deployment) error {
		c := condition(d, appsv1.DeploymentProgressing)
		if c == nil || c.Reason != "NewReplicaSetAvailable" || !strings.Contains(c.Message, release.Name) || condition(d, fallenBack) != nil {
			return fmt.Errorf("its conditions are %+v", d.Status.Conditions)
		}
		return deploymentRollout(d)
	})
}

func TestAReleaseThatCrashesFallsBack(t *testing.T) {
	t.Parallel()
	for name, strategy := range bothStrategies {
		t.Run(name, func(t *testing.T) {
			s, web, _ := newFallBackScene(t, strategy)
			before := s.awaitPods(web, 4, nil)
			s.patchImage(web, badImage)
			released := s.now(web)

			d := s.awaitFallenBack(web, 4, 2)
			sets := s.awaitSizes(web, 4, 0)
			s.requireMessage(d, &sets[1], &sets[0], 2)
			s.requirePodsOf(web, &sets[0], 4)
			if name == "RollingUpdate" { // never lost one
				s.requireSamePods(web, before)
			}
			_, complaint := s.kubectlFails("rollout", "status", web.ref())
			requireContains(t, complaint, `deployment "web" exceeded its progress deadline`)
			event := s.awaitEvent(web, "FellBack", "has failed")
			if event.Message != condition(d, fallenBack).Message || event.Type != corev1.EventTypeWarning {
				t.Errorf("the Event is a %s, and says %q", event.Type, event.Message)
			}
			s.awaitMetric(fallBacksTotal, map[string]string{"cause": "crash"}, 1)
			s.awaitMetric(fallBacksTotal, nil, 1)
			s.engineSettles()
			s.requireSpecAsBefore(web, released)
			s.requireImage(web, badImage)

			fallen := s.awaitPods(web, 4, nil)
			s.kubectl("rollout", "restart", web.ref())
			s.awaitEvent(web, "StillFallenBack", "so nothing is rolled out and no pod restarts. The release of ReplicaSet ")
			sets = s.awaitSizes(web, 4, 0, 0)
			s.requireMessage(s.awaitFallenBack(web, 4, 2), &sets[2], &sets[0], 2)
			s.engineSettles()
			s.requireSamePods(web, fallen)

			s.scaleFallenBack(web, 6)
			s.scaleFallenBack(web, 0)
			s.scaleFallenBack(web, 4)
			s.awaitMetric(fallBacksTotal, nil, 1)
		})
	}
}

// scaleFallenBack scales a Deployment that has fallen back from the first of three ReplicaSets.
func (s *scene) scaleFallenBack(w workload, replicas int) {
	s.Helper()
	s.kubectl("scale", w.ref(), fmt.Sprintf("--replicas=%d", replicas))
	s.awaitFallenBack(w, replicas, 2)
	sets := s.awaitSizes(w, int32(replicas), 0, 0)
	s.awaitPods(w, replicas, nil)
	s.requirePodsOf(w, &sets[0], replicas)
}

func TestAFailedReleaseIsTriedAgainOnlyWhenAPersonSaysSo(t *testing.T) {
	t.Parallel()
	for name, strategy := range bothStrategies {
		t.Run(name, func(t *testing.T) {
			s, web, heal := newFallBackScene(t, strategy)
			s.patchImage(web, badImage)
			s.awaitFallenBack(web, 4, 2)

			// Another process knows only what the API server keeps.
			s.must(s.controller.Kill())
			s.kubectl("scale", web.ref(), "--replicas=5")
			s.startEngine()
			sets := s.awaitSizes(web, 5, 0)
			s.requireMessage(s.awaitFallenBack(web, 5, 2), &sets[1], &sets[0], 2)
			s.engineSettles()
			s.requireSizes(web, 5, 0)
			s.requirePodsOf(web, &sets[0], 5)
			s.awaitMetric(fallBacksTotal, nil, 0)

			// The cause is still there.
			stdout, _ := s.plugin(0, "retry", web.ref())
			requireContains(t, stdout, "deployment/web annotated, to be tried again as "+sets[1].Name+"/2")
			s.requireMessage(s.awaitFallenBack(web, 5, 3), &sets[1], &sets[0], 3)
			s.awaitMetric(fallBacksTotal, map[string]string{"cause": "crash"}, 1)
			s.awaitSizes(web, 5, 0)

			heal()
			s.engineSettles()
			s.requireSizes(web, 5, 0)
			s.plugin(0, "retry", web.ref())
			requireContains(t, s.kubectl("rollout", "status", web.ref()), `deployment "web" successfully rolled out`)
			s.awaitComplete(web, &sets[1])
			s.requireSizes(web, 0, 5)
			s.requirePodsOf(web, &sets[1], 5)
			_, complaint := s.plugin(1, "retry", web.ref())
			requireContains(t, complaint, "so there is nothing to try again")

			// The way back is as usual, in both directions.
			s.kubectl("rollout", "undo", web.ref())
			s.awaitComplete(web, &sets[0])
			s.requireImage(web, goodImage)
			s.requirePodsOf(web, &sets[0], 5)
			s.kubectl("rollout", "undo", web.ref())
			s.awaitComplete(web, &sets[1])
			s.requireImage(web, badImage)
			s.requirePodsOf(web, &sets[1], 5)
			s.awaitMetric(fallBacksTotal, nil, 1)
		})
	}
}

// A rollback completes, so that the same template is another release afterwards.
func TestAReleaseThatWasRolledBackIsTriedAgain(t *testing.T) {
	s, web, _ := newFallBackScene(t, rolling(1, 0))
	before := s.awaitPods(web, 4, nil)
	s.patchImage(web, badImage)
	s.awaitFallenBack(web, 4, 2)

	s.kubectl("rollout", "undo", web.ref())
	sets := s.awaitSizes(web, 0, 4)
	s.awaitComplete(web, &sets[1])
	s.requireImage(web, goodImage)
	s.requireSamePods(web, before)
	requireContains(t, s.kubectl("rollout", "status", web.ref()), "successfully rolled out")

	s.patchImage(web, badImage)
	s.awaitFallenBack(web, 4, 3)
	s.awaitMetric(fallBacksTotal, map[string]string{"cause": "crash"}, 2)
	s.requireSamePods(web, before)
}

func TestTheTemplateOfAFailedReleaseIsNotTriedAgainAfterAnotherThatFailed(t *testing.T) {
	s, web, _ := newFallBackScene(t, rolling(1, 0))
	before := s.awaitPods(web, 4, nil)
	s.patchImage(web, badImage)
	s.awaitFallenBack(web, 4, 2)
	s.patchImage(web, worseImage)
	sets := s.awaitSizes(web, 4, 0, 0)
	s.awaitMetric(fallBacksTotal, nil, 2)
	s.requireMessage(s.awaitFallenBack(web, 4, 2), &sets[2], &sets[0], 2)

	s.patchImage(web, badImage)
	s.awaitEvent(web, "StillFallenBack", fmt.Sprintf("The release of ReplicaSet %q has failed", sets[1].Name))
	s.engineSettles()
	s.requireMessage(s.awaitFallenBack(web, 4, 2), &sets[1], &sets[0], 2)
	s.requireSizes(web, 4, 0, 0)
	s.requireSamePods(web, before)
	s.awaitMetric(fallBacksTotal, nil, 2)

	s.patchImage(web, "example/main:4")
	sets = s.awaitSizes(web, 0, 0, 0, 4)
	s.awaitComplete(web, &sets[3])
	s.requirePodsOf(web, &sets[3], 4)
}

func TestTheCauseOfAFailureIsNamed(t *testing.T) {
	s := newEngineSceneApart(t)
	s.startEngine()
	const passed = ", and its progress deadline of 8s has passed. "
	causes := map[string]struct{ container, reason, why string }{
		"config":    {`{"waiting":{"reason":"CreateContainerConfigError"}}`, "ReleaseLacksConfig", "CreateContainerConfigError. "},
		"image":     {`{"waiting":{"reason":"ErrImagePull"}}`, "ReleaseLacksImage", "ErrImagePull" + passed},
		"not_ready": {`{"running":{"startedAt":"NOW"}}`, "ReleaseNotReady", "it has started and is not ready" + passed},
	}
	apps := map[string]workload{}
	for cause := range causes {
		apps[cause] = s.deploy(strings.ReplaceAll(cause, "_", "-"), 2, rolling(1, 0), fallsBack, within(8))
	}
	for cause, app := range apps {
		s.awaitRollout(app)
		s.patchHeld(app, badImage)
		s.awaitSizes(app, 2, 1)
		s.showContainer(app, causes[cause].container)
	}
	for cause, app := range apps {
		want := causes[cause]
		d := s.awaitCondition(app, fallenBack, want.reason)
		requireContains(t, condition(d, fallenBack).Message, "has failed: container main of pod ", ": "+want.why)
		s.awaitMetric(fallBacksTotal, map[string]string{"cause": cause}, 1)
		sets := s.awaitSizes(app, 2, 0)
		s.requirePodsOf(app, &sets[0], 2)
	}
	s.awaitMetric(fallBacksTotal, nil, 3)
}

// showContainer shows the container of the one pod of a workload that is held in a state, as if the pod were on a node.
func (s *scene) showContainer(w workload, container string) {
	s.Helper()
	now := time.Now().UTC().Format(time.RFC3339)
	status := fmt.Sprintf(`{"status":{"startTime":%q,"conditions":[{"type":"PodScheduled","status":"True"}],"containerStatuses":[`+
		`{"name":"main","image":"example/main","imageID":"","ready":false,"restartCount":0,"state":%s}]}}`, now, strings.ReplaceAll(container, "NOW", now))
	s.eventually("a pod of "+w.name+" is held", func(ctx context.Context) error {
		pods, err := s.podsOf(ctx, w)
		if err != nil {
			return err
		}
		i := slices.IndexFunc(pods, func(pod corev1.Pod) bool { return len(pod.Spec.SchedulingGates) > 0 })
		if i < 0 {
			return errors.New("none is")
		}
		_, err = s.client.CoreV1().Pods(s.namespace).Patch(ctx, pods[i].Name, types.StrategicMergePatchType,
			[]byte(status), metav1.PatchOptions{}, "status")
		return err
	})
}

// No pod of it can start, for a reason that is not in its template.
func TestAReleaseThatIsStuckDoesNotFallBack(t *testing.T) {
	s := newEngineSceneApart(t)
	s.startEngine()
	web := s.deploy("web", 4, rolling(1, 0), fallsBack, within(8))
	s.awaitRollout(web)
	s.patchHeld(web, badImage)
	sets := s.awaitSizes(web, 4, 1)
	d := s.awaitCondition(web, appsv1.DeploymentProgressing, "ProgressDeadlineExceeded")
	s.eventually("the engine has looked at the pods since", func(ctx context.Context) error {
		looks, err := s.actions(ctx, s.controller, "look")
		if err == nil && looks == 0 {
			err = errors.New("it has not")
		}
		return err
	})
	s.engineSettles()
	s.requireSizes(web, 4, 1)
	timedOut := fmt.Sprintf("ReplicaSet %q has timed out progressing.", sets[1].Name)
	if condition(d, appsv1.DeploymentProgressing).Message != timedOut || condition(d, fallenBack) != nil {
		t.Errorf("its conditions are %+v", d.Status.Conditions)
	}
	s.letAllGo(web)
	s.awaitComplete(web, &sets[1])
	s.awaitMetric(fallBacksTotal, nil, 0)
}

// runFallenBack runs a Deployment that reads the settings, and whose second release falls back. It returns its state and its
// pods then, which are clearly older than any later edit.
func (s *scene) runFallenBack() (web workload, fallen state, old map[types.UID]bool) {
	s.Helper()
	s.make(settings, set("used", "v1"))
	web = s.run("web", podOf(envFrom(settings)), rolling(1, 0), fallsBack, func(d *appsv1.Deployment) { d.Spec.Replicas = new(int32(4)) })
	first := s.started(web)
	s.crashBadReleases(web)
	s.patchImage(web, badImage)
	s.awaitFallenBack(web, 4, 2)
	s.awaitRecordAfter(web, first)
	s.letTimePass()
	return web, s.now(web), s.awaitPods(web, 4, nil)
}

// awaitDelivered waits until the controller says that a restart of a Deployment is delivered. The metric counts those of the
// marker, too.
func (s *scene) awaitDelivered(w workload) {
	s.Helper()
	line := fmt.Sprintf(`msg="restart is delivered" workload=deployment/%s/%s `, s.namespace, w.name)
	s.eventually("the restart of "+w.name+" is delivered", func(context.Context) error {
		if len(s.controller.Log().Containing(line)) == 0 {
			return errors.New("the log does not say so")
		}
		return nil
	})
}

// requireTemplate fails the test unless a workload has the pod template of an earlier state.
func (s *scene) requireTemplate(w workload, since state) {
	s.Helper()
	if diff := cmp.Diff(since.template, s.now(w).template); diff != "" {
		s.Errorf("the pod template has changed (-before +after):\n%s", diff)
	}
}

func TestAnEditWhileFallenBackReachesThePodsByEvictions(t *testing.T) {
	s := newEngineSceneApart(t)
	s.startEngine("--evict", "--restart-soak=2s")
	web, fallen, old := s.runFallenBack()

	s.edit(settings, set("used", "v2"))
	s.awaitRestartEvent(web, "restarting: configmap settings changed (keys: used). Its pods are evicted one after the other")
	fresh := s.awaitPods(web, 4, old)
	s.awaitDelivered(web)
	s.awaitMetric("evictions_total", nil, 4)
	s.settle()
	after := s.now(web)
	s.requireNewRecord(fallen, after, settings)
	s.requireTemplate(web, fallen)
	sets := s.awaitSizes(web, 4, 0)
	s.requirePodsOf(web, &sets[0], 4)
	s.requirePods(web, fresh)
	s.requireMessage(s.awaitFallenBack(web, 4, 2), &sets[1], &sets[0], 2)
	s.awaitMetric("restarts_failed_total", nil, 0)
}

func TestWithoutEvictionsAnEditWhileFallenBackWaitsForTheNextRelease(t *testing.T) {
	s := newEngineSceneApart(t)
	s.startEngine("--restart-soak=2s", "--status-address=127.0.0.1:0")
	web, fallen, old := s.runFallenBack()

	s.edit(settings, set("used", "v2"))
	const hold = "its release has failed, and pods of an earlier one run, which only evictions restart, for which the controller needs the flag --evict"
	event := s.awaitEvent(web, "RestartHeld", "restart is held: "+hold)
	requireContains(t, event.Message, "configmap settings changed (keys: used)")
	s.awaitPlugin(regexp.MustCompile(`(?s)Gate: +hold: `+hold), "explain", web.ref(), "--status-url=http://"+s.controller.StatusAddress())
	s.settle()
	s.requirePods(web, old)
	s.requireTemplate(web, fallen)

	s.patchImage(web, "example/main:4")
	sets := s.awaitSizes(web, 0, 0, 4)
	s.awaitComplete(web, &sets[2])
	fresh := s.awaitPods(web, 4, old)
	s.awaitRecordAfter(web, fallen)
	s.settle()
	after := s.now(web)
	s.requireNewRecord(fallen, after, settings)
	if after.restartedAt() != "" {
		t.Errorf("it was restarted at %s", after.restartedAt())
	}
	s.requirePods(web, fresh)
}

func TestAnEditThatIsHeldWhileFallenBackIsNotLostWithTheNextRelease(t *testing.T) {
	s := newEngineSceneApart(t)
	s.startEngine("--restart-soak=2s")
	web, _, old := s.runFallenBack()
	s.edit(settings, set("used", "v2"))
	s.awaitEvent(web, "RestartHeld", "restart is held: its release has failed")

	s.patchImage(web, worseImage)
	sets := s.awaitSizes(web, 4, 0, 0)
	s.awaitMetric(fallBacksTotal, nil, 2)
	s.requireMessage(s.awaitFallenBack(web, 4, 2), &sets[2], &sets[0], 2)
	s.settle()
	s.requirePods(web, old)

	s.must(s.controller.Stop())
	s.startEngine("--restart-soak=2s", "--evict")
	s.awaitPods(web, 4, old)
	s.awaitDelivered(web)
	s.awaitMetric("evictions_total", nil, 4)
	s.awaitSizes(web, 4, 0, 0)
}

// The edit restarts the release that is about to fail, as it would any other.
func TestAnEditAmidAReleaseThatFailsReachesThePodsOfTheEarlierOne(t *testing.T) {
	s := newEngineSceneApart(t)
	s.startEngine("--evict", "--restart-soak=2s")
	s.make(settings, set("used", "v1"))
	web := s.run("web", podOf(envFrom(settings)), rolling(1, 0), fallsBack, func(d *appsv1.Deployment) { d.Spec.Replicas = new(int32(4)) })
	first := s.started(web)
	old := s.awaitPods(web, 4, nil)
	s.crashBadReleases(web)
	s.letTimePass()
	s.patchImage(web, badImage)
	s.awaitSizes(web, 4, 1)
	s.awaitRecordAfter(web, first)

	s.edit(settings, set("used", "v2"))
	s.awaitRestartEvent(web, "restarting: configmap settings changed (keys: used)")
	s.awaitFallenBack(web, 4, 2)
	s.awaitEvent(web, "FellBack", " Within this release, its pods were restarted for configmap/settings: used, "+
		"whose earlier content does not come back with the earlier release.")
	s.awaitPods(web, 4, old)
}

// The release that has failed reads another config instead, which the pods that run do not read.
func TestWhileFallenBackTheConfigsCountThatTheEarlierReleaseReads(t *testing.T) {
	s := newEngineSceneApart(t)
	s.startEngine("--evict", "--restart-soak=2s")
	others := configMap("others")
	s.make(settings, set("used", "v1"))
	s.make(others, set("used", "v1"))
	web := s.run("web", podOf(envFrom(settings)), rolling(1, 0), fallsBack, func(d *appsv1.Deployment) { d.Spec.Replicas = new(int32(4)) })
	first := s.started(web)
	old := s.awaitPods(web, 4, nil)
	s.crashBadReleases(web)
	s.patch(web, fmt.Sprintf(`{"spec":{"template":{"spec":{"containers":[{"name":"main","image":%q,"envFrom":[{"configMapRef":{"name":%q}}]}]}}}}`,
		badImage, others.name))
	s.awaitFallenBack(web, 4, 2)
	s.awaitRecordAfter(web, first)
	s.settle()
	s.letTimePass()
	fallen := s.now(web)

	s.edit(others, set("used", "v2"))
	s.settle()
	s.requireTemplate(web, fallen)
	s.requirePods(web, old)

	s.edit(settings, set("used", "v2"))
	s.awaitRestartEvent(web, "restarting: configmap settings changed (keys: used). Its pods are evicted one after the other")
	s.awaitPods(web, 4, old)
	s.awaitDelivered(web)
	s.requireTemplate(web, fallen)
	s.awaitMetric("evictions_total", nil, 4)
}

// Helm reads the status of Deployments as Flux does, with the library of which it has a copy.
func TestHelmSaysThatAReleaseHasFailedThatFallsBack(t *testing.T) {
	s := newEngineSceneApart(t)
	s.startEngine()
	chart := t.TempDir()
	s.must(os.WriteFile(filepath.Join(chart, "Chart.yaml"), []byte("apiVersion: v2\nname: web\nversion: 1.0.0\n"), 0o600))
	s.must(os.Mkdir(filepath.Join(chart, "templates"), 0o700))
	s.must(os.WriteFile(filepath.Join(chart, "templates", "web.yaml"), []byte(`apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
  annotations: {com.xing.deployment-restart.on-failure: fall-back}
spec:
  replicas: 4
  strategy: {rollingUpdate: {maxSurge: 1, maxUnavailable: 0}}
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: main, image: {{ .Values.image }}}]}
`), 0o600))
	web := deployment("web")
	s.helmIn(s.namespace, "install", "web", chart, "--wait", "--set", "image="+goodImage)
	s.crashBadReleases(web)
	_, err := harness.Helm(t.Context(), t.TempDir(), "upgrade", "web", chart, "--wait", "--timeout=2m", "--set", "image="+badImage,
		"--kubeconfig="+s.cluster.Kubeconfig(), "--namespace="+s.namespace)
	if err == nil || !strings.Contains(err.Error(), "status: Failed, message: Progress deadline exceeded") {
		t.Errorf("helm upgrade ends with: %v", err)
	}
	s.awaitFallenBack(web, 4, 2)
}
