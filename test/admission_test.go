package test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
)

const denial = "this workload is frozen"

// freeze makes the API server deny every write of the controller's to a Deployment,
// and returns how to end that.
func (s *scene) freeze(w workload) (thaw func()) {
	s.Helper()
	policies := s.client.AdmissionregistrationV1().ValidatingAdmissionPolicies()
	bindings := s.client.AdmissionregistrationV1().ValidatingAdmissionPolicyBindings()
	name := s.namespace + "-" + w.name
	_, err := policies.Create(s.Context(), freezingPolicy(name, s.namespace, w.name), metav1.CreateOptions{})
	s.must(err)
	_, err = bindings.Create(s.Context(), &admissionv1.ValidatingAdmissionPolicyBinding{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: admissionv1.ValidatingAdmissionPolicyBindingSpec{
			PolicyName: name, ValidationActions: []admissionv1.ValidationAction{admissionv1.Deny},
		},
	}, metav1.CreateOptions{})
	s.must(err)
	s.awaitFrozen(w)
	return func() { s.must(bindings.Delete(s.Context(), name, metav1.DeleteOptions{})) }
}

func freezingPolicy(name, namespace, deployment string) *admissionv1.ValidatingAdmissionPolicy {
	return &admissionv1.ValidatingAdmissionPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: admissionv1.ValidatingAdmissionPolicySpec{
			MatchConstraints: &admissionv1.MatchResources{
				NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: namespace}},
				ResourceRules: []admissionv1.NamedRuleWithOperations{{
					ResourceNames: []string{deployment},
					RuleWithOperations: admissionv1.RuleWithOperations{
						Operations: []admissionv1.OperationType{admissionv1.Update},
						Rule: admissionv1.Rule{
							APIGroups: []string{"apps"}, APIVersions: []string{"v1"}, Resources: []string{"deployments"},
						},
					},
				}},
			},
			Validations: []admissionv1.Validation{{
				Expression: `!request.userInfo.username.endsWith(":` + controllerName + `")`,
				Message:    denial,
			}},
		},
	}
}

// asController returns a client with the controller's account.
func (s *scene) asController() kubernetes.Interface {
	s.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", s.installation.Kubeconfig)
	s.must(err)
	client, err := kubernetes.NewForConfig(config)
	s.must(err)
	return client
}

// awaitFrozen waits until the policy is in force: the API server compiles it in the
// background. It tries, without effect, what the controller will do.
func (s *scene) awaitFrozen(w workload) {
	s.Helper()
	asController := s.asController()
	s.eventually("the policy is in force", func(ctx context.Context) error {
		_, err := asController.AppsV1().Deployments(s.namespace).Patch(ctx, w.name, types.MergePatchType,
			[]byte(`{"metadata":{"annotations":{"try":"it"}}}`), metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}})
		if err == nil {
			return errors.New("the patch is still allowed")
		}
		return nil
	})
}

func TestADeniedPatchIsRetriedWhileTheOthersContinue(t *testing.T) {
	s := newSceneApart(t)
	controller := s.startController()
	s.make(settings, set("used", "v1"))
	frozen, other := s.run("frozen", podOf(envFrom(settings))), s.run("other", podOf(envFrom(settings)))
	before, otherBefore := s.started(frozen), s.started(other)
	thaw := s.freeze(frozen)

	s.edit(settings, set("used", "v2"))
	otherRestarted := s.awaitRestart(other, otherBefore)
	event := s.awaitEvent(frozen, "RestartFailed", "")
	if event.Type != corev1.EventTypeWarning {
		t.Errorf("the event is %s, want a Warning", event.Type)
	}
	s.eventually("the failure is counted", func(ctx context.Context) error {
		failures, err := controller.Metric(ctx, "patch_errors_total", nil)
		if err == nil && failures < 2 {
			err = fmt.Errorf("%v errors, want several attempts", failures)
		}
		return err
	})
	s.awaitMetric("stale_workloads", nil, 1)
	if len(controller.Log().Containing("level=ERROR", "deployment/"+s.namespace+"/frozen", denial)) == 0 {
		t.Error("no error in the log names the workload and the denial")
	}
	s.edit(settings, set("used", "v3")) // the others continue, also after the failure
	s.awaitRestart(other, otherRestarted)
	s.must(controller.Running())
	s.requireRestarts(frozen, before, 0)

	thaw()
	s.awaitRestart(frozen, before)
	s.settle()
	s.requireRestarts(frozen, before, 1)
	s.requireRestarts(other, otherBefore, 2)
	s.awaitMetric("stale_workloads", nil, 0)
}

func TestAnIgnoredErrorIsOnlyAWarning(t *testing.T) {
	s := newSceneApart(t)
	controller := s.startController("--ignored-errors", "[", "--ignored-errors", denial, "--exit-on-error")
	s.make(settings, set("used", "v1"))
	frozen := s.run("frozen", podOf(envFrom(settings)))
	s.started(frozen)
	s.freeze(frozen)
	s.edit(settings, set("used", "v2"))
	s.eventually("the denial is warned of", func(context.Context) error {
		if len(controller.Log().Containing("level=WARN", "deployment/"+s.namespace+"/frozen", denial)) == 0 {
			return errors.New("no warning in the log names the workload and the denial")
		}
		return nil
	})
	if lines := controller.Log().Containing("level=ERROR"); len(lines) != 0 {
		t.Errorf("errors in the log: %q", lines)
	}
	s.settle() // it continues
	s.must(controller.Running())
}

func TestExitOnErrorEndsTheProcess(t *testing.T) {
	s := newSceneApart(t)
	controller := s.startController("--exit-on-error")
	s.make(settings, set("used", "v1"))
	frozen := s.run("frozen", podOf(envFrom(settings)))
	s.started(frozen)
	s.freeze(frozen)
	s.edit(settings, set("used", "v2"))
	s.eventually("the controller ends", func(context.Context) error {
		if controller.Running() == nil {
			return errors.New("it runs on")
		}
		return nil
	})
	if code := controller.ExitCode(); code != 1 {
		t.Errorf("exit code %d, want 1", code)
	}
	if len(controller.Log().Containing("level=ERROR", denial)) == 0 {
		t.Error("the log does not say why")
	}
}
