package release_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubernetes-deployment-restart-controller/kubectl-restarts/internal/release"
)

const (
	promoteTo = "set the annotation com.xing.deployment-restart.promote to "
	orAbort   = "; to abort it, com.xing.deployment-restart.abort to web-6d698d4bf5/1"
	atFirst   = `The release waits at step 1 of 3 (1), with 1 of 8 pods of ReplicaSet "web-6d698d4bf5". `
)

// waiting is a Deployment that waits at a step, as its conditions say.
func waiting(message string) *appsv1.Deployment {
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"},
		Status: appsv1.DeploymentStatus{Conditions: []appsv1.DeploymentCondition{
			{Type: "WaitsAtStep", Status: corev1.ConditionTrue, Message: message},
			{Type: appsv1.DeploymentProgressing, Status: corev1.ConditionUnknown, Reason: "DeploymentPaused", Message: message},
		}},
	}
}

func TestTheMessageNamesTheStepAndWhatEndsIt(t *testing.T) {
	first := release.Rollout{ReplicaSet: "web-6d698d4bf5", At: "step 1 of 3 (1)", Promote: "web-6d698d4bf5/1", Abort: "web-6d698d4bf5/1"}
	for message, want := range map[string]release.Rollout{
		atFirst + "To go on, " + promoteTo + "web-6d698d4bf5/1" + orAbort + ".":                                                                                                    first,
		atFirst + "To go on, " + promoteTo + "web-6d698d4bf5/1" + orAbort + ". The annotation com.xing.deployment-restart.step-soak is neither manual nor a duration such as 10m.": first,
		`The release waits at step 2 of 3 (25%), with 2 of 8 pods of ReplicaSet "web.v2-5d4c8", of which 1 are not available. It goes on when they have been available for 10m0s. To go on before, ` +
			promoteTo + "web.v2-5d4c8/25%" + orAbort + ".": {ReplicaSet: "web.v2-5d4c8", At: "step 2 of 3 (25%)", Promote: "web.v2-5d4c8/25%", Abort: "web-6d698d4bf5/1"},
		`The restart waits at step 1, with 1 of 4 pods of ReplicaSet "web-5d4c8". It was aborted. Roll back, or, to go on all the same, ` +
			promoteTo + "web-5d4c8/1/2.": {
			ReplicaSet: "web-5d4c8", At: "step 1", Promote: "web-5d4c8/1/2", WhyNotAbort: "it was aborted already; to go back: kubectl rollout undo -n shop deployment/web",
		},
		// A pod says whatever it likes.
		atFirst + "It does not go on by itself: container app of pod p: " + promoteTo + "web-6d698d4bf5.; It cannot go on: . To go on all the same, " +
			promoteTo + "web-6d698d4bf5/1" + orAbort + ".": first,
	} {
		got, err := release.RolloutOf(waiting(message))
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%s: %v %s", message, err, diff)
		}
	}
}

func TestWhatHasNoEffectSaysWhyAndWhatToDo(t *testing.T) {
	const waitsNot = "it does not wait at a step; see how far it is with: kubectl rollout status -n shop deployment/web"
	const undo = "; to go back: kubectl rollout undo -n shop deployment/web"
	for name, test := range map[string]struct {
		d                          *appsv1.Deployment
		whyNotPromote, whyNotAbort string
	}{
		"a list that cannot be read": {
			waiting(`The release waits at no step, with 0 of 8 pods of ReplicaSet "web-5d4c8". It cannot go on: "x.promote to y." in the annotation a is neither a number of pods nor a percentage. To abort it, set the annotation com.xing.deployment-restart.abort to web-5d4c8/1.`),
			`"x.promote to y." in the annotation a is neither a number of pods nor a percentage; correct the annotation, or let all steps end with --all`,
			"",
		},
		"other words": {waiting("Patience."), waitsNot, "it was aborted already" + undo},
		"a condition that another controller has left": {
			func() *appsv1.Deployment {
				d := waiting(atFirst + "To go on, " + promoteTo + "web-6d698d4bf5/1" + orAbort + ".")
				d.Status.Conditions[1].Message = "Deployment is paused"
				return d
			}(),
			waitsNot, "no rollout of it takes steps" + undo,
		},
		"a release that has failed": {
			fallen("The release has failed."),
			"its release has failed and fallen back, so it waits at no step; to try it again: kubectl restarts retry -n shop deployment/web",
			"its release has failed and fallen back, so it waits at no step; to try it again: kubectl restarts retry -n shop deployment/web",
		},
	} {
		got, err := release.RolloutOf(test.d)
		if err != nil || got.Promote != "" || (got.Abort == "") == (test.whyNotAbort == "") || got.WhyNotPromote != test.whyNotPromote || got.WhyNotAbort != test.whyNotAbort {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func TestAStatusFromBeforeTheLastChangeSaysNothing(t *testing.T) {
	d := waiting(atFirst + "To go on, " + promoteTo + "web-6d698d4bf5/1" + orAbort + ".")
	d.Generation = 2
	if got, err := release.RolloutOf(d); !errors.Is(err, release.ErrUnobserved) {
		t.Errorf("%+v, %v", got, err)
	}
}

// fallen is a Deployment that has fallen back.
func fallen(message string) *appsv1.Deployment {
	d := waiting("")
	d.Status.Conditions = []appsv1.DeploymentCondition{
		{Type: "FallenBack", Status: corev1.ConditionTrue, Message: message},
		{Type: appsv1.DeploymentProgressing, Status: corev1.ConditionFalse, Reason: "ProgressDeadlineExceeded", Message: message},
	}
	return d
}

func TestAllStepsAreEndedByAValueThatIsNotThere(t *testing.T) {
	for _, test := range []struct{ abort, present, want string }{
		{"web-1/1", "", "web-1"}, {"web-1/1", "web-1/25%", "web-1"}, {"web-1/1", "web-1", "web-1/all/1"}, {"", "", "web-1"}, {"web-1/2", "web-1", "web-1/all/2"},
	} {
		r := release.Rollout{ReplicaSet: "web-1", Abort: test.abort}
		if got := r.PromoteAll(test.present); got != test.want {
			t.Errorf("%v: %s", test, got)
		}
	}
}
