package differential

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	clienttesting "k8s.io/client-go/testing"
)

// react answers a request of a controller.
func (s *server) react(action clienttesting.Action) (handled bool, answer runtime.Object, err error) {
	resource := action.GetResource().Resource
	switch a := action.(type) {
	case clienttesting.GetActionImpl:
		answer, err = s.find(resource, a.Name)
	case clienttesting.ListActionImpl:
		answer = s.selected(resource, a.ListRestrictions)
	case clienttesting.CreateActionImpl:
		answer, err = s.create(a.Object.(object))
	case clienttesting.UpdateActionImpl:
		answer, err = s.replace(a.Object.(object), a.Subresource)
	case clienttesting.PatchActionImpl:
		answer, err = s.patch(ref{resource, a.Name}, a.PatchType, a.Patch, a.Subresource)
	case clienttesting.DeleteActionImpl:
		answer, err = empty(resource), s.delete(ref{resource, a.Name}, &a.DeleteOptions)
	default:
		panic(fmt.Sprintf("a request that is not played: %v", action))
	}
	if err != nil {
		return true, empty(resource), err
	}
	return true, answer, nil
}

func (s *server) find(resource, name string) (runtime.Object, error) {
	found, ok := s.objects[ref{resource, name}]
	if !ok {
		return nil, apierrors.NewNotFound(schema.GroupResource{Group: "apps", Resource: resource}, name)
	}
	return found.DeepCopyObject(), nil
}

func (s *server) selected(resource string, restrictions clienttesting.ListRestrictions) runtime.Object {
	if resource == replicaSets {
		found := &appsv1.ReplicaSetList{ListMeta: metav1.ListMeta{ResourceVersion: strconv.FormatInt(s.version, 10)}}
		for _, rs := range list[*appsv1.ReplicaSet](s) {
			found.Items = append(found.Items, *rs.DeepCopy()) // the client selects
		}
		return found
	}
	panic("a list that is not played: " + resource + restrictions.Labels.String())
}

func (s *server) create(o object) (runtime.Object, error) {
	if err := s.refuse("create", resourceOf(o)); err != nil {
		s.wrote("create %s: %v", resourceOf(o), err)
		return nil, err
	}
	key := refTo(o)
	if _, found := s.objects[key]; found {
		s.wrote("create %s %s: it exists", key.resource, key.name)
		return nil, apierrors.NewAlreadyExists(schema.GroupResource{Group: "apps", Resource: key.resource}, key.name)
	}
	created := o.DeepCopyObject().(object)
	created.SetGeneration(1)
	answer := s.put(created)
	s.wrote("create %s %s", key.resource, describe(answer))
	return answer.DeepCopyObject(), nil
}

func (s *server) replace(o object, subresource string) (runtime.Object, error) {
	key := refTo(o)
	old, found := s.objects[key]
	switch {
	case !found:
		return nil, apierrors.NewNotFound(schema.GroupResource{Group: "apps", Resource: key.resource}, key.name)
	case o.GetResourceVersion() != "" && o.GetResourceVersion() != old.GetResourceVersion(), o.GetUID() != old.GetUID():
		return nil, s.conflict(key)
	}
	return s.write(old, o.DeepCopyObject().(object), subresource)
}

// write is a controller's write of an object that is there.
func (s *server) write(old, updated object, subresource string) (runtime.Object, error) {
	key := refTo(old)
	if err := s.refuse("update", strings.TrimSuffix(key.resource+"/"+subresource, "/")); err != nil {
		return nil, err
	}
	if d, ok := updated.(*appsv1.Deployment); ok && subresource == "status" {
		if err := validateStatus(old.(*appsv1.Deployment), &d.Status); err != nil {
			return nil, err
		}
	}
	s.hasRescaled = s.hasRescaled || old.GetAnnotations()[desiredReplicas] != updated.GetAnnotations()[desiredReplicas]
	answer := s.update(old, updated, subresource)
	if d, ok := answer.(*appsv1.Deployment); ok && answer != old {
		s.statuses = append(s.statuses, d.Status)
	}
	if answer == old {
		s.wrote("update %s, which changes nothing", key.resource)
	} else {
		s.wrote("update %s %s", strings.TrimSuffix(key.resource+"/"+subresource, "/"), describe(answer))
	}
	return answer.DeepCopyObject(), nil
}

func (s *server) conflict(key ref) error {
	s.refused = append(s.refused, key)
	s.wrote("a write of %s %s rests on an old version", key.resource, key.name)
	return apierrors.NewConflict(schema.GroupResource{Group: "apps", Resource: key.resource}, key.name, fmt.Errorf("the object has been modified"))
}

// validateStatus refuses what the API server would refuse.
func validateStatus(old *appsv1.Deployment, status *appsv1.DeploymentStatus) error {
	isFewer := old.Status.CollisionCount != nil && (status.CollisionCount == nil || *status.CollisionCount < *old.Status.CollisionCount)
	if min(status.Replicas, status.UpdatedReplicas, status.ReadyReplicas, status.AvailableReplicas, status.UnavailableReplicas) < 0 ||
		status.UpdatedReplicas > status.Replicas || status.ReadyReplicas > status.Replicas ||
		status.AvailableReplicas > status.ReadyReplicas || isFewer {
		return apierrors.NewInvalid(schema.GroupKind{Group: "apps", Kind: "Deployment"}, old.Name, nil)
	}
	return nil
}

func (s *server) patch(key ref, kind types.PatchType, body []byte, subresource string) (runtime.Object, error) {
	old, found := s.objects[key]
	if !found {
		return nil, apierrors.NewNotFound(schema.GroupResource{Group: "apps", Resource: key.resource}, key.name)
	}
	patched, err := apply(kind, body, old)
	if err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	updated := empty(key.resource)
	if err := json.Unmarshal(patched, updated); err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	if updated.GetResourceVersion() != old.GetResourceVersion() || updated.GetUID() != old.GetUID() {
		return nil, s.conflict(key)
	}
	return s.write(old, updated, subresource)
}

// apply applies a patch to an object's JSON.
func apply(kind types.PatchType, body []byte, old object) ([]byte, error) {
	document := must(json.Marshal(old))
	switch kind {
	case types.MergePatchType:
		return jsonpatch.MergePatch(document, body)
	case types.StrategicMergePatchType:
		return strategicpatch.StrategicMergePatch(document, body, old)
	case types.JSONPatchType:
		patch, err := jsonpatch.DecodePatch(body)
		if err != nil {
			return nil, err
		}
		return patch.Apply(document)
	}
	return nil, fmt.Errorf("patches of type %s are not played", kind)
}

func (s *server) delete(key ref, options *metav1.DeleteOptions) error {
	old, found := s.objects[key]
	if !found {
		return apierrors.NewNotFound(schema.GroupResource{Group: "apps", Resource: key.resource}, key.name)
	}
	if p := options.Preconditions; p != nil {
		if p.UID != nil && *p.UID != old.GetUID() || p.ResourceVersion != nil && *p.ResourceVersion != old.GetResourceVersion() {
			return s.conflict(key)
		}
	}
	s.remove(key)
	s.wrote("delete %s %s", key.resource, key.name)
	return nil
}
