package parity

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubernetes-deployment-restart-controller/test/harness"
)

// What the API server refuses: ReplicaSets, pods; and sizes that no cluster has
// room for.
var failureScenarios = []scenario{
	{"a ReplicaSet that a quota forbids is made when it is allowed", func(s *scene) {
		web := s.create()
		web.await(complete)
		s.attemptsUncounted()
		s.statusWhileCreationFails()
		s.limit("count/replicasets.apps", 1)
		web.roll(image("i:2"))
		web.await(hasEvent("ReplicaSetCreateError"), progressing("ReplicaSetCreateError"))
		web.checkpoint("refused")
		s.unlimit("count/replicasets.apps")
		web.settle("allowed")
	}},
	{"a Deployment is scaled while its ReplicaSet is refused", func(s *scene) {
		web := s.create()
		web.await(complete)
		s.attemptsUncounted()
		s.statusWhileCreationFails()
		s.limit("count/replicasets.apps", 1)
		web.roll(image("i:2"))
		web.await(progressing("ReplicaSetCreateError"))
		web.scale(5)
		web.await(sizes(are{"i:1": 5}))
		web.checkpoint("scaled")
		s.unlimit("count/replicasets.apps")
		web.settle("allowed")
	}},
	{"the very first ReplicaSet is refused", func(s *scene) {
		s.attemptsUncounted()
		s.statusWhileCreationFails()
		s.limit("count/replicasets.apps", 0)
		web := s.create(deadline(1))
		web.await(hasEvent("ReplicaSetCreateError"), progressing("ReplicaSetCreateError"))
		s.passTime(deadlineAndMore)
		web.checkpoint("refused for longer than the deadline")
		s.unlimit("count/replicasets.apps")
		web.settle("allowed")
	}},
	{"the refused template is taken back", func(s *scene) {
		web := s.create()
		web.await(complete)
		s.attemptsUncounted()
		s.limit("count/replicasets.apps", 1)
		web.roll(image("i:2"))
		web.await(progressing("ReplicaSetCreateError"))
		web.roll(image("i:1"))
		web.await(complete)
		web.checkpoint("taken back")
	}},
	{"a Deployment whose ReplicaSet is refused is paused", func(s *scene) {
		web := s.create()
		web.await(complete)
		s.attemptsUncounted()
		s.limit("count/replicasets.apps", 1)
		web.roll(image("i:2"))
		web.await(progressing("ReplicaSetCreateError"))
		web.pause()
		web.await(observed)
		web.checkpoint("paused")
		s.unlimit("count/replicasets.apps")
		web.resume()
		web.settle("allowed and resumed")
	}},
	{"an admission policy denies a ReplicaSet", func(s *scene) {
		web := s.create()
		web.await(complete)
		s.attemptsUncounted()
		s.statusWhileCreationFails()
		s.deny("i:2")
		web.roll(image("i:2"))
		web.await(hasEvent("ReplicaSetCreateError"), progressing("ReplicaSetCreateError"))
		web.checkpoint("denied")
		web.roll(image("i:3"))
		web.settle("another template is allowed")
	}},
	{"pods that a quota forbids", func(s *scene) {
		s.limit("pods", 1)
		web := s.create(deadline(3))
		web.await(sizesWanted(are{"i:1": 3}), available(1), reason(appsv1.DeploymentReplicaFailure, "FailedCreate"), progressing("ProgressDeadlineExceeded"))
		web.checkpoint("one of three, and the deadline has passed")
		s.unlimit("pods")
		web.settle("allowed")
	}},
	{"new pods that a quota forbids", func(s *scene) {
		web := s.create(rolling(1, 1))
		web.await(complete)
		s.underway()
		s.conditionsInAnyOrder("the failure is reported before or after the progress")
		s.eitherFailure()
		s.limit("pods", 0)
		web.roll(image("i:2"))
		web.await(observed, reason(appsv1.DeploymentReplicaFailure, "FailedCreate"), available(2))
		web.checkpoint("forbidden")
		web.roll(image("i:1"))
		web.await(sizesWanted(are{"i:1": 3}), available(2), observed)
		web.checkpoint("back at the first template, and one pod is missing")
		s.unlimit("pods")
		web.settle("allowed")
	}},
	{"tens of thousands of pods", func(s *scene) {
		s.underway()
		s.eitherFailure()
		s.limit("pods", 0)
		web := s.create(replicas(50_000), rolling("100%", "0%"))
		web.await(observed, sizesWanted(are{"i:1": 50_000}), reason(appsv1.DeploymentReplicaFailure, "FailedCreate"))
		web.checkpoint("created")
		web.roll(image("i:2"))
		web.await(observed, sizesWanted(are{"i:1": 50_000, "i:2": 50_000}))
		web.checkpoint("rolled halfway")
		web.change(rolling("100%", "100%"))
		web.await(observed, sizesWanted(are{"i:2": 50_000}))
		web.checkpoint("rolled")
		web.scale(60_000)
		web.await(observed, sizesWanted(are{"i:2": 60_000}))
		web.checkpoint("scaled")
	}},
	{"proportions of tens of thousands", func(s *scene) {
		s.underway()
		s.eitherFailure()
		web := s.create(replicas(2), rolling(1, 0))
		web.await(complete)
		web.roll(image("i:2"), held)
		web.await(sizes(are{"i:1": 2, "i:2": 1}))
		s.limit("pods", 0)
		web.scale(50_000)
		web.await(observed, sizesWanted(are{"i:1": 33_334, "i:2": 16_667}))
		web.checkpoint("from 2 to 50,000")
		web.scale(60_000)
		web.await(observed, sizesWanted(are{"i:1": 40_001, "i:2": 20_000}))
		web.checkpoint("to 60,000")
	}},
	{"proportions beyond what the original can count", func(s *scene) {
		s.underway()
		s.eitherFailure()
		s.limit("pods", 0)
		web := s.create(replicas(50_000), rolling("100%", "0%"))
		web.await(observed, sizesWanted(are{"i:1": 50_000}))
		web.roll(image("i:2"))
		web.await(observed, sizesWanted(are{"i:1": 50_000, "i:2": 50_000}))
		web.checkpoint("rolled halfway")
		s.meant("50,000 × 120,000 does not overflow", func(oracle *snapshot) {
			for _, rs := range oracle.ReplicaSets {
				rs.Spec.Replicas = new(int32(60_000))
			}
			for _, d := range oracle.Deployments {
				d.Status.UnavailableReplicas = 120_000
			}
			var sensible []event
			for _, e := range oracle.Events {
				if strings.Contains(e.Message, " from 0 to 50000") {
					sensible = append(sensible, e)
				}
				if name, _, found := strings.Cut(e.Message, " from 50000 to "); found {
					e.Message = strings.Replace(name, "down", "up", 1) + " from 50000 to 60000"
					sensible = append(sensible, e)
				}
			}
			oracle.Events = sensible
		})
		web.scale(60_000)
		web.await(observed)
		web.checkpoint("both grow by as much")
	}},
	{"as many pods as a number can hold", func(s *scene) {
		s.underway()
		s.limit("pods", 0)
		web := s.create(replicas(math.MaxInt32), rolling(0, 1), paused)
		web.await(observed)
		web.checkpoint("paused")
		s.meant("the engine's words for the resumption give way to those for the new ReplicaSet", func(oracle *snapshot) {
			for _, d := range oracle.Deployments {
				for i := range d.Status.Conditions {
					if c := &d.Status.Conditions[i]; c.Reason == "DeploymentResumed" {
						c.Status, c.Reason, c.Message = corev1.ConditionTrue, "", ""
					}
				}
			}
		})
		web.resume()
		web.await(observed, sizesWanted(are{"i:1": math.MaxInt32}), reason(appsv1.DeploymentReplicaFailure, "FailedCreate"))
		web.checkpoint("resumed")
		web.scale(0)
		web.await(complete)
		web.checkpoint("none")
	}},
}

// eitherFailure leaves out which of several ReplicaSets the condition
// ReplicaFailure reports: the one that failed first.
func (s *scene) eitherFailure() {
	s.ignore("the ReplicaSet that failed first", func(s *snapshot) {
		for _, d := range s.Deployments {
			for i := range d.Status.Conditions {
				if d.Status.Conditions[i].Type == appsv1.DeploymentReplicaFailure {
					d.Status.Conditions[i].Message = ""
				}
			}
		}
	})
}

// limit sets a quota in the namespace and returns when it is in force.
func (s *scene) limit(resourceName corev1.ResourceName, most int64) {
	s.Helper()
	quota := &corev1.ResourceQuota{
		ObjectMeta: metav1.ObjectMeta{Name: quotaName(resourceName)},
		Spec:       corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{resourceName: *resource.NewQuantity(most, resource.DecimalSI)}},
	}
	s.both("limit "+string(resourceName), func(ctx context.Context, on *side) error {
		quotas := on.client.CoreV1().ResourceQuotas(s.namespace)
		if _, err := quotas.Create(ctx, quota.DeepCopy(), metav1.CreateOptions{}); err != nil {
			return err
		}
		return harness.Eventually(ctx, waitLimit, func(ctx context.Context) error {
			now, err := quotas.Get(ctx, quota.Name, metav1.GetOptions{})
			if err == nil && len(now.Status.Used) == 0 {
				err = errors.New("nothing has been counted")
			}
			return err
		})
	})
}

func (s *scene) unlimit(resourceName corev1.ResourceName) {
	s.Helper()
	s.both("lift the limit of "+string(resourceName), func(ctx context.Context, on *side) error {
		return on.client.CoreV1().ResourceQuotas(s.namespace).Delete(ctx, quotaName(resourceName), metav1.DeleteOptions{})
	})
}

func quotaName(resourceName corev1.ResourceName) string {
	return notInANameRun.ReplaceAllString(string(resourceName), "-")
}

// deny lets an admission policy refuse ReplicaSets with the image in the namespace,
// and returns when it does.
func (s *scene) deny(image string) {
	s.Helper()
	name := s.namespace
	policy := &admissionv1.ValidatingAdmissionPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: admissionv1.ValidatingAdmissionPolicySpec{
			MatchConstraints: &admissionv1.MatchResources{ResourceRules: []admissionv1.NamedRuleWithOperations{{
				RuleWithOperations: admissionv1.RuleWithOperations{
					Operations: []admissionv1.OperationType{admissionv1.Create},
					Rule:       admissionv1.Rule{APIGroups: []string{"apps"}, APIVersions: []string{"v1"}, Resources: []string{"replicasets"}},
				},
			}}},
			Validations: []admissionv1.Validation{{
				Expression: fmt.Sprintf("object.spec.template.spec.containers[0].image != %q", image),
				Message:    "this image is not wanted",
			}},
		},
	}
	binding := &admissionv1.ValidatingAdmissionPolicyBinding{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: admissionv1.ValidatingAdmissionPolicyBindingSpec{
			PolicyName:        name,
			ValidationActions: []admissionv1.ValidationAction{admissionv1.Deny},
			MatchResources: &admissionv1.MatchResources{NamespaceSelector: &metav1.LabelSelector{
				MatchLabels: map[string]string{corev1.LabelMetadataName: s.namespace},
			}},
		},
	}
	s.both("deny "+image, func(ctx context.Context, on *side) error {
		admission := on.client.AdmissionregistrationV1()
		if _, err := admission.ValidatingAdmissionPolicies().Create(ctx, policy.DeepCopy(), metav1.CreateOptions{}); err != nil {
			return err
		}
		if _, err := admission.ValidatingAdmissionPolicyBindings().Create(ctx, binding.DeepCopy(), metav1.CreateOptions{}); err != nil {
			return err
		}
		return harness.Eventually(ctx, waitLimit, func(ctx context.Context) error {
			_, err := on.client.AppsV1().ReplicaSets(s.namespace).
				Create(ctx, replicaSet("probe", "probe", image, 0), metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
			if apierrors.IsInvalid(err) || apierrors.IsForbidden(err) {
				return nil
			}
			return fmt.Errorf("not denied yet: %w", err)
		})
	})
}

// statusWhileCreationFails states what the engine does better: it keeps the counts,
// observedGeneration and the condition Available up to date while a ReplicaSet
// cannot be made.
func (s *scene) statusWhileCreationFails() {
	s.meant("the status follows while a ReplicaSet cannot be made", func(oracle *snapshot) {
		for _, d := range oracle.Deployments {
			if hasReason(d, "ReplicaSetCreateError") {
				follow(d, oracle.ReplicaSets)
			}
		}
	})
}

// follow brings the status of a Deployment without a new ReplicaSet up to date. The
// strategy is that of [deployment]: all replicas are to be available.
func follow(d *appsv1.Deployment, replicaSets []*appsv1.ReplicaSet) {
	status := &d.Status
	status.ObservedGeneration = d.Generation
	status.Replicas, status.UpdatedReplicas, status.ReadyReplicas, status.AvailableReplicas, status.UnavailableReplicas = 0, 0, 0, 0, 0
	status.TerminatingReplicas = new(int32(0))
	for _, rs := range replicaSets {
		status.Replicas += rs.Status.Replicas
		status.ReadyReplicas += rs.Status.ReadyReplicas
		status.AvailableReplicas += rs.Status.AvailableReplicas
	}
	condition := appsv1.DeploymentCondition{
		Type: appsv1.DeploymentAvailable, Status: corev1.ConditionTrue,
		Reason: "MinimumReplicasAvailable", Message: "Deployment has minimum availability.",
	}
	if status.AvailableReplicas < *d.Spec.Replicas {
		condition.Status, condition.Reason = corev1.ConditionFalse, "MinimumReplicasUnavailable"
		condition.Message = "Deployment does not have minimum availability."
	}
	if slices.Contains(status.Conditions, condition) {
		return
	}
	status.Conditions = append(slices.DeleteFunc(status.Conditions, func(c appsv1.DeploymentCondition) bool {
		return c.Type == appsv1.DeploymentAvailable
	}), condition)
}

func hasReason(d *appsv1.Deployment, reason string) bool {
	for i := range d.Status.Conditions {
		if d.Status.Conditions[i].Reason == reason {
			return true
		}
	}
	return false
}
