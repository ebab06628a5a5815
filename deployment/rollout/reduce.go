package rollout

import (
	"fmt"
	"maps"
	"math"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"kubernetes-deployment-restart-controller/internal/brief"
	"kubernetes-deployment-restart-controller/internal/podtemplate"
)

// The reasons of Events about Deployments for which no plan can be made. The API server
// rejects such Deployments, but may have accepted one in the past.
const (
	reasonSelectingAll = "SelectingAll"
	// Warning: the selector is not valid or has more than 10,000 requirements and values, so the engine leaves the
	// Deployment alone.
	reasonInvalidSelector = "InvalidSelector"
	// Warning: the strategy is not valid, so the engine leaves the Deployment alone.
	reasonInvalidStrategy = "InvalidStrategy"
)

// maxDemands is how many requirements and values a selector may have altogether. Matching a
// ReplicaSet looks at each of them.
const maxDemands = 10_000

// heavySpec is how large the specification of an object is, in bytes of protobuf, that is heavy. Decoded, it takes up to 40 times
// as much, and the creation of a ReplicaSet needs several pod templates at once.
const heavySpec = 32 << 10

// NewDeployment reduces an API object to what plans may look at. It does not modify the
// object, but shares its labels and annotations.
func NewDeployment(object *appsv1.Deployment) *Deployment {
	d := &Deployment{
		Meta:             MetaOf(&object.ObjectMeta),
		Generation:       object.Generation,
		Annotations:      relevant(object.Annotations),
		Deleting:         object.DeletionTimestamp != nil,
		Replicas:         wanted(object.Spec.Replicas),
		Paused:           object.Spec.Paused,
		Strategy:         object.Spec.Strategy.Type,
		MinReadySeconds:  object.Spec.MinReadySeconds,
		HistoryLimit:     object.Spec.RevisionHistoryLimit,
		ProgressDeadline: progressDeadline(object.Spec.ProgressDeadlineSeconds),
		Selector:         object.Spec.Selector,
		Template:         encodeTemplate(&object.Spec.Template),
		Runs:             types.UID(podtemplate.UIDOfReads(object.Annotations[podtemplate.RunsAnnotation])),
		Status:           object.Status,
		StatusBy:         LastStatusWrite(object.ManagedFields, FieldManager),
	}
	d.Sum, d.Bare = sumsOf(&object.Spec.Template, knowsReleases(object.Annotations))
	d.Heavy = object.Spec.Size() > heavySpec
	d.Invalid = d.resolve(&object.Spec.Strategy)
	return d
}

// resolve makes the selector and the limits usable, or returns why that is not possible.
func (d *Deployment) resolve(strategy *appsv1.DeploymentStrategy) (invalid *Invalid) {
	if count := demandsOf(d.Selector); count > maxDemands {
		d.Selector = nil // so that nothing unpacks it again and again
		return &Invalid{reasonInvalidSelector, fmt.Sprintf("This deployment's selector has %d requirements and values. The deployment engine takes %d.", count, maxDemands)}
	}
	if _, invalid = matcherOf(d.Selector); invalid != nil {
		return invalid
	}
	known, found := strategies[d.Strategy]
	if !found {
		return &Invalid{reasonInvalidStrategy, fmt.Sprintf("This deployment's strategy %q is not known.", d.Strategy)}
	}
	limits, err := known.limits(strategy, d.Replicas)
	if err != nil {
		return &Invalid{reasonInvalidStrategy, fmt.Sprintf("This deployment's rolling update is not valid: %v", err)}
	}
	d.Limits = limits
	return nil
}

// demandsOf counts the requirements of a selector, and their values.
func demandsOf(selector *metav1.LabelSelector) (count int) {
	if selector == nil {
		return 0
	}
	for i := range selector.MatchExpressions {
		count += 1 + len(selector.MatchExpressions[i].Values)
	}
	return count + len(selector.MatchLabels)
}

// matcherOf makes a selector usable, or returns why that is not possible. An unusable
// selector selects nothing.
func matcherOf(selector *metav1.LabelSelector) (labels.Selector, *Invalid) {
	matcher, err := metav1.LabelSelectorAsSelector(selector)
	switch {
	case err != nil:
		return labels.Nothing(), &Invalid{reasonInvalidSelector, fmt.Sprintf("This deployment's selector is not valid: %v", err)}
	case selector == nil || matcher.Empty():
		return labels.Nothing(), &Invalid{reasonSelectingAll, "This deployment is selecting all pods. A non-empty selector is required."}
	}
	return matcher, nil
}

// NewReplicaSet reduces an API object to what plans may look at. It does not modify the
// object.
func NewReplicaSet(object *appsv1.ReplicaSet) *ReplicaSet {
	rs := &ReplicaSet{
		Meta:            MetaOf(&object.ObjectMeta),
		Created:         object.CreationTimestamp.Time,
		Deleting:        object.DeletionTimestamp != nil,
		Replicas:        wanted(object.Spec.Replicas),
		MinReadySeconds: object.Spec.MinReadySeconds,
		Observed:        object.Status.ObservedGeneration >= object.Generation,
		Existing:        int64(object.Status.Replicas),
		Ready:           int64(object.Status.ReadyReplicas),
		Available:       int64(object.Status.AvailableReplicas),
		Terminating:     object.Status.TerminatingReplicas,
		Failure:         replicaFailure(object.Status.Conditions),
	}
	rs.Sum, rs.Bare = sumsOf(&object.Spec.Template, knowsReleases(object.Annotations))
	rs.Heavy = object.Spec.Size() > heavySpec
	rs.Controller, rs.ControllerName = controllerOf(object)
	rs.SetLabels(object.Labels)
	rs.SetAnnotations(object.Annotations)
	return rs
}

// knowsReleases reports whether a Deployment asks to fall back or for steps, or did when it made a ReplicaSet, or noted how that ended. It
// costs nothing for others that a restart of a template is told from a release.
func knowsReleases(annotations map[string]string) bool {
	return annotations[onFailureAnnotation] != "" || annotations[stepsAnnotation] != "" || annotations[outcomeAnnotation] != ""
}

// MetaOf returns the Meta of an API object.
func MetaOf(object *metav1.ObjectMeta) Meta {
	return Meta{Namespace: object.Namespace, Name: object.Name, UID: object.UID, ResourceVersion: object.ResourceVersion}
}

// wanted returns how many replicas are wanted; absent means 1.
func wanted(replicas *int32) int64 {
	if replicas == nil {
		return 1
	}
	return int64(*replicas)
}

// progressDeadline returns nil if there is no deadline, which the API also expresses as the
// greatest number.
func progressDeadline(seconds *int32) *time.Duration {
	if seconds == nil || *seconds == math.MaxInt32 {
		return nil
	}
	deadline := time.Duration(*seconds) * time.Second
	return &deadline
}

// relevant leaves out the annotations that no plan looks at.
func relevant(annotations map[string]string) map[string]string {
	for key := range annotations {
		if isUnplanned(key) {
			rest := maps.Clone(annotations)
			maps.DeleteFunc(rest, func(key, _ string) bool { return isUnplanned(key) })
			return rest
		}
	}
	return annotations
}

// own returns those of the annotations that ReplicaSets do not share, in a new map.
func own(annotations map[string]string) map[string]string {
	kept := map[string]string{}
	for _, key := range OwnAnnotations {
		if value, found := annotations[key]; found {
			kept[key] = value
		}
	}
	return kept
}

// controllerOf returns the UID of an object's controller, empty if there is no controller,
// and its name if it is a Deployment.
func controllerOf(object metav1.Object) (uid types.UID, deployment string) {
	controller := metav1.GetControllerOfNoCopy(object)
	switch {
	case controller == nil:
		return "", ""
	case controller.Kind == "Deployment" && isDeploymentGroup(controller.APIVersion):
		return controller.UID, controller.Name
	}
	return controller.UID, ""
}

// isDeploymentGroup reports whether Deployments have ever belonged to the group of an API
// version. ReplicaSets that were created through an early version still name that version.
func isDeploymentGroup(version string) bool {
	group, _, _ := strings.Cut(version, "/")
	return group == appsv1.GroupName || group == "extensions"
}

// replicaFailure returns the condition that reports pods that could not be
// created or deleted, or nil.
func replicaFailure(conditions []appsv1.ReplicaSetCondition) *appsv1.ReplicaSetCondition {
	for i := range conditions {
		if conditions[i].Type == appsv1.ReplicaSetReplicaFailure {
			failure := conditions[i]
			failure.Message = brief.Text(failure.Message) // an admission webhook may have written it
			return &failure
		}
	}
	return nil
}
