package test

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func requireContains(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("does not contain %q:\n%s", part, text)
		}
	}
}

// ref names a Deployment for kubectl.
func (w workload) ref() string { return "deployment/" + w.name }

func TestKubectlFollowsARollout(t *testing.T) {
	s := newEngineScene(t)
	app := s.deploy("app", 3, rolling(1, 0))
	requireContains(t, s.kubectl("rollout", "status", app.ref()), `deployment "app" successfully rolled out`)

	s.patchHeld(app, "example/main:2")
	s.awaitSizes(app, 3, 1)
	s.awaitObserved(app)
	s.awaitDeployment(app, "shows its new pod", func(d *appsv1.Deployment) error {
		if d.Status.UpdatedReplicas != 1 {
			return fmt.Errorf("%d new pods", d.Status.UpdatedReplicas)
		}
		return nil
	})
	requireContains(t, s.kubectl("rollout", "status", app.ref(), "--watch=false"),
		"Waiting for deployment \"app\" rollout to finish: 1 out of 3 new replicas have been updated")
	_, complaint := s.kubectlFails("rollout", "status", app.ref(), "--timeout=3s")
	requireContains(t, complaint, "timed out waiting for the condition")

	followed := s.background("rollout", "status", app.ref())
	s.letAllGo(app)
	requireContains(t, followed(), `deployment "app" successfully rolled out`)
	requireContains(t, s.kubectl("rollout", "status", app.ref(), "--watch=false"), "successfully rolled out")
	requireContains(t, s.kubectl("wait", "--for=condition=Available", app.ref(), "--timeout=3m"), "condition met")
}

func TestKubectlReportsARolloutThatExceedsItsDeadline(t *testing.T) {
	s := newEngineSceneApart(t)
	engine := s.startEngine()
	app := s.deploy("app", 2, held, func(d *appsv1.Deployment) { d.Spec.ProgressDeadlineSeconds = new(int32(8)) })
	_, complaint := s.kubectlFails("rollout", "status", app.ref())
	requireContains(t, complaint, `deployment "app" exceeded its progress deadline`)
	_, complaint = s.kubectlFails("rollout", "status", app.ref(), "--watch=false")
	requireContains(t, complaint, `deployment "app" exceeded its progress deadline`)
	s.awaitCondition(app, appsv1.DeploymentProgressing, "ProgressDeadlineExceeded")
	s.awaitMetric("deployment_engine_rollouts_deadline_exceeded", nil, 1)

	s.letAllGo(app)
	requireContains(t, s.kubectl("rollout", "status", app.ref()), "successfully rolled out")
	s.awaitCondition(app, appsv1.DeploymentProgressing, "NewReplicaSetAvailable")
	s.awaitMetric("deployment_engine_rollouts_deadline_exceeded", nil, 0)
	s.awaitMetric("deployment_engine_rollouts_in_progress", nil, 0)
	s.requireNoErrors(engine)
}

func TestKubectlShowsTheHistoryAndGoesBackInIt(t *testing.T) {
	s := newEngineScene(t)
	app := s.deploy("app", 2, func(d *appsv1.Deployment) { d.Annotations = map[string]string{changeCauseAnnotation: "first"} })
	s.awaitRollout(app)
	for _, c := range []struct{ image, cause string }{{"example/main:2", "second"}, {"example/main:3", "third"}} {
		s.kubectl("set", "image", app.ref(), "main="+c.image)
		s.annotate(app, changeCauseAnnotation, c.cause)
		requireContains(t, s.kubectl("rollout", "status", app.ref()), "successfully rolled out")
	}
	s.awaitHistory(app, "1 first", "2 second", "3 third")
	requireContains(t, s.kubectl("rollout", "history", app.ref(), "--revision=2"), "revision #2", "example/main:2", hashLabel)
	_, complaint := s.kubectlFails("rollout", "history", app.ref(), "--revision=9")
	requireContains(t, complaint, "unable to find the specified revision")

	requireContains(t, s.kubectl("rollout", "undo", app.ref()), "rolled back")
	s.kubectl("rollout", "status", app.ref())
	s.awaitHistory(app, "1 first", "3 third", "4 second")
	s.requireImage(app, "example/main:2")

	s.kubectl("rollout", "undo", app.ref(), "--to-revision=1")
	s.kubectl("rollout", "status", app.ref())
	s.awaitHistory(app, "3 third", "4 second", "5 first")
	s.requireImage(app, "example/main:1")
	sets := s.awaitSizes(app, 0, 0, 2)
	s.requirePodsOf(app, &sets[2], 2)
	if got := sets[1].Annotations["deployment.kubernetes.io/revision-history"]; got != "2" {
		t.Errorf("the earlier revisions of revision 4 are %q, want 2", got)
	}

	_, complaint = s.kubectlFails("rollout", "undo", app.ref(), "--to-revision=99")
	requireContains(t, complaint, "unable to find specified revision 99 in history")
	s.kubectl("rollout", "undo", app.ref(), "--to-revision=5") // where it is
	s.engineSettles()
	s.awaitHistory(app, "3 third", "4 second", "5 first")
}

// awaitHistory waits until kubectl shows these revisions and change causes.
func (s *scene) awaitHistory(w workload, want ...string) {
	s.Helper()
	spaces := regexp.MustCompile(`\s+`)
	s.eventually("the history of "+w.name, func(ctx context.Context) error {
		output, err := s.tryKubectl(ctx, "rollout", "history", w.ref())
		if err != nil {
			return err
		}
		var got []string
		for _, line := range strings.Split(strings.TrimSpace(output), "\n")[2:] {
			got = append(got, strings.TrimSpace(spaces.ReplaceAllString(line, " ")))
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			return fmt.Errorf("it is %q, want %q", got, want)
		}
		return nil
	})
}

func (s *scene) requireImage(w workload, want string) {
	s.Helper()
	if got := s.now(w).template.Spec.Containers[0].Image; got != want {
		s.Errorf("the image of %s is %s, want %s", w.name, got, want)
	}
}

func TestKubectlPausesAndResumes(t *testing.T) {
	s := newEngineScene(t)
	app := s.deploy("app", 2, func(d *appsv1.Deployment) { d.Spec.ProgressDeadlineSeconds = new(int32(600)) })
	s.awaitRollout(app)
	s.kubectl("set", "image", app.ref(), "main=example/main:0")
	s.awaitRollout(app)
	s.kubectl("rollout", "pause", app.ref())
	s.awaitCondition(app, appsv1.DeploymentProgressing, "DeploymentPaused")
	s.kubectl("set", "image", app.ref(), "main=example/main:2")
	s.kubectl("set", "image", app.ref(), "main=example/main:3")
	s.kubectl("set", "env", app.ref(), "A=B")
	_, complaint := s.kubectlFails("rollout", "undo", app.ref())
	requireContains(t, complaint, "paused")
	_, complaint = s.kubectlFails("rollout", "restart", app.ref())
	requireContains(t, complaint, "paused")
	s.engineSettles()
	s.requireSizes(app, 0, 2)

	s.kubectl("scale", app.ref(), "--replicas=4") // paused Deployments scale
	s.awaitSizes(app, 0, 4)

	s.kubectl("rollout", "resume", app.ref())
	requireContains(t, s.kubectl("rollout", "status", app.ref()), "successfully rolled out")
	sets := s.awaitSizes(app, 0, 0, 4)
	s.requirePodsOf(app, &sets[2], 4)
	s.awaitCondition(app, appsv1.DeploymentProgressing, "NewReplicaSetAvailable")
}

func TestKubectlRestarts(t *testing.T) {
	s := newEngineScene(t)
	app := s.deploy("app", 3)
	s.awaitRollout(app)
	s.kubectl("rollout", "restart", app.ref())
	requireContains(t, s.kubectl("rollout", "status", app.ref()), "successfully rolled out")
	sets := s.awaitSizes(app, 0, 3)
	s.requirePodsOf(app, &sets[1], 3)
	if sets[1].Spec.Template.Annotations["kubectl.kubernetes.io/restartedAt"] == "" {
		t.Errorf("the new pods are not marked as restarted: %v", sets[1].Spec.Template.Annotations)
	}
}

func TestKubectlDescribesADeployment(t *testing.T) {
	s := newEngineScene(t)
	app := s.deploy("app", 3, rolling(1, 0))
	s.awaitRollout(app)
	s.patchHeld(app, "example/main:2")
	sets := s.awaitSizes(app, 3, 1)
	for i := range sets {
		s.awaitEvent(app, "ScalingReplicaSet", "Scaled up replica set "+sets[i].Name+" from 0 to ")
	}
	s.awaitCondition(app, appsv1.DeploymentProgressing, "ReplicaSetUpdated")
	s.eventually("kubectl describes it", func(ctx context.Context) error {
		output, err := s.tryKubectl(ctx, "describe", app.ref())
		if err != nil {
			return err
		}
		for _, want := range []string{
			`Replicas: +3 desired \| 1 updated \| 4 total \| 3 available \| 1 unavailable`,
			`Available +True +MinimumReplicasAvailable`,
			`Progressing +True +ReplicaSetUpdated`,
			`OldReplicaSets: +` + sets[0].Name + ` \(3/3 replicas created\)`,
			`NewReplicaSet: +` + sets[1].Name + ` \(1/1 replicas created\)`,
			`Normal +ScalingReplicaSet .* deployment-controller +Scaled up replica set ` + sets[1].Name + ` from 0 to 1`,
		} {
			if !regexp.MustCompile(want).MatchString(output) {
				return fmt.Errorf("nothing matches %q in:\n%s", want, output)
			}
		}
		return nil
	})
	requireContains(t, s.kubectl("get", "deployment", app.name, "--no-headers"), "3/3")
	s.letAllGo(app)
}

// What old clients do, and kubectl before 1.16 did.
func TestARollbackByAnnotation(t *testing.T) {
	s := newEngineScene(t)
	app := s.deploy("app", 2)
	s.awaitRollout(app)
	s.kubectl("set", "image", app.ref(), "main=example/main:2")
	s.awaitRollout(app)
	s.annotate(app, appsv1.DeprecatedRollbackTo, "0")
	s.awaitEvent(app, "DeploymentRollback", `Rolled back deployment "app" to revision 1`)
	s.awaitHistory(app, "2 <none>", "3 <none>")
	s.requireImage(app, "example/main:1")
	s.awaitRollout(app)

	s.annotate(app, appsv1.DeprecatedRollbackTo, "77")
	s.awaitEvent(app, "DeploymentRollbackRevisionNotFound", "Unable to find the revision to rollback to.")
	st := s.await("is asked for no rollback any more", app, func(st state) error {
		if _, found := st.Annotations[appsv1.DeprecatedRollbackTo]; found {
			return fmt.Errorf("the annotation is there")
		}
		return nil
	})
	if metav1.HasAnnotation(st.template.ObjectMeta, appsv1.DeprecatedRollbackTo) {
		t.Error("the annotation went into the template")
	}
	s.requireImage(app, "example/main:1")
}
