package deployment

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"kubernetes-deployment-restart-controller/deployment/rollout"
	"kubernetes-deployment-restart-controller/internal/origin"
	"kubernetes-deployment-restart-controller/internal/podtemplate"
)

// Every body carries the resourceVersion that the plan was based on: the API server refuses
// the patch if the object has changed since.

type patchedMeta struct {
	ResourceVersion string             `json:"resourceVersion"`
	UID             types.UID          `json:"uid,omitempty"`
	Annotations     map[string]*string `json:"annotations,omitempty"` // nil removes one
	OwnerReferences []any              `json:"ownerReferences,omitempty"`
}

type patchedObject struct {
	Metadata patchedMeta `json:"metadata"`
	Spec     any         `json:"spec,omitempty"`
	Status   any         `json:"status,omitempty"`
}

// updatePatch is a JSON merge patch.
func updatePatch(a *rollout.UpdateReplicaSet) ([]byte, error) {
	type spec struct {
		Replicas        *int32 `json:"replicas,omitempty"`
		MinReadySeconds *int32 `json:"minReadySeconds,omitempty"`
	}
	changed := spec{MinReadySeconds: a.MinReadySeconds}
	if a.From != a.To {
		replicas := rollout.ToInt32(a.To)
		changed.Replicas = &replicas
	}
	meta := patchedMeta{ResourceVersion: a.Target.ResourceVersion, Annotations: map[string]*string{}}
	for key, value := range a.Annotations {
		meta.Annotations[key] = &value
	}
	return encode(patchedObject{Metadata: meta, Spec: changed})
}

// statusPatch is a JSON merge patch of the subresource status. It names every
// field, because what a merge patch leaves out stays as it was. The reads are those of the
// ReplicaSet that the Deployment is to show, encoded; nil for none.
func statusPatch(d *rollout.Meta, a *rollout.UpdateStatus, reads *string) ([]byte, error) {
	type status struct {
		ObservedGeneration  int64                        `json:"observedGeneration"`
		Replicas            int32                        `json:"replicas"`
		UpdatedReplicas     int32                        `json:"updatedReplicas"`
		ReadyReplicas       int32                        `json:"readyReplicas"`
		AvailableReplicas   int32                        `json:"availableReplicas"`
		UnavailableReplicas int32                        `json:"unavailableReplicas"`
		TerminatingReplicas *int32                       `json:"terminatingReplicas"`
		Conditions          []appsv1.DeploymentCondition `json:"conditions"`
		CollisionCount      *int32                       `json:"collisionCount"`
	}
	meta := patchedMeta{ResourceVersion: d.ResourceVersion, Annotations: map[string]*string{}}
	if a.Revision != "" {
		meta.Annotations[rollout.RevisionAnnotation] = &a.Revision
	}
	if a.Runs != nil {
		meta.Annotations[podtemplate.RunsAnnotation] = reads
	}
	return encode(patchedObject{Metadata: meta, Status: status(a.Status)})
}

// adoptPatch is a strategic merge patch, which leaves other owners alone.
func adoptPatch(d *rollout.Deployment, target *rollout.Meta) ([]byte, error) {
	return encode(patchedObject{Metadata: patchedMeta{
		ResourceVersion: target.ResourceVersion,
		UID:             target.UID,
		OwnerReferences: []any{controllerReference(d)},
	}})
}

// releasePatch is a strategic merge patch, which leaves other owners alone.
func releasePatch(d *rollout.Deployment, target *rollout.Meta) ([]byte, error) {
	return encode(patchedObject{Metadata: patchedMeta{
		ResourceVersion: target.ResourceVersion,
		UID:             target.UID,
		OwnerReferences: []any{map[string]any{"$patch": "delete", "uid": d.UID}},
	}})
}

func controllerReference(d *rollout.Deployment) *metav1.OwnerReference {
	return metav1.NewControllerRef(&metav1.ObjectMeta{Name: d.Name, UID: d.UID}, rollout.DeploymentKind)
}

// operation is an operation of a JSON patch.
type operation struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value,omitempty"`
}

// rollbackPatch is a JSON patch, because the earlier template must replace the present one,
// not be merged with it.
func rollbackPatch(d *rollout.Meta, a *rollout.RollBack, template map[string]any) ([]byte, error) {
	operations := []operation{unchanged(d), {Op: "replace", Path: "/spec/template", Value: template}}
	for _, key := range a.Remove {
		operations = append(operations, operation{Op: "remove", Path: annotationPath(key)})
	}
	for _, key := range slices.Sorted(maps.Keys(a.Annotations)) {
		operations = append(operations, operation{Op: "add", Path: annotationPath(key), Value: a.Annotations[key]})
	}
	return encode(operations)
}

// endRollbackPatch is a JSON patch.
func endRollbackPatch(d *rollout.Meta) ([]byte, error) {
	return encode([]operation{unchanged(d), {Op: "remove", Path: annotationPath(rollout.RollbackAnnotation)}})
}

// unchanged makes the API server refuse the patch if the Deployment has changed.
func unchanged(d *rollout.Meta) operation {
	return operation{Op: "replace", Path: "/metadata/resourceVersion", Value: d.ResourceVersion}
}

// annotationPath escapes an annotation's name as JSON pointers require.
func annotationPath(key string) string {
	return "/metadata/annotations/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(key)
}

func encode(patch any) ([]byte, error) {
	body, err := json.Marshal(patch)
	if err != nil {
		return nil, fmt.Errorf("encode patch: %w", err)
	}
	return body, nil
}

// newReplicaSet returns the object to create for a Deployment. The object and its pods carry
// the hash of the template as a label, and its selector requires that label. An annotation says
// what has made the template out of the one before, which is nil for the first.
func newReplicaSet(d *appsv1.Deployment, before *corev1.PodTemplateSpec, a *rollout.CreateReplicaSet) *appsv1.ReplicaSet {
	template := d.Spec.Template.DeepCopy()
	template.Labels = withLabel(template.Labels, a.Hash)
	selector := d.Spec.Selector.DeepCopy()
	selector.MatchLabels = withLabel(selector.MatchLabels, a.Hash)
	replicas := rollout.ToInt32(a.Replicas)
	annotations := map[string]string{}
	maps.Copy(annotations, a.Annotations)
	if made := origin.Of(before, &d.Spec.Template, d.ManagedFields); !made.IsEmpty() {
		annotations[origin.Annotation] = made.Encode(a.Name)
	}
	return &appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{
			Namespace:       d.Namespace,
			Name:            a.Name,
			Labels:          template.Labels,
			Annotations:     annotations,
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(d, rollout.DeploymentKind)},
		},
		Spec: appsv1.ReplicaSetSpec{
			Replicas:        &replicas,
			MinReadySeconds: d.Spec.MinReadySeconds,
			Selector:        selector,
			Template:        *template,
		},
	}
}

func withLabel(labels map[string]string, hash string) map[string]string {
	with := maps.Clone(labels)
	if with == nil {
		with = map[string]string{}
	}
	with[rollout.HashLabel] = hash
	return with
}
