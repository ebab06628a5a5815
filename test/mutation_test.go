package test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	registrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// mutate makes the API server change what the controller writes to a resource of the
// namespace, by the JSON patch that a CEL expression yields. It returns how to end that.
func (s *scene) mutate(resource, expression string, isInForce func(context.Context) error) (end func()) {
	s.Helper()
	s.skipBefore(36, "MutatingAdmissionPolicies")
	policies := s.client.AdmissionregistrationV1().MutatingAdmissionPolicies()
	bindings := s.client.AdmissionregistrationV1().MutatingAdmissionPolicyBindings()
	_, err := policies.Create(s.Context(), &registrationv1.MutatingAdmissionPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: s.namespace},
		Spec: registrationv1.MutatingAdmissionPolicySpec{
			FailurePolicy:      new(registrationv1.Fail),
			ReinvocationPolicy: registrationv1.NeverReinvocationPolicy,
			MatchConstraints: &registrationv1.MatchResources{
				NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: s.namespace}},
				ResourceRules: []registrationv1.NamedRuleWithOperations{{
					RuleWithOperations: registrationv1.RuleWithOperations{
						Operations: []registrationv1.OperationType{registrationv1.Update},
						Rule:       registrationv1.Rule{APIGroups: []string{"apps"}, APIVersions: []string{"v1"}, Resources: []string{resource}},
					},
				}},
			},
			MatchConditions: []registrationv1.MatchCondition{{
				Name: "controller", Expression: `request.userInfo.username.endsWith(":` + controllerName + `")`,
			}},
			Mutations: []registrationv1.Mutation{{
				PatchType: registrationv1.PatchTypeJSONPatch, JSONPatch: &registrationv1.JSONPatch{Expression: expression},
			}},
		},
	}, metav1.CreateOptions{})
	s.must(err)
	_, err = bindings.Create(s.Context(), &registrationv1.MutatingAdmissionPolicyBinding{
		ObjectMeta: metav1.ObjectMeta{Name: s.namespace},
		Spec:       registrationv1.MutatingAdmissionPolicyBindingSpec{PolicyName: s.namespace},
	}, metav1.CreateOptions{})
	s.must(err)
	s.eventually("the policy is in force", isInForce)
	return func() { s.must(bindings.Delete(s.Context(), s.namespace, metav1.DeleteOptions{})) }
}

// This is a special kind of quota: no ReplicaSet gets more than two replicas, and requests for more
// succeed without an error.
func TestAScalingWithoutEffectIsReportedAndRetriedLessAndLessOften(t *testing.T) {
	s := newEngineSceneApart(t)
	engine := s.startEngine()
	app := s.deploy("app", 2)
	s.awaitRollout(app)
	sets := s.replicaSetsNow(app)
	asController := s.asController()
	lift := s.mutate("replicasets", `object.spec.replicas > 2 ? [JSONPatch{op: "replace", path: "/spec/replicas", value: 2}] : []`,
		func(ctx context.Context) error {
			after, err := asController.AppsV1().ReplicaSets(s.namespace).Patch(ctx, sets[0].Name, types.MergePatchType,
				[]byte(`{"spec":{"replicas":3}}`), metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}})
			if err == nil && *after.Spec.Replicas != 2 {
				err = errors.New("more replicas are still allowed")
			}
			return err
		})

	s.patch(app, `{"spec":{"replicas":5}}`)
	event := s.awaitEvent(app, "WriteIneffective", "the API server accepted a write without effect: replicaset "+sets[0].Name+" differs from the request (replicas)")
	if event.Type != corev1.EventTypeWarning {
		t.Errorf("the event is %s, want a Warning", event.Type)
	}
	s.eventually("the failures are counted", func(ctx context.Context) error {
		count, err := engine.Metric(ctx, "deployment_engine_write_errors_total", map[string]string{"reason": "ineffective"})
		if err == nil && count < 5 {
			err = fmt.Errorf("%v are", count)
		}
		return err
	})
	s.engineSettles()
	patches := s.requests(func(r *request) bool { return r.verb == "patch" && r.name == sets[0].Name })
	if len(patches) > 40 {
		t.Errorf("the ReplicaSet was patched %d times", len(patches))
	}
	if events, err := s.eventsOf(t.Context(), app, "WriteIneffective"); err != nil || len(events) != 1 || events[0].Count > 1 {
		t.Errorf("events %+v, %v: want one", events, err)
	}
	if d := s.awaitObserved(app); d.Status.AvailableReplicas != 2 {
		t.Errorf("%d are available, the status says, want 2", d.Status.AvailableReplicas)
	}

	lift()
	s.eventually("the policy has ended", func(ctx context.Context) error {
		s.round++ // there may be a minute until the next attempt
		if err := s.tryPatch(ctx, s.client, app, fmt.Sprintf(`{"metadata":{"annotations":{"look":"%d"}}}`, s.round)); err != nil {
			return err
		}
		sets, err := s.replicaSets(ctx, app)
		if err == nil && *sets[0].Spec.Replicas != 5 {
			err = fmt.Errorf("the ReplicaSet wants %d", *sets[0].Spec.Replicas)
		}
		return err
	})
	s.awaitRollout(app)
}

// Whether a policy takes away all of a restart's patch or only what restarts the pods, so
// that the version moves and the record is there: it counts as not carried out.
func TestARestartWithoutEffectIsReportedAndTriedUntilItHasOne(t *testing.T) {
	t.Parallel()
	const (
		// The cause goes too: it alone is a change of the template that restarts the pods.
		unrestarted = `(has(object.spec.template.metadata.annotations) ? ["` + timestampAnnotation + `", "` + causeAnnotation + `"]` +
			`.filter(key, key in object.spec.template.metadata.annotations)` +
			`.map(key, JSONPatch{op: "remove", path: "/spec/template/metadata/annotations/" + jsonpatch.escapeKey(key)}) : [])`
		recordAsBefore = `["` + basisAnnotation + `", "` + checksumsAnnotation + `"].map(key, ` +
			`JSONPatch{op: "replace", path: "/metadata/annotations/" + jsonpatch.escapeKey(key), value: oldObject.metadata.annotations[key]})`
	)
	for name, mutation := range map[string]struct{ expression, missing string }{
		"nothing is left":    {recordAsBefore + " + " + unrestarted, "annotation " + basisAnnotation},
		"the record is left": {unrestarted, "annotation " + timestampAnnotation + " of the pod template"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSceneApart(t)
			controller := s.startController("--restart-backoff-limit=2s")
			s.make(settings, set("used", "v1"))
			app := s.run("app", podOf(envFrom(settings)))
			before := s.started(app)
			asController := s.asController()
			lift := s.mutate("deployments", mutation.expression, func(ctx context.Context) error {
				after, err := asController.AppsV1().Deployments(s.namespace).Patch(ctx, app.name, types.MergePatchType,
					[]byte(fmt.Sprintf(`{"spec":{"template":{"metadata":{"annotations":{%q:"2026-01-02T03:04:05Z"}}}}}`, timestampAnnotation)),
					metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}})
				if err == nil && after.Spec.Template.Annotations[timestampAnnotation] != "" {
					err = errors.New("the timestamp is still let through")
				}
				return err
			})

			s.edit(settings, set("used", "v2"))
			event := s.awaitEvent(app, "RestartFailed", "")
			if !strings.Contains(event.Message, "accepted a write without effect: the workload differs from the request ("+mutation.missing+")") {
				t.Errorf("the event says %q", event.Message)
			}
			s.eventually("the failures are counted", func(ctx context.Context) error {
				count, err := controller.Metric(ctx, "patch_errors_total", map[string]string{"reason": "ineffective"})
				if err == nil && count < 3 {
					err = fmt.Errorf("%v are", count)
				}
				return err
			})
			if restarts := s.metric("deployment_restarts_total", nil); restarts != 0 {
				t.Errorf("%v restarts are counted", restarts)
			}
			s.awaitMetric("stale_workloads", nil, 1)
			if len(controller.Log().Containing("level=ERROR", "deployment/"+s.namespace+"/app", "without effect")) == 0 {
				t.Error("no error in the log names the workload")
			}

			lift()
			s.awaitRestart(app, before)
			s.awaitMetric("stale_workloads", nil, 0)
			s.settle()
			if restarts := s.metric("deployment_restarts_total", nil); restarts < 1 {
				t.Error("the restart is not counted")
			}
		})
	}
}
