package main

import (
	"context"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"kubernetes-deployment-restart-controller/test/harness"
)

const (
	rolloutLimit = 5 * time.Minute

	firstImage = "registry.example/main:1"
)

// imageIn distinguishes the fleet's pod templates.
func imageIn(containers []corev1.Container) string { return containers[0].Image }

// imageOf is the image of a round; the first one is 1.
func imageOf(number int) string { return fmt.Sprintf("registry.example/main:%d", number+1) }

// fleet are Deployments that are driven. Their names are theirs alone in the whole
// cluster.
type fleet struct {
	*arena
	namespaces []string
	size       int
	replicas   int32
}

// newFleet makes namespaces that are ready for pods, and Deployments in them. The
// Deployments are not opted in to restarts.
func (a *arena) newFleet(ctx context.Context, name string, namespaces, size int, replicas int32) (*fleet, error) {
	a.bench.progress.say("creating %d Deployments of %d replicas in %s", size, replicas, plural(namespaces, "namespace"))
	f := &fleet{arena: a, size: size, replicas: replicas}
	for number := range namespaces {
		namespace := fmt.Sprintf("%s-%02d", name, number)
		f.namespaces = append(f.namespaces, namespace)
		if err := a.makeNamespace(ctx, namespace); err != nil {
			return nil, err
		}
	}
	return f, inParallel(ctx, writers, size, func(ctx context.Context, number int) error {
		deployment := newDeployment(f.namespaceOf(number), f.nameOf(number))
		deployment.Annotations = nil
		deployment.Spec.Replicas = &replicas
		return a.createDeployment(ctx, deployment)
	})
}

func (f *fleet) namespaceOf(number int) string { return f.namespaces[number%len(f.namespaces)] }
func (f *fleet) nameOf(number int) string      { return fmt.Sprintf("%s-%04d", f.namespaces[0], number) }

// awaitAccounts returns when pods can be created in the namespaces, for which a
// controller manager has to run.
func (f *fleet) awaitAccounts(ctx context.Context) error {
	for _, namespace := range f.namespaces {
		err := harness.Eventually(ctx, startLimit, func(ctx context.Context) error {
			_, err := f.client.CoreV1().ServiceAccounts(namespace).Get(ctx, "default", metav1.GetOptions{})
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// setImage changes the pod template of one Deployment.
func (f *fleet) setImage(ctx context.Context, number int, image string) error {
	body := fmt.Sprintf(`{"spec":{"template":{"spec":{"containers":[{"name":"main","image":%q}]}}}}`, image)
	return f.patch(ctx, number, types.StrategicMergePatchType, body)
}

func (f *fleet) patch(ctx context.Context, number int, kind types.PatchType, body string) error {
	_, err := f.client.AppsV1().Deployments(f.namespaceOf(number)).Patch(ctx, f.nameOf(number), kind, []byte(body), metav1.PatchOptions{})
	if err != nil {
		return fmt.Errorf("patch %s: %w", f.nameOf(number), err)
	}
	return nil
}

func (f *fleet) setAllImages(ctx context.Context, image string) error {
	return inParallel(ctx, writers, f.size, func(ctx context.Context, number int) error { return f.setImage(ctx, number, image) })
}

// rolledOut is a condition of rollouts.await.
func rolledOut(image string) func(*sight) bool {
	return func(seen *sight) bool { return seen.complete && seen.image == image }
}

// isComplete reports whether the status says what "kubectl rollout status" waits
// for, and that the rollout has ended.
func isComplete(deployment *appsv1.Deployment) bool {
	status, replicas := &deployment.Status, *deployment.Spec.Replicas
	if status.ObservedGeneration < deployment.Generation || status.Replicas != replicas ||
		status.UpdatedReplicas != replicas || status.AvailableReplicas != replicas {
		return false
	}
	for i := range status.Conditions {
		if c := &status.Conditions[i]; c.Type == appsv1.DeploymentProgressing {
			return c.Reason == "NewReplicaSetAvailable"
		}
	}
	return false
}

// round is what it took to roll out a change of all pod templates.
type round struct {
	seconds float64 // until all were complete
	used    spending
}

// rollOut changes all pod templates at once, waits until all rollouts are complete
// and the driver has nothing to do any more, and returns what that took.
func (f *fleet) rollOut(ctx context.Context, s *shift, image string) (round, error) {
	followed, err := f.follow(ctx, metav1.NamespaceAll)
	if err != nil {
		return round{}, err
	}
	defer followed.close()
	before, err := s.spent()
	if err != nil {
		return round{}, err
	}
	begun := time.Now()
	if err := f.setAllImages(ctx, image); err != nil {
		return round{}, err
	}
	if err := followed.await(ctx, rolloutLimit, f.size, rolledOut(image)); err != nil {
		return round{}, err
	}
	taken := round{seconds: time.Since(begun).Seconds()}
	if err := s.awaitCalm(ctx); err != nil {
		return round{}, err
	}
	after, err := s.spent()
	taken.used = after.since(before)
	f.bench.progress.say("%s: %d rollouts complete after %.1f s, %s", s.name, f.size, taken.seconds, taken.used)
	return taken, err
}

// awaitRollouts waits until all Deployments are complete with an image.
func (f *fleet) awaitRollouts(ctx context.Context, image string) error {
	followed, err := f.follow(ctx, metav1.NamespaceAll)
	if err != nil {
		return err
	}
	defer followed.close()
	return followed.await(ctx, rolloutLimit, f.size, rolledOut(image))
}

// forget deletes the ReplicaSets of an image, which must not have pods, so that
// each round finds as many as the one before.
func (f *fleet) forget(ctx context.Context, image string) error {
	for _, namespace := range f.namespaces {
		sets := f.client.AppsV1().ReplicaSets(namespace)
		list, err := sets.List(ctx, metav1.ListOptions{})
		if err != nil {
			return fmt.Errorf("list replicasets: %w", err)
		}
		var gone []string
		for i := range list.Items {
			if rs := &list.Items[i]; imageIn(rs.Spec.Template.Spec.Containers) == image {
				gone = append(gone, rs.Name)
			}
		}
		err = inParallel(ctx, writers, len(gone), func(ctx context.Context, number int) error {
			return sets.Delete(ctx, gone[number], metav1.DeleteOptions{})
		})
		if err != nil {
			return fmt.Errorf("delete replicasets of %s: %w", image, err)
		}
	}
	return nil
}

// addHistory gives each Deployment old ReplicaSets without pods.
func (f *fleet) addHistory(ctx context.Context, revisions int) error {
	f.bench.progress.say("creating %d old ReplicaSets for each of them", revisions)
	return inParallel(ctx, writers, f.size, func(ctx context.Context, number int) error {
		if number > 0 && number%(f.size/4) == 0 {
			f.bench.progress.say("%d of %d", number, f.size)
		}
		deployment, err := f.client.AppsV1().Deployments(f.namespaceOf(number)).Get(ctx, f.nameOf(number), metav1.GetOptions{})
		if err != nil {
			return fmt.Errorf("get %s: %w", f.nameOf(number), err)
		}
		for revision := 1; revision <= revisions; revision++ {
			_, err = f.client.AppsV1().ReplicaSets(deployment.Namespace).Create(ctx, oldReplicaSet(deployment, revision), metav1.CreateOptions{})
			if err != nil {
				return fmt.Errorf("create old replicaset of %s: %w", deployment.Name, err)
			}
		}
		return nil
	})
}

func oldReplicaSet(deployment *appsv1.Deployment, revision int) *appsv1.ReplicaSet {
	hash := fmt.Sprintf("old%d", revision) // any value will do: ReplicaSets are known by their template
	template := deployment.Spec.Template.DeepCopy()
	template.Labels[appsv1.DefaultDeploymentUniqueLabelKey] = hash
	template.Spec.Containers[0].Image = "registry.example/main:old-" + hash
	replicas := int32(0)
	return &appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: deployment.Namespace, Name: deployment.Name + "-" + hash, Labels: template.Labels,
			Annotations: map[string]string{
				"deployment.kubernetes.io/revision":         fmt.Sprint(revision),
				"deployment.kubernetes.io/desired-replicas": "0",
				"deployment.kubernetes.io/max-replicas":     "0",
			},
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(deployment, appsv1.SchemeGroupVersion.WithKind("Deployment"))},
		},
		Spec: appsv1.ReplicaSetSpec{
			Replicas: &replicas,
			Selector: &metav1.LabelSelector{MatchLabels: template.Labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: template.ObjectMeta, Spec: template.Spec},
		},
	}
}

// prepare has the fleet rolled out for the first time, by the engine, which is
// faster.
func (f *fleet) prepare(ctx context.Context) error {
	f.bench.progress.say("waiting until all of them are rolled out")
	return f.drive(ctx, ours, func(s *shift) error {
		if err := f.awaitAccounts(ctx); err != nil {
			return err
		}
		if err := f.awaitRollouts(ctx, firstImage); err != nil {
			return err
		}
		return s.awaitCalm(ctx)
	})
}
