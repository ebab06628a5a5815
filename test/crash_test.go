package test

import (
	"context"
	"encoding/json"
	"errors"
	"sync/atomic"

	admissionv1 "k8s.io/api/admission/v1"
	registrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"kubernetes-deployment-restart-controller/test/harness"
)

// crashRestartedPods makes each pod crash that has the annotation of a restart, until the test ends.
func (s *scene) crashRestartedPods() {
	s.Helper()
	s.crashAtStart(isRestarted)
}

// crashRestartedPodsUntil does so until the returned function is called.
func (s *scene) crashRestartedPodsUntil() (heal func()) {
	s.Helper()
	return s.crashAtStart(isRestarted)
}

// crashAtStart makes pods crash as they start, until heal is called. When KWOK reports that such a pod runs, the API server
// writes down what a kubelet reports of a crash. A pod that crashed by a write of the test would run until then, and
// on a busy machine for so long that its restart counts as delivered.
func (s *scene) crashAtStart(isDoomed func(*corev1.Pod) bool) (heal func()) {
	s.Helper()
	var isAsked, isHealed atomic.Bool
	client := s.serveWebhook(func(_ context.Context, request *admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
		isAsked.Store(true)
		answer := &admissionv1.AdmissionResponse{Allowed: true}
		var pod corev1.Pod
		if err := json.Unmarshal(request.Object.Raw, &pod); err != nil {
			s.Errorf("webhook: %v", err)
			return answer
		}
		if !isHealed.Load() && harness.IsReady(&pod) && isDoomed(&pod) {
			answer.PatchType, answer.Patch = new(admissionv1.PatchTypeJSONPatch), crash(&pod)
		}
		return answer
	})
	pods := corev1.SchemeGroupVersion.WithResource("pods/status")
	webhooks := s.client.AdmissionregistrationV1().MutatingWebhookConfigurations()
	_, err := webhooks.Create(s.Context(), &registrationv1.MutatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: s.namespace},
		Webhooks: []registrationv1.MutatingWebhook{{
			Name:                    "crash.example.com",
			ClientConfig:            client,
			Rules:                   []registrationv1.RuleWithOperations{ruleOf(registrationv1.Update, pods)},
			NamespaceSelector:       s.namespaceSelector(),
			FailurePolicy:           new(registrationv1.Fail),
			TimeoutSeconds:          new(int32(30)),
			SideEffects:             new(registrationv1.SideEffectClassNone),
			AdmissionReviewVersions: []string{"v1"},
		}},
	}, metav1.CreateOptions{})
	s.must(err)
	s.Cleanup(func() {
		s.must(webhooks.Delete(context.WithoutCancel(s.Context()), s.namespace, metav1.DeleteOptions{}))
	})
	s.eventually("the webhook is asked about pods", func(ctx context.Context) error {
		if err := s.tryStatus(ctx); err != nil || isAsked.Load() {
			return err
		}
		return errors.New("it is not")
	})
	return func() { isHealed.Store(true) }
}

// crash is the JSON patch that makes a pod crash which is ready.
func crash(pod *corev1.Pod) []byte {
	for i := range pod.Status.Conditions {
		if c := &pod.Status.Conditions[i]; c.Type == corev1.PodReady || c.Type == corev1.ContainersReady {
			c.Status = corev1.ConditionFalse
		}
	}
	for i := range pod.Status.ContainerStatuses {
		c := &pod.Status.ContainerStatuses[i]
		c.Ready, c.RestartCount = false, 1
		c.State = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff", Message: "back-off"}}
	}
	patch, _ := json.Marshal([]map[string]any{{"op": "replace", "path": "/status", "value": pod.Status}}) // never an error
	return patch
}

// tryStatus writes the status of a pod of the namespace without effect.
func (s *scene) tryStatus(ctx context.Context) error {
	pods := s.client.CoreV1().Pods(s.namespace)
	list, err := pods.List(ctx, metav1.ListOptions{Limit: 1})
	if err != nil || len(list.Items) == 0 {
		return errors.Join(err, errors.New("there is no pod"))
	}
	_, err = pods.Patch(ctx, list.Items[0].Name, types.MergePatchType, []byte(`{"status":{"message":"try"}}`),
		metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}}, "status")
	return err
}
