package test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/retry"

	"kubernetes-deployment-restart-controller/test/harness"
)

func withoutPods(d *appsv1.Deployment) { d.Spec.Replicas = new(int32(0)) }

// change changes a Deployment, even if others do too.
func (s *scene) change(w workload, change func(*appsv1.Deployment)) {
	s.Helper()
	deployments := s.client.AppsV1().Deployments(s.namespace)
	s.must(retry.RetryOnConflict(retry.DefaultRetry, func() error {
		object, err := deployments.Get(s.Context(), w.name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		change(object)
		_, err = deployments.Update(s.Context(), object, metav1.UpdateOptions{})
		return err
	}))
}

// A variable for each key makes a reference of each.
func TestAWorkloadThatRefersToConfigsTooOftenIsLeftAloneUntilItDoesNot(t *testing.T) {
	s := newScene(t)
	s.make(settings, set("a", "1"))
	few := podOf(envFrom(settings))
	many := podOf()
	for i := range 10_001 {
		many.Containers[0].Env = append(many.Containers[0].Env, corev1.EnvVar{
			Name: fmt.Sprint("V", i), ValueFrom: &corev1.EnvVarSource{ConfigMapKeyRef: &corev1.ConfigMapKeySelector{
				LocalObjectReference: corev1.LocalObjectReference{Name: settings.name}, Key: "a", Optional: new(true),
			}},
		})
	}
	app := s.run("app", many, withoutPods)
	s.awaitEvent(app, "TooManyReferences", "config changes do not restart this workload: its pod template has more than 10000 references to ConfigMaps and Secrets")
	s.edit(settings, set("a", "2"))
	s.settle()
	if st := s.now(app); st.Annotations[checksumsAnnotation] != "" || st.Generation != 1 {
		t.Errorf("written to: generation %d, annotations %v", st.Generation, st.Annotations)
	}
	s.change(app, func(d *appsv1.Deployment) { d.Spec.Template.Spec = few })
	s.awaitRecorded(app)
}

// What anybody may make must not stop the controller, nor what it does for the others.
func TestLargeObjectsDoNotHoldUpOthers(t *testing.T) {
	s := newScene(t)
	s.make(settings, set("a", "1"))
	s.make(configMap("large"), manyKeys(20_000, "a"))
	app := s.run("app", podOf(envFrom(settings)))
	sources := &corev1.ProjectedVolumeSource{}
	for i := range 2500 {
		sources.Sources = append(sources.Sources, corev1.VolumeProjection{ConfigMap: &corev1.ConfigMapProjection{
			LocalObjectReference: corev1.LocalObjectReference{Name: fmt.Sprint("config-", i)},
		}})
	}
	pod := withVolumes(corev1.PodSpec{}, corev1.Volume{Name: "v", VolumeSource: corev1.VolumeSource{Projected: sources}})
	for i := range 1000 {
		pod.Containers = append(pod.Containers, container(fmt.Sprint("c-", i), mount("v")))
	}
	large := s.run("large", pod, withoutPods)
	before := s.started(app)
	for i := range 3 {
		s.edit(configMap("large"), manyKeys(20_000, fmt.Sprint(i)))
		s.change(large, func(d *appsv1.Deployment) { d.Spec.Template.Spec.Containers[0].Image = fmt.Sprint("example/main:", i) })
	}
	s.edit(settings, set("a", "2"))
	s.awaitRestart(app, before)
	s.awaitRecorded(large)
	s.must(s.client.AppsV1().Deployments(s.namespace).Delete(s.Context(), large.name, metav1.DeleteOptions{}))
	s.eventually("it is gone", func(ctx context.Context) error {
		if _, err := s.look(ctx, large); err == nil {
			return errors.New("it is there")
		}
		return nil
	})
	s.settle()
	s.requireRestarts(app, before, 1)
}

// Each workload has nearly as many references as one may have, and a namespace may have any number of workloads.
func TestANamespaceWithTooManyReferencesTakesLittleMemory(t *testing.T) {
	s := newSceneApart(t)
	hostile := enter(t, &place{cluster: s.cluster, installation: s.installation})
	s.startController("--namespace", hostile.namespace)
	s.make(settings, set("a", "1"))
	app := s.run("app", podOf(envFrom(settings)))
	before := s.started(app)
	calm, _ := s.memory()
	var last workload
	const workloads = 30
	for i := range workloads {
		pod := podOf()
		for source := range 9_900 {
			envFrom(configMap(fmt.Sprintf("c%d-%d", i, source)))(&pod.Containers[0])
		}
		last = hostile.run(fmt.Sprintf("large-%02d", i), pod, withoutPods)
	}
	hostile.awaitEvent(last, "TooManyReferences", "config changes do not restart this workload: the workloads of its namespace together have more than 100000 references")
	begun := time.Now()
	s.edit(settings, set("a", "2"))
	s.await("is restarted", app, func(st state) error {
		if st.restartedAt() == before.restartedAt() {
			return errors.New("the restart timestamp of the pod template has not changed")
		}
		return nil
	})
	restarted := time.Since(begun)
	while, peak := s.memory()
	s.must(s.controller.Stop())
	s.startController("--namespace", hostile.namespace)
	s.settle()
	again, peakAgain := s.memory()
	t.Logf("calm %d KiB; with %d workloads %d, at most %d; after a start %d, at most %d; another restart took %s", calm, workloads, while, peak, again, peakAgain, restarted)
	if most := max(peak, peakAgain); most > calm+60<<10 {
		t.Errorf("the controller took %d KiB, and %d before", most, calm)
	}
}

// memory returns the resident memory of the controller, and the most that it was, in KiB.
func (s *scene) memory() (now, most int) {
	s.Helper()
	resident, highest, err := harness.Resident(s.controller.PID())
	s.must(err)
	return int(resident >> 10), int(highest >> 10)
}
