package test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"kubernetes-deployment-restart-controller/test/faultproxy"
)

// One bad content breaks one workload, whatever else people and other writers do meanwhile.

// badContent is a content of the settings that crashes all pods which start with it.
type badContent struct {
	*scene
	mu     sync.Mutex
	since  time.Time // zero while the settings have another content
	broken map[string]bool
}

// badFor counts the workloads of a scene whose pods crash because they started while the settings were bad.
func (s *scene) badFor() *badContent {
	s.Helper()
	b := &badContent{scene: s, broken: make(map[string]bool)}
	s.crashAtStart(func(pod *corev1.Pod) bool {
		b.mu.Lock()
		defer b.mu.Unlock()
		if b.since.IsZero() || pod.CreationTimestamp.Time.Before(b.since) {
			return false
		}
		b.broken[pod.Labels["app"]] = true
		return true
	})
	return b
}

// set edits the settings, and makes them bad or good by that.
func (b *badContent) set(isBad bool, changes ...change) {
	b.Helper()
	b.letTimePass()
	b.mu.Lock()
	b.since = time.Time{}
	if isBad {
		b.since = time.Now().Truncate(time.Second)
	}
	b.mu.Unlock()
	b.edit(settings, changes...)
}

// names returns the workloads that are broken.
func (b *badContent) names() (names []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for name := range b.broken {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// requireOne fails the test unless one workload is broken by now, and stays the only one for a while.
func (b *badContent) requireOne(stays time.Duration) {
	b.Helper()
	for until := time.Now().Add(stays); ; time.Sleep(time.Second) {
		if names := b.names(); len(names) > 1 {
			b.Fatalf("%v are broken, want one", names)
		}
		if time.Now().After(until) {
			break
		}
	}
	if names := b.names(); len(names) != 1 {
		b.Fatalf("%v are broken, want one", names)
	}
}

// awaitHalted waits until so many restarts are held by a halt.
func (s *scene) awaitHalted(count int) {
	s.Helper()
	s.awaitMetric("held_workloads", map[string]string{"reason": "halt"}, float64(count))
}

func TestAnEditOfAnotherKeyDoesNotHideThatTheFirstReaderIsBroken(t *testing.T) {
	s := newSceneApart(t)
	r := s.runReaders(4)
	b := s.badFor()
	b.set(true, set("used", "bad"))
	canary := r.awaitRestarted(1)
	before := s.now(canary[0])
	s.edit(settings, set("other", "v2"))
	s.awaitTimestamp(canary[0], before.restartedAt())
	s.awaitHalted(3)
	s.awaitEventOn(settings, "RestartsHalted", "^halted after deployment/"+canary[0].name+" failed, and any of 2 changes may be at fault: ")
	s.edit(settings, set("other", "v1"))
	b.requireOne(20 * time.Second)
	s.awaitHalted(3)

	b.set(false, set("used", "v2"))
	r.awaitRestarted(4)
	b.requireOne(0)
}

func TestAnotherEditOfTheSameKeyReachesTheReaderFirstThatMayBeBroken(t *testing.T) {
	s := newSceneApart(t)
	r := s.runReaders(4)
	b := s.badFor()
	b.set(true, set("used", "bad"))
	canary := r.awaitRestarted(1)[0]
	before := s.now(canary)
	b.set(true, set("used", "worse"))
	s.awaitTimestamp(canary, before.restartedAt())
	s.awaitHalted(3)
	b.requireOne(10 * time.Second)
}

// The patch is carried out, and much later its answer says that it was not.
func TestALostAnswerFreesNoSlot(t *testing.T) {
	s := newSceneApart(t)
	proxy := s.startProxyWith(faultproxy.Options{Timeout: 40 * time.Second, Spare: func(r *http.Request) bool {
		return r.Method != http.MethodPatch || !strings.Contains(r.URL.Path, "/deployments/")
	}})
	r := s.runReaders(4)
	b := s.badFor()
	proxy.Inject(faultproxy.Mix{faultproxy.Timeout: 1})
	b.set(true, set("used", "bad"))
	r.awaitRestarted(1)
	proxy.Inject(nil)
	b.requireOne(time.Minute)
	s.awaitHalted(3)
}

func TestAWriterThatUndoesEachRestartDoesNotSpreadABadContent(t *testing.T) {
	s := newSceneApart(t)
	r := s.runReaders(5)
	b := s.badFor()
	stop := s.undoRestarts(r)
	defer stop()
	b.set(true, set("used", "bad"))
	s.eventually("a workload is broken", func(context.Context) error {
		if len(b.names()) == 0 {
			return fmt.Errorf("none is")
		}
		return nil
	})
	b.requireOne(time.Minute)
}

func TestARestartByHandOfABrokenReaderDoesNotSpreadABadContent(t *testing.T) {
	s := newSceneApart(t)
	r := s.runReaders(4)
	b := s.badFor()
	b.set(true, set("used", "bad"))
	canary := r.awaitRestarted(1)
	for range 2 {
		s.letTimePass()
		s.patch(canary[0], fmt.Sprintf(`{"spec":{"template":{"metadata":{"annotations":{"kubectl.kubernetes.io/restartedAt":%q}}}}}`, time.Now().Format(time.RFC3339)))
	}
	s.awaitHalted(3)
	b.requireOne(10 * time.Second)
}

func TestAHaltOutlivesAReplacementByTheSameContent(t *testing.T) {
	s := newSceneApart(t)
	r := s.runReaders(4)
	b := s.badFor()
	b.set(true, set("used", "bad"))
	r.awaitRestarted(1)
	s.awaitHalted(3)
	for range 2 {
		s.replaceSettings()
		b.requireOne(10 * time.Second)
		s.awaitHalted(3)
	}
	b.set(false, set("used", "good"))
	for _, w := range r.awaitRestarted(4) {
		s.awaitRollout(w) // pods that start later read what is to come
	}
	b.set(true, set("used", "bad"))
	s.awaitHalted(4)
	b.requireOne(10 * time.Second)
}

func TestAPodThatIsUnreadyNowAndThenIsNoFailure(t *testing.T) {
	s := newSceneApart(t)
	s.startController("--fan-out=gradual", "--restart-soak=5s", "--restart-deadline=25s")
	s.make(settings, set("used", "v1"))
	r := s.runApps(3)
	s.edit(settings, set("used", "v2"))
	canary := r.awaitRestarted(1)[0]
	for range 7 {
		s.awaitRollout(canary)
		s.setReady(canary, false)
		s.awaitTime(time.Now().Add(4 * time.Second))
		s.setReady(canary, true)
	}
	r.awaitRestarted(3)
	s.awaitMetric("restarts_delivered_total", map[string]string{"kind": "Deployment"}, 3)
	s.awaitMetric("restarts_failed_total", nil, 0)
}

func TestAReaderWithoutANodeKeepsItsSlotForADeadline(t *testing.T) {
	s := newSceneApart(t)
	s.startController("--fan-out=gradual", "--restart-soak=1s", "--restart-deadline=20s")
	s.leadTheWaves()
	s.make(settings, set("used", "v1"))
	lost := s.runHeld(func(d *appsv1.Deployment) {
		inWave(-1)(d)
		d.Spec.ProgressDeadlineSeconds = new(int32(1<<31 - 1))
	}, "lost")[0]
	r := s.readersOf(lost, s.run("b", podOf(envFrom(settings))), s.run("c", podOf(envFrom(settings))))
	s.edit(settings, set("used", "v2"))
	r.awaitRestarted(1)
	s.settle()
	r.requireRestarted(lost)
	r.awaitRestarted(3)
	s.awaitMetric("restarts_failed_total", nil, 0)
}

func TestReadersThatLackAPodAreExposedOneAfterTheOther(t *testing.T) {
	s := newSceneApart(t)
	s.startGradually("--restart-deadline=20s")
	s.make(settings, set("used", "v1"))
	var all []workload
	for _, name := range []string{"a", "b", "c", "d"} {
		all = append(all, s.run(name, podOf(envFrom(settings)), func(d *appsv1.Deployment) {
			d.Spec.Replicas, d.Spec.ProgressDeadlineSeconds = new(int32(3)), new(int32(20))
		}))
	}
	r := s.readersOf(all...)
	b := s.badFor()
	for _, w := range all {
		pods, err := s.podsOf(s.Context(), w)
		s.must(err)
		s.patchPodStatus(&pods[0], readyStatus(false))
		s.eventually("a pod is unready", func(ctx context.Context) error {
			d, err := s.client.AppsV1().Deployments(s.namespace).Get(ctx, w.name, metav1.GetOptions{})
			if err == nil && d.Status.AvailableReplicas != 2 {
				err = fmt.Errorf("%d are available", d.Status.AvailableReplicas)
			}
			return err
		})
	}
	b.set(true, set("used", "bad"))
	r.awaitRestarted(1)
	s.awaitHalted(3)
	b.requireOne(15 * time.Second)
}

func TestThePodsFromAPartitionUpAreExposedOneWorkloadAfterTheOther(t *testing.T) {
	s := newSceneApart(t)
	s.startGradually()
	s.make(settings, set("used", "v1"))
	var all []workload
	for _, name := range []string{"a", "b", "c"} {
		all = append(all, s.runStateful(name, podOf(envFrom(settings)), func(st *appsv1.StatefulSet) {
			st.Spec.Replicas = new(int32(3))
			st.Spec.UpdateStrategy.RollingUpdate = &appsv1.RollingUpdateStatefulSetStrategy{Partition: new(int32(1))}
		}))
	}
	r := s.readersOf(all...)
	b := s.badFor()
	s.edit(settings, set("used", "v2"))
	r.awaitRestarted(3) // nothing but proofs lets the others follow
	s.awaitMetric("restarts_delivered_total", map[string]string{"kind": "StatefulSet"}, 3)
	b.set(true, set("used", "bad"))
	s.awaitHalted(2)
	b.requireOne(15 * time.Second)
}

// replaceSettings deletes the settings, and creates them again as they are.
func (s *scene) replaceSettings() {
	s.Helper()
	configs := s.client.CoreV1().ConfigMaps(s.namespace)
	object, err := configs.Get(s.Context(), settings.name, metav1.GetOptions{})
	s.must(err)
	s.must(configs.Delete(s.Context(), settings.name, metav1.DeleteOptions{}))
	object.ObjectMeta = metav1.ObjectMeta{Name: object.Name, Annotations: object.Annotations, Labels: object.Labels}
	_, err = configs.Create(s.Context(), object, metav1.CreateOptions{})
	s.must(err)
}

// undoRestarts removes what our restarts add to the pod templates as soon as it is there, as a GitOps tool does, until stop is called.
func (s *scene) undoRestarts(r *readers) (stop func()) {
	s.Helper()
	ctx, cancel := context.WithCancel(s.Context())
	var group sync.WaitGroup
	group.Go(func() {
		for ; ctx.Err() == nil; time.Sleep(2 * time.Second) {
			for _, w := range r.all {
				now, err := r.look(ctx, w)
				if err != nil || now.restartedAt() == "" {
					continue
				}
				_, err = s.client.AppsV1().Deployments(s.namespace).Patch(ctx, w.name, types.JSONPatchType,
					[]byte(`[{"op":"remove","path":"/spec/template/metadata/annotations"}]`), metav1.PatchOptions{FieldManager: "gitops"})
				if err != nil && ctx.Err() == nil && !apierrors.IsConflict(err) {
					s.Errorf("undo the restart of %s: %v", w.name, err)
				}
			}
		}
	})
	return func() { cancel(); group.Wait() }
}

// setReady makes the pods of a workload ready or not, as a kubelet reports it by their probes.
func (s *scene) setReady(w workload, isReady bool) {
	s.Helper()
	s.patchPodStatuses(w, readyStatus(isReady))
}

// readyStatus returns a patch that makes a pod ready or not.
func readyStatus(isReady bool) string {
	status := corev1.ConditionFalse
	if isReady {
		status = corev1.ConditionTrue
	}
	return fmt.Sprintf(`{"status":{"conditions":[{"type":"Ready","status":%q},{"type":"ContainersReady","status":%[1]q}],"containerStatuses":[`+
		`{"name":"main","image":"example/app","imageID":"","ready":%[2]t,"restartCount":0}]}}`, status, isReady)
}
