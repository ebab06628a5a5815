package differential

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clienttesting "k8s.io/client-go/testing"
)

const (
	deployments = "deployments"
	replicaSets = "replicasets"
	pods        = "pods"
)

// object is an API object that is stored as the API server stores it: encoded.
type object interface {
	metav1.Object
	runtime.Object
	Marshal() ([]byte, error)
	Unmarshal(data []byte) error
}

// ref names an object.
type ref struct{ resource, name string }

// server plays the API server for one namespace, behind a fake client: it keeps versions and generations,
// resets what a writer may not write, and refuses writes that rest on an outdated version. What it stores is
// immutable.
type server struct {
	clienttesting.Fake

	version int64
	objects map[ref]object
	names   map[string][]string // by resource, sorted
	born    map[ref]int         // how many objects have had the name
	// changed is called after each change, with nil for what was not or is no more.
	changed func(before, after object)
	// refuse may refuse a write.
	refuse func(verb, resource string) error
	// wrote is called after each write of the controller, in words.
	wrote func(format string, arguments ...any)
	// refused are the objects of which writes were refused in this instant, because they had changed.
	refused []ref
	// hasRescaled says that the controller has written sizes for another number of replicas in this instant.
	hasRescaled bool
	// removed are the objects that were deleted in this instant.
	removed []object
	// statuses are the Deployment's at the beginning of the instant, and those that were written since.
	statuses []appsv1.DeploymentStatus
}

func newServer() *server {
	s := &server{
		version: 100,
		objects: map[ref]object{},
		names:   map[string][]string{},
		born:    map[ref]int{},
		changed: func(object, object) {},
		refuse:  func(string, string) error { return nil },
		wrote:   func(string, ...any) {},
	}
	s.AddReactor("*", "*", s.react)
	return s
}

// get returns the zero value if there is no such object.
func get[T object](s *server, name string) T {
	var none T
	found, _ := s.objects[ref{resourceOf(none), name}].(T)
	return found
}

// list returns all objects of a resource by their names.
func list[T object](s *server) (all []T) {
	var none T
	for _, name := range s.names[resourceOf(none)] {
		all = append(all, s.objects[ref{resourceOf(none), name}].(T))
	}
	return all
}

func resourceOf(o object) string {
	switch o.(type) {
	case *appsv1.Deployment:
		return deployments
	case *appsv1.ReplicaSet:
		return replicaSets
	}
	return pods
}

func refTo(o object) ref { return ref{resourceOf(o), o.GetName()} }

// empty returns a new object of a resource.
func empty(resource string) object {
	switch resource {
	case deployments:
		return &appsv1.Deployment{}
	case replicaSets:
		return &appsv1.ReplicaSet{}
	}
	return &corev1.Pod{}
}

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

// stored is an object as it comes back from the API server: the encoding cuts times to whole seconds and knows
// no difference between absent and empty.
func stored(o object) object {
	copied := empty(resourceOf(o))
	if err := copied.Unmarshal(must(o.Marshal())); err != nil {
		panic(err)
	}
	return copied
}

// put stores an object under a new version.
func (s *server) put(o object) object {
	key := refTo(o)
	before := s.objects[key]
	if before == nil {
		i, _ := slices.BinarySearch(s.names[key.resource], key.name)
		s.names[key.resource] = slices.Insert(s.names[key.resource], i, key.name)
		s.born[key]++
		o.SetUID(types.UID(fmt.Sprintf("%s-%s-%d", key.resource, key.name, s.born[key])))
		o.SetCreationTimestamp(metav1.Now())
	}
	s.version++
	o.SetResourceVersion(strconv.FormatInt(s.version, 10))
	after := stored(o)
	s.objects[key] = after
	s.changed(before, after)
	return after
}

// remove deletes an object at once, without regard to finalizers.
func (s *server) remove(key ref) {
	if before, found := s.objects[key]; found {
		s.version++
		delete(s.objects, key)
		s.removed = append(s.removed, before)
		i, _ := slices.BinarySearch(s.names[key.resource], key.name)
		s.names[key.resource] = slices.Delete(s.names[key.resource], i, i+1)
		s.changed(before, nil)
	}
}

// edit is a write of somebody else's, if there is such an object.
func edit[T object](s *server, name string, change func(T)) {
	if old := get[T](s, name); s.objects[refTo(old)] != nil {
		edited := old.DeepCopyObject().(T)
		change(edited)
		s.update(old, edited, "")
	}
}

// editStatus writes the status of a ReplicaSet or a pod.
func editStatus[T object](s *server, name string, change func(T)) {
	if old := get[T](s, name); s.objects[refTo(old)] != nil {
		edited := old.DeepCopyObject().(T)
		change(edited)
		s.update(old, edited, "status")
	}
}

// update stores a new version of an object if it differs. It takes the object over.
func (s *server) update(old, updated object, subresource string) object {
	updated.SetUID(old.GetUID())
	updated.SetCreationTimestamp(old.GetCreationTimestamp())
	updated.SetGeneration(old.GetGeneration())
	updated.SetResourceVersion(old.GetResourceVersion())
	switch o := updated.(type) {
	case *appsv1.Deployment:
		prepareDeployment(old.(*appsv1.Deployment), o, subresource)
	case *appsv1.ReplicaSet:
		prepareReplicaSet(old.(*appsv1.ReplicaSet), o, subresource)
	}
	if old.GetDeletionTimestamp() == nil && updated.GetDeletionTimestamp() != nil && old.GetGeneration() > 0 {
		updated.SetGeneration(old.GetGeneration() + 1)
	}
	if bytes.Equal(must(old.Marshal()), must(stored(updated).Marshal())) {
		return old
	}
	return s.put(updated)
}

// prepareDeployment does what the API server does before it stores a Deployment.
func prepareDeployment(old, updated *appsv1.Deployment, subresource string) {
	if subresource == "status" {
		updated.Spec, updated.Labels = old.Spec, old.Labels
		return
	}
	updated.Status = old.Status
	if !apiequality.Semantic.DeepEqual(updated.Spec, old.Spec) || !apiequality.Semantic.DeepEqual(updated.Annotations, old.Annotations) {
		updated.Generation++
	}
}

// prepareReplicaSet does what the API server does before it stores a ReplicaSet.
func prepareReplicaSet(old, updated *appsv1.ReplicaSet, subresource string) {
	if subresource == "status" {
		updated.Spec, updated.Labels = old.Spec, old.Labels
		return
	}
	updated.Status = old.Status
	if !apiequality.Semantic.DeepEqual(updated.Spec, old.Spec) {
		updated.Generation++
	}
}

// describe returns what matters of an object in a story.
func describe(o object) string {
	switch o := o.(type) {
	case *appsv1.Deployment:
		var line strings.Builder
		fmt.Fprintf(&line, "%s@%s generation %d/%d: %d pods, %d updated, %d ready, %d available, %d unavailable", o.Name, o.ResourceVersion, o.Status.ObservedGeneration, o.Generation,
			o.Status.Replicas, o.Status.UpdatedReplicas, o.Status.ReadyReplicas, o.Status.AvailableReplicas, o.Status.UnavailableReplicas)
		for _, c := range o.Status.Conditions {
			fmt.Fprintf(&line, "; %s=%s %s %q since %s, updated %s", c.Type, c.Status, c.Reason, c.Message, c.LastTransitionTime.UTC().Format(time.TimeOnly), c.LastUpdateTime.UTC().Format(time.TimeOnly))
		}
		return line.String() + fmt.Sprintf(" %v", o.Annotations)
	case *appsv1.ReplicaSet:
		return fmt.Sprintf("%s@%s (%s) wants %d, has %d, %d ready, %d available %v", o.Name, o.ResourceVersion, imageOf(&o.Spec.Template), *o.Spec.Replicas,
			o.Status.Replicas, o.Status.ReadyReplicas, o.Status.AvailableReplicas, o.Annotations)
	}
	return o.GetName()
}

// forgetStatuses begins an instant.
func (s *server) forgetStatuses() {
	s.statuses, s.refused, s.removed, s.hasRescaled = []appsv1.DeploymentStatus{{}}, nil, nil, false
	if d := get[*appsv1.Deployment](s, name); d != nil {
		s.statuses[0] = d.Status
	}
}
