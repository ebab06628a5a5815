package test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// The names by which the engine talks to kubectl and to Kubernetes' own controller.
const (
	revisionAnnotation    = "deployment.kubernetes.io/revision"
	changeCauseAnnotation = "kubernetes.io/change-cause"
	hashLabel             = "pod-template-hash"
	fieldManager          = "deployment-engine"
)

// gate holds pods back until [scene.letGo].
const gate = "test/held"

// deploy creates a Deployment that the restart controller leaves alone.
func (s *scene) deploy(name string, replicas int32, adjust ...func(*appsv1.Deployment)) workload {
	s.Helper()
	plain := func(d *appsv1.Deployment) {
		d.Annotations = nil
		d.Spec.Replicas = &replicas
	}
	return s.run(name, podOf(), append([]func(*appsv1.Deployment){plain}, adjust...)...)
}

// held keeps the pods of a template pending.
func held(d *appsv1.Deployment) {
	d.Spec.Template.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: gate}}
}

// rolling sets the limits of the rolling update, in pods.
func rolling(surge, unavailable int) func(*appsv1.Deployment) {
	return func(d *appsv1.Deployment) {
		d.Spec.Strategy = appsv1.DeploymentStrategy{
			Type: appsv1.RollingUpdateDeploymentStrategyType,
			RollingUpdate: &appsv1.RollingUpdateDeployment{
				MaxSurge: new(intstr.FromInt(surge)), MaxUnavailable: new(intstr.FromInt(unavailable)),
			},
		}
	}
}

func recreated(d *appsv1.Deployment) {
	d.Spec.Strategy = appsv1.DeploymentStrategy{Type: appsv1.RecreateDeploymentStrategyType}
}

// patchHeld gives a Deployment another image, in a template whose pods are held.
func (s *scene) patchHeld(w workload, image string) {
	s.Helper()
	s.patch(w, fmt.Sprintf(`{"spec":{"template":{"spec":{"schedulingGates":[{"name":%q}],"containers":[{"name":"main","image":%q}]}}}}`, gate, image))
}

// letGo waits for that many held pods of a Deployment and lets them run.
func (s *scene) letGo(w workload, count int) {
	s.Helper()
	isHeld := func(pod corev1.Pod) bool { return len(pod.Spec.SchedulingGates) > 0 }
	s.eventually(fmt.Sprintf("%d pods of %s can be let go", count, w.name), func(ctx context.Context) error {
		for range count {
			pods, err := s.podsOf(ctx, w)
			if err != nil {
				return err
			}
			i := slices.IndexFunc(pods, isHeld)
			if i < 0 {
				return errors.New("no pod is held")
			}
			_, err = s.client.CoreV1().Pods(s.namespace).Patch(ctx, pods[i].Name, types.MergePatchType,
				[]byte(`{"spec":{"schedulingGates":null}}`), metav1.PatchOptions{})
			if err != nil {
				return err
			}
			count--
		}
		return nil
	})
}

// letAllGo lets pods of a Deployment run until it is rolled out.
func (s *scene) letAllGo(w workload) {
	s.Helper()
	s.eventually(w.name+" is rolled out", func(ctx context.Context) error {
		pods, err := s.podsOf(ctx, w)
		if err != nil {
			return err
		}
		for i := range pods {
			if len(pods[i].Spec.SchedulingGates) == 0 {
				continue
			}
			_, err := s.client.CoreV1().Pods(s.namespace).Patch(ctx, pods[i].Name, types.MergePatchType,
				[]byte(`{"spec":{"schedulingGates":null}}`), metav1.PatchOptions{})
			if err != nil {
				return err
			}
		}
		st, err := s.look(ctx, w)
		if err != nil {
			return err
		}
		return st.rollout
	})
}

// awaitDeployment returns the first state of a Deployment in which the condition
// holds.
func (s *scene) awaitDeployment(w workload, what string, condition func(*appsv1.Deployment) error) *appsv1.Deployment {
	s.Helper()
	var found *appsv1.Deployment
	s.eventually(w.name+" "+what, func(ctx context.Context) (err error) {
		if found, err = s.client.AppsV1().Deployments(s.namespace).Get(ctx, w.name, metav1.GetOptions{}); err != nil {
			return err
		}
		return condition(found)
	})
	return found
}

// awaitCondition waits until a Deployment has a condition for a reason.
func (s *scene) awaitCondition(w workload, kind appsv1.DeploymentConditionType, reason string) *appsv1.Deployment {
	s.Helper()
	return s.awaitDeployment(w, "has its condition", func(d *appsv1.Deployment) error {
		for i := range d.Status.Conditions {
			if c := &d.Status.Conditions[i]; c.Type == kind && c.Reason == reason {
				return nil
			}
		}
		return fmt.Errorf("no condition %s for the reason %s: %+v", kind, reason, d.Status.Conditions)
	})
}

// awaitObserved waits until the engine has seen the present spec.
func (s *scene) awaitObserved(w workload) *appsv1.Deployment {
	s.Helper()
	return s.awaitDeployment(w, "is observed", func(d *appsv1.Deployment) error {
		if d.Status.ObservedGeneration < d.Generation {
			return fmt.Errorf("generation %d of %d is observed", d.Status.ObservedGeneration, d.Generation)
		}
		return nil
	})
}

// replicaSets returns those of a Deployment in the order of their revisions.
func (s *scene) replicaSets(ctx context.Context, w workload) ([]appsv1.ReplicaSet, error) {
	list, err := s.client.AppsV1().ReplicaSets(s.namespace).List(ctx, metav1.ListOptions{LabelSelector: "app=" + w.name})
	if err != nil {
		return nil, err
	}
	slices.SortFunc(list.Items, func(a, b appsv1.ReplicaSet) int { return cmp.Compare(revision(&a), revision(&b)) })
	return list.Items, nil
}

func (s *scene) replicaSetsNow(w workload) []appsv1.ReplicaSet {
	s.Helper()
	found, err := s.replicaSets(s.Context(), w)
	s.must(err)
	return found
}

func revision(rs *appsv1.ReplicaSet) int {
	number, err := strconv.Atoi(rs.Annotations[revisionAnnotation])
	if err != nil {
		return 0
	}
	return number
}

// awaitSizes waits until the ReplicaSets of a Deployment want that many pods, in the
// order of their revisions.
func (s *scene) awaitSizes(w workload, want ...int32) []appsv1.ReplicaSet {
	s.Helper()
	var found []appsv1.ReplicaSet
	s.eventually(fmt.Sprintf("the ReplicaSets of %s have their sizes", w.name), func(ctx context.Context) (err error) {
		if found, err = s.replicaSets(ctx, w); err != nil {
			return err
		}
		if got := sizes(found); !slices.Equal(got, want) {
			return fmt.Errorf("they want %d pods, not %d", got, want)
		}
		return nil
	})
	return found
}

// requireSizes is awaitSizes without a wait.
func (s *scene) requireSizes(w workload, want ...int32) {
	s.Helper()
	if got := sizes(s.replicaSetsNow(w)); !slices.Equal(got, want) {
		s.Errorf("the ReplicaSets of %s want %d pods, not %d", w.name, got, want)
	}
}

func sizes(sets []appsv1.ReplicaSet) (sizes []int32) {
	for i := range sets {
		sizes = append(sizes, *sets[i].Spec.Replicas)
	}
	return sizes
}

// requirePodsOf fails the test unless the pods of a Deployment are that many, all of
// one ReplicaSet.
func (s *scene) requirePodsOf(w workload, rs *appsv1.ReplicaSet, want int) {
	s.Helper()
	pods, err := s.podsOf(s.Context(), w)
	s.must(err)
	if len(pods) != want {
		s.Errorf("%s has %d pods, want %d", w.name, len(pods), want)
	}
	for i := range pods {
		if !metav1.IsControlledBy(&pods[i], rs) {
			s.Errorf("pod %s of %s is not of ReplicaSet %s", pods[i].Name, w.name, rs.Name)
		}
	}
}

// engineSettles returns when the engine has dealt with everything that was written
// before the call. A Deployment is made and rolled out, and rolled to another
// template: its watches and its queue show that after all that was there before. The
// engine's work for others takes no more steps then than this did.
func (s *scene) engineSettles() {
	s.Helper()
	s.markerRound++
	w := s.deploy("settling-"+strconv.Itoa(s.markerRound), 2)
	s.awaitRollout(w)
	s.patchImage(w, "example/main:2")
	s.awaitRollout(w)
}

// awaitNoPodTerminates waits until no status reports pods that terminate, so that none
// changes any more: a rollout is over before that.
func (s *scene) awaitNoPodTerminates() {
	s.Helper()
	isInStatus := s.minorVersion() >= 35 // the first version that has the field by default
	s.eventually("no pods terminate", func(ctx context.Context) error {
		all, err := s.client.AppsV1().Deployments(s.namespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		for _, d := range all.Items {
			if terminating := d.Status.TerminatingReplicas; terminating == nil && isInStatus || terminating != nil && *terminating > 0 {
				return fmt.Errorf("of %s some do", d.Name)
			}
		}
		return nil
	})
}
