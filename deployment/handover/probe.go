package handover

import (
	"context"
	"fmt"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"kubernetes-deployment-restart-controller/deployment/rollout"
	"kubernetes-deployment-restart-controller/internal/apiclient"
	"kubernetes-deployment-restart-controller/internal/quarantine"
)

const (
	// probeName is the name of the engine's probe.
	probeName = "kubernetes-deployment-restart-controller-probe"

	// tokenAnnotation distinguishes probes.
	tokenAnnotation = "com.xing.deployment-restart.probe"
	// drivingAnnotation says whether the process that created the probe already drove
	// Deployments.
	drivingAnnotation     = "com.xing.deployment-restart.driving"
	descriptionAnnotation = "kubernetes.io/description"
	probeDescription      = "The deployment engine uses this Deployment to find out whether another controller drives Deployments, " +
		"which would write its status. It never has pods. The engine creates it again if it is gone, and deletes it when it stops."
)

// newProbe returns a Deployment that has no effect, whichever controller drives it: it
// wants no pods and, because it is paused, not even a ReplicaSet. No policy should
// reject its template.
func newProbe(namespace, token string, drives bool) *appsv1.Deployment {
	labels := map[string]string{"app.kubernetes.io/name": probeName}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: probeName, Labels: labels,
			Annotations: map[string]string{
				descriptionAnnotation: probeDescription, tokenAnnotation: token, drivingAnnotation: strconv.FormatBool(drives),
			},
		},
		Spec: appsv1.DeploymentSpec{
			Replicas: new(int32(0)),
			Paused:   true,
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec: corev1.PodSpec{
					AutomountServiceAccountToken: new(false),
					SecurityContext: &corev1.PodSecurityContext{
						RunAsNonRoot:   new(true),
						SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
					},
					Containers: []corev1.Container{{
						Name: "none", Image: "example.invalid/none",
						SecurityContext: &corev1.SecurityContext{
							AllowPrivilegeEscalation: new(false),
							ReadOnlyRootFilesystem:   new(true),
							Capabilities:             &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
						},
					}},
				},
			},
		},
	}
}

// prober creates and deletes the probe.
type prober struct {
	apps      apiclient.Apps
	namespace string
}

// replace creates a new probe, which nobody has answered yet, in place of any existing
// one. It returns its UID.
func (p *prober) replace(ctx context.Context, token string, drives bool) (types.UID, error) {
	probes := p.apps.Deployments(p.namespace)
	if err := probes.Delete(ctx, probeName, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
		return "", fmt.Errorf("delete deployment %s/%s: %w", p.namespace, probeName, err)
	}
	created, err := probes.Create(ctx, newProbe(p.namespace, token, drives), metav1.CreateOptions{FieldManager: rollout.FieldManager})
	if err != nil {
		return "", fmt.Errorf("create deployment %s/%s: %w", p.namespace, probeName, err)
	}
	return created.UID, nil
}

// remove deletes the probe, unless another process has replaced it since.
func (p *prober) remove(ctx context.Context, uid types.UID) error {
	err := p.apps.Deployments(p.namespace).Delete(ctx, probeName, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid}})
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
		return fmt.Errorf("delete deployment %s/%s: %w", p.namespace, probeName, err)
	}
	return nil
}

// probeState is an observed state of the probe.
type probeState struct {
	rollout.Meta
	token string
	// isFromDriver means that the process that created the probe already drove
	// Deployments.
	isFromDriver bool
	// answer is the write of its status, if isAnswered.
	isAnswered bool
	answer     rollout.StatusWrite
}

// nameOfProbe names the probe for the quarantine.
func nameOfProbe(s *probeState) quarantine.Object {
	return quarantine.Object{Kind: rollout.DeploymentKind, Namespace: s.Namespace, Name: s.Name, UID: s.UID, ResourceVersion: s.ResourceVersion}
}

func reduceProbe(object any) (*probeState, error) {
	d, ok := object.(*appsv1.Deployment)
	if !ok {
		return nil, fmt.Errorf("unexpected type %T, want Deployment", object)
	}
	return &probeState{
		Meta:         rollout.MetaOf(&d.ObjectMeta),
		token:        d.Annotations[tokenAnnotation],
		isFromDriver: d.Annotations[drivingAnnotation] == strconv.FormatBool(true),
		isAnswered:   !apiequality.Semantic.DeepEqual(d.Status, appsv1.DeploymentStatus{}),
		answer:       rollout.LastStatusWrite(d.ManagedFields, ""), // another installation of this engine writes under the same name
	}, nil
}

// IsProbe reports whether a Deployment is the engine's own probe, which the engine does not
// drive because it must not answer itself. The probe of another installation is a Deployment
// like any other.
func (m *Monitor) IsProbe(key types.NamespacedName) bool {
	return key.Name == probeName && key.Namespace == m.prober.namespace
}
