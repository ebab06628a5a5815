package test

import (
	"context"
	"encoding/json"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	registrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// ask makes the API server ask a webhook before it carries out requests for a resource of
// Kubernetes' own workloads in the namespace, and returns how to end that.
func (s *scene) ask(operation registrationv1.OperationType, resource string,
	answer func(context.Context, *admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse) (end func()) {
	s.Helper()
	return s.askOf(operation, appsv1.SchemeGroupVersion.WithResource(resource), answer)
}

// askOf is ask about a resource of any group.
func (s *scene) askOf(operation registrationv1.OperationType, resource schema.GroupVersionResource,
	answer func(context.Context, *admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse) (end func()) {
	s.Helper()
	return s.askAt(operation, resource, s.serveWebhook(answer))
}

// askAt is askOf for a webhook that somebody else serves, or nobody.
func (s *scene) askAt(operation registrationv1.OperationType, resource schema.GroupVersionResource, client registrationv1.WebhookClientConfig) (end func()) {
	s.Helper()
	webhooks := s.client.AdmissionregistrationV1().ValidatingWebhookConfigurations()
	_, err := webhooks.Create(s.Context(), &registrationv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: s.namespace},
		Webhooks: []registrationv1.ValidatingWebhook{{
			Name:                    "webhook.example.com",
			ClientConfig:            client,
			Rules:                   []registrationv1.RuleWithOperations{ruleOf(operation, resource)},
			NamespaceSelector:       s.namespaceSelector(),
			FailurePolicy:           new(registrationv1.Fail),
			TimeoutSeconds:          new(int32(30)),
			SideEffects:             new(registrationv1.SideEffectClassNone),
			AdmissionReviewVersions: []string{"v1"},
		}},
	}, metav1.CreateOptions{})
	s.must(err)
	end = sync.OnceFunc(func() {
		s.must(webhooks.Delete(context.WithoutCancel(s.Context()), s.namespace, metav1.DeleteOptions{}))
	})
	s.Cleanup(end)
	return end
}

func ruleOf(operation registrationv1.OperationType, resource schema.GroupVersionResource) registrationv1.RuleWithOperations {
	return registrationv1.RuleWithOperations{
		Operations: []registrationv1.OperationType{operation},
		Rule: registrationv1.Rule{
			APIGroups: []string{resource.Group}, APIVersions: []string{resource.Version}, Resources: []string{resource.Resource},
		},
	}
}

func (s *scene) namespaceSelector() *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: s.namespace}}
}

// serveWebhook runs a webhook for as long as the test runs, and returns how the API server reaches it.
func (s *scene) serveWebhook(answer func(context.Context, *admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse) registrationv1.WebhookClientConfig {
	s.Helper()
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var review admissionv1.AdmissionReview
		if err := json.NewDecoder(r.Body).Decode(&review); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		review.Response = answer(r.Context(), review.Request)
		review.Response.UID = review.Request.UID
		_ = json.NewEncoder(w).Encode(review)
	}))
	s.Cleanup(func() {
		server.CloseClientConnections() // one that hangs would delay the end
		server.Close()
	})
	return registrationv1.WebhookClientConfig{
		URL:      &server.URL,
		CABundle: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}),
	}
}

// isOfController reports whether the controller has sent a request.
func isOfController(request *admissionv1.AdmissionRequest) bool {
	return strings.HasSuffix(request.UserInfo.Username, ":"+controllerName)
}

// deny makes a webhook deny each of the controller's patches of the namespace's Deployments,
// with a code of its own choice, and returns how to end that.
func (s *scene) deny(code int32) (allow func()) {
	s.Helper()
	return s.ask(registrationv1.Update, "deployments", func(_ context.Context, request *admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
		if isOfController(request) {
			return &admissionv1.AdmissionResponse{Result: &metav1.Status{Code: code, Message: denial}}
		}
		return &admissionv1.AdmissionResponse{Allowed: true}
	})
}

// The API server answers a conflict of versions with 409 and a workload that is gone with
// 404. A webhook may use these codes, too.
func TestADenialWithTheCodeOfSomethingElseIsReportedAndTriedAgain(t *testing.T) {
	t.Parallel()
	for name, code := range map[string]int32{"conflict": http.StatusConflict, "not found": http.StatusNotFound} {
		t.Run(name, func(t *testing.T) {
			s := newSceneApart(t)
			controller := s.startController()
			s.make(settings, set("used", "v1"))
			app := s.run("app", podOf(envFrom(settings)))
			before := s.started(app)
			allow := s.deny(code)
			s.awaitFrozen(app)

			s.edit(settings, set("used", "v2"))
			event := s.awaitEvent(app, "RestartFailed", "")
			if event.Type != corev1.EventTypeWarning || !strings.Contains(event.Message, denial) {
				t.Errorf("%s event: %s", event.Type, event.Message)
			}
			if len(controller.Log().Containing("level=ERROR", "deployment/"+s.namespace+"/app", denial)) == 0 {
				t.Error("no error in the log names the workload and the denial")
			}
			denied, err := controller.Metric(t.Context(), "patch_errors_total", map[string]string{"reason": "denied"})
			s.must(err)
			if denied == 0 {
				t.Error("no denial is counted")
			}
			allow()
			s.awaitRestart(app, before)
		})
	}
}
