package objecttest

import (
	"fmt"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/record"

	"kubernetes-deployment-restart-controller/catalog/annotation"
	"kubernetes-deployment-restart-controller/catalog/content"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/template"
	"kubernetes-deployment-restart-controller/catalog/workload"
	"kubernetes-deployment-restart-controller/controller/gate"
	"kubernetes-deployment-restart-controller/internal/series"
)

// Watched is a Deployment that reads the settings.
func Watched() appsv1.Deployment {
	return appsv1.Deployment{
		TypeMeta: metav1.TypeMeta{Kind: "Deployment", APIVersion: "apps/v1"},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: Web.Namespace, Name: Web.Name, UID: "u", ResourceVersion: "5",
			Annotations: map[string]string{annotation.EnabledAnnotation: annotation.Enabled},
		},
		Spec: appsv1.DeploymentSpec{
			Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}},
			Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{
				Name: "main", EnvFrom: []corev1.EnvFromSource{{ConfigMapRef: &corev1.ConfigMapEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: "settings"}}}},
			}}}},
		},
	}
}

// SettingsOf returns settings.
func SettingsOf(value string) content.Config {
	return content.NewConfigMap(&corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: Web.Namespace, Name: "settings"}, Data: map[string]string{"used": value},
	})
}

// SlowedUntil is an answer of the gate.
func SlowedUntil(until time.Time) gate.Answer { return gate.Answer{Reason: gate.Backoff, Until: until} }

var (
	// MapA is a ConfigMap.
	MapA = names.ConfigRef{Kind: names.ConfigMap, Namespace: "ns", Name: "a"}
	// MapB is another ConfigMap.
	MapB = names.ConfigRef{Kind: names.ConfigMap, Namespace: "ns", Name: "b"}
	// Web is a Deployment.
	Web = names.WorkloadRef{Kind: names.Deployment, Namespace: "ns", Name: "web"}
)

// WorkloadNamed names a Deployment.
func WorkloadNamed(name string) names.WorkloadRef {
	return names.WorkloadRef{Kind: names.Deployment, Namespace: "ns", Name: name}
}

// ConfigMapOf is a ConfigMap with a value.
func ConfigMapOf(content string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "web"}, Data: map[string]string{"key": content}}
}

// PodTemplateText is a pod template in JSON.
const PodTemplateText = `"template": {"metadata": {"labels": {"app": "web"}},
	"spec": {"containers": [{"name": "app", "envFrom": [{"configMapRef": {"name": "settings"}}]}]}}`

// ObjectText is a workload that opted in, with this spec and status.
func ObjectText(kind, version, spec, status string) string {
	return `{"apiVersion": "example.com/v1", "kind": "` + kind + `", "metadata": {"namespace": "ns", "name": "web", "uid": "u", "resourceVersion": "` + version + `",
		"generation": 2, "annotations": {"com.xing.deployment-restart": "enabled"}},
		"spec": {"selector": {"matchLabels": {"app": "web"}}, ` + spec + `}, "status": {` + status + `}}`
}

// AWeb is a Deployment.
var AWeb = names.WorkloadRef{Kind: names.Deployment, Namespace: "a", Name: "web"}

// DeploymentNamed names a Deployment by "namespace/name".
func DeploymentNamed(name string) names.WorkloadRef {
	namespace, name, _ := strings.Cut(name, "/")
	return names.WorkloadRef{Kind: names.Deployment, Namespace: namespace, Name: name}
}

// SecretServer answers for the Secret of the key.
type SecretServer = objectServer[corev1.Secret, *corev1.Secret]

// TestKeySecret is the Secret of the key.
const TestKeySecret = "checksum-key"

// Agent is the UID of a DaemonSet.
const Agent types.UID = "7c1f2a3e-0000-4000-8000-000000000001"

// UIDOf returns a UID for a number.
func UIDOf(i int) types.UID { return types.UID(fmt.Sprintf("uid-%d", i)) }

// AgentReadingItsEnvironment is that DaemonSet, of which one container reads a config.
func AgentReadingItsEnvironment() *workload.Workload {
	return &workload.Workload{Object: workload.Object{Ref: names.WorkloadRef{Kind: names.DaemonSet, Namespace: "ns", Name: "agent"}, UID: Agent, References: []template.Reference{{Container: "main", Channel: template.Environment}}}}
}

// EventsOf returns the Events that were recorded so far.
func EventsOf(recorder *record.FakeRecorder) []string {
	var events []string
	for len(recorder.Events) > 0 {
		events = append(events, <-recorder.Events)
	}
	return events
}

// LackedPermission is what an API server says for lack of a permission.
const LackedPermission = `deployments.apps "web" is forbidden: User "system:serviceaccount:a:b" cannot patch resource "deployments" in API group "apps" in the namespace "ns"`

// RefusalWith is a refusal of the API server.
func RefusalWith(code int32, reason metav1.StatusReason, message string) error {
	return fmt.Errorf("patch web: %w", &apierrors.StatusError{ErrStatus: metav1.Status{Code: code, Reason: reason, Message: message}})
}

// Counted returns samples by their labels.
func Counted(samples []series.Sample) map[string]float64 {
	counts := make(map[string]float64, len(samples))
	for _, s := range samples {
		counts[s.Label] = s.Value
	}
	return counts
}

// OfNamespace returns the namespace of a workload.
func OfNamespace(namespace string, number int) names.WorkloadRef {
	return names.WorkloadRef{Kind: names.Deployment, Namespace: namespace, Name: fmt.Sprint(number)}
}

// Removed returns objects without one of them.
func Removed(d *appsv1.Deployment) {
	delete(d.Annotations, annotation.ChecksumsAnnotation)
	delete(d.Annotations, annotation.BasisAnnotation)
	d.ManagedFields = nil
}
