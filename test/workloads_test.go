package test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// workload names a workload in a scene's namespace.
type workload struct{ kind, name string }

func deployment(name string) workload  { return workload{"Deployment", name} }
func statefulSet(name string) workload { return workload{"StatefulSet", name} }
func daemonSet(name string) workload   { return workload{"DaemonSet", name} }

// enabled are the annotations of a workload that has opted in.
func enabled() map[string]string { return map[string]string{enabledAnnotation: "enabled"} }

// run creates a Deployment of one replica that has opted in.
func (s *scene) run(name string, pod corev1.PodSpec, adjust ...func(*appsv1.Deployment)) workload {
	s.Helper()
	object := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: enabled()},
		Spec:       appsv1.DeploymentSpec{Selector: selector(name), Template: podTemplate(name, pod)},
	}
	for _, adjust := range adjust {
		adjust(object)
	}
	_, err := s.client.AppsV1().Deployments(s.namespace).Create(s.Context(), object, metav1.CreateOptions{})
	s.must(err)
	return deployment(name)
}

// runStateful creates a StatefulSet of two replicas that has opted in.
func (s *scene) runStateful(name string, pod corev1.PodSpec, adjust ...func(*appsv1.StatefulSet)) workload {
	s.Helper()
	object := &appsv1.StatefulSet{
		ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: enabled()},
		Spec: appsv1.StatefulSetSpec{
			Replicas: new(int32(2)), ServiceName: name, Selector: selector(name), Template: podTemplate(name, pod),
		},
	}
	for _, adjust := range adjust {
		adjust(object)
	}
	_, err := s.client.AppsV1().StatefulSets(s.namespace).Create(s.Context(), object, metav1.CreateOptions{})
	s.must(err)
	return statefulSet(name)
}

// runDaemons creates a DaemonSet that has opted in.
func (s *scene) runDaemons(name string, pod corev1.PodSpec, adjust ...func(*appsv1.DaemonSet)) workload {
	s.Helper()
	object := &appsv1.DaemonSet{
		ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: enabled()},
		Spec:       appsv1.DaemonSetSpec{Selector: selector(name), Template: podTemplate(name, pod)},
	}
	for _, adjust := range adjust {
		adjust(object)
	}
	_, err := s.client.AppsV1().DaemonSets(s.namespace).Create(s.Context(), object, metav1.CreateOptions{})
	s.must(err)
	return daemonSet(name)
}

func selector(app string) *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}}
}

func podTemplate(app string, pod corev1.PodSpec) corev1.PodTemplateSpec {
	return corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": app}}, Spec: pod}
}

// state is a workload of any kind at one moment.
type state struct {
	metav1.ObjectMeta
	spec     any // a pointer to the whole spec
	template *corev1.PodTemplateSpec
	rollout  error // what is missing from a complete rollout
	// revisions is how many templates it has had: see [scene.revisions].
	revisions int
}

func (s *scene) look(ctx context.Context, w workload) (state, error) {
	switch w.kind {
	case "Deployment":
		object, err := s.client.AppsV1().Deployments(s.namespace).Get(ctx, w.name, metav1.GetOptions{})
		if err != nil {
			return state{}, err
		}
		return state{ObjectMeta: object.ObjectMeta, spec: &object.Spec, template: &object.Spec.Template, rollout: deploymentRollout(object)}, nil
	case "StatefulSet":
		object, err := s.client.AppsV1().StatefulSets(s.namespace).Get(ctx, w.name, metav1.GetOptions{})
		if err != nil {
			return state{}, err
		}
		return state{ObjectMeta: object.ObjectMeta, spec: &object.Spec, template: &object.Spec.Template, rollout: statefulSetRollout(object)}, nil
	case "DaemonSet":
		object, err := s.client.AppsV1().DaemonSets(s.namespace).Get(ctx, w.name, metav1.GetOptions{})
		if err != nil {
			return state{}, err
		}
		return state{ObjectMeta: object.ObjectMeta, spec: &object.Spec, template: &object.Spec.Template, rollout: daemonSetRollout(object)}, nil
	}
	return s.lookOther(ctx, w)
}

// now looks at a workload.
func (s *scene) now(w workload) state {
	s.Helper()
	st, err := s.look(s.Context(), w)
	s.must(err)
	st.revisions, err = s.revisions(s.Context(), w)
	s.must(err)
	return st
}

func deploymentRollout(d *appsv1.Deployment) error {
	status, want := d.Status, *d.Spec.Replicas
	return incomplete(status.ObservedGeneration >= d.Generation, want,
		status.Replicas, status.UpdatedReplicas, status.AvailableReplicas)
}

func statefulSetRollout(s *appsv1.StatefulSet) error {
	status, want := s.Status, *s.Spec.Replicas
	return incomplete(status.ObservedGeneration >= s.Generation && status.CurrentRevision == status.UpdateRevision, want,
		status.Replicas, status.CurrentReplicas, status.AvailableReplicas)
}

func daemonSetRollout(d *appsv1.DaemonSet) error {
	status, want := d.Status, d.Status.DesiredNumberScheduled
	return incomplete(status.ObservedGeneration >= d.Generation && want > 0, want,
		status.CurrentNumberScheduled, status.UpdatedNumberScheduled, status.NumberAvailable)
}

func incomplete(observed bool, want, present, updated, available int32) error {
	if observed && present == want && updated == want && available == want {
		return nil
	}
	return fmt.Errorf("rollout: observed %t, want %d, present %d, updated %d, available %d",
		observed, want, present, updated, available)
}

func (st state) paused() bool {
	spec, ok := st.spec.(*appsv1.DeploymentSpec)
	return ok && spec.Paused
}

func (st state) restartedAt() string { return st.template.Annotations[timestampAnnotation] }

// restartTime is when the controller decided to restart, by the clock of this machine.
func (st state) restartTime(s *scene) time.Time {
	s.Helper()
	moment, err := time.Parse(time.RFC3339Nano, st.restartedAt())
	s.must(err)
	return moment
}

// checksums returns the record, or an error if no record can be read.
func (st state) checksums() (map[string]string, error) {
	text, found := st.Annotations[checksumsAnnotation]
	if !found {
		return nil, errors.New("no checksums annotation")
	}
	var checksums map[string]string
	if err := json.Unmarshal([]byte(text), &checksums); err != nil {
		return nil, fmt.Errorf("checksums annotation %q: %w", text, err)
	}
	return checksums, nil
}

// patch applies a merge patch to a workload, as a user would.
func (s *scene) patch(w workload, patch string) {
	s.Helper()
	s.patchAs("user", w, patch)
}

// patchAs applies a merge patch to a workload under a field manager's name.
func (s *scene) patchAs(manager string, w workload, patch string) {
	s.Helper()
	var err error
	apps, options := s.client.AppsV1(), metav1.PatchOptions{FieldManager: manager}
	switch w.kind {
	case "Deployment":
		_, err = apps.Deployments(s.namespace).Patch(s.Context(), w.name, types.MergePatchType, []byte(patch), options)
	case "StatefulSet":
		_, err = apps.StatefulSets(s.namespace).Patch(s.Context(), w.name, types.MergePatchType, []byte(patch), options)
	case "DaemonSet":
		_, err = apps.DaemonSets(s.namespace).Patch(s.Context(), w.name, types.MergePatchType, []byte(patch), options)
	default:
		err = fmt.Errorf("no such kind: %s", w.kind)
	}
	s.must(err)
}

// annotate sets an annotation of a workload, as a user would; an empty value removes it.
func (s *scene) annotate(w workload, name, value string) {
	s.Helper()
	annotations := map[string]any{name: value}
	if value == "" {
		annotations[name] = nil
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": annotations}})
	s.must(err)
	s.patch(w, string(patch))
}

// revisions counts the templates that a workload has had, as its own controller
// keeps them: ReplicaSets or ControllerRevisions.
func (s *scene) revisions(ctx context.Context, w workload) (int, error) {
	of := metav1.ListOptions{LabelSelector: "app=" + w.name}
	if w.kind == "Deployment" {
		list, err := s.client.AppsV1().ReplicaSets(s.namespace).List(ctx, of)
		if err != nil {
			return 0, err
		}
		return len(list.Items), nil
	}
	if _, isOther := otherKindNamed(w.kind); isOther {
		st, err := s.lookOther(ctx, w)
		return int(st.Generation), err
	}
	list, err := s.client.AppsV1().ControllerRevisions(s.namespace).List(ctx, of)
	if err != nil {
		return 0, err
	}
	return len(list.Items), nil
}

// patchImage gives the container "main" another image.
func (s *scene) patchImage(w workload, image string) {
	s.Helper()
	patch := fmt.Sprintf(`{"spec":{"template":{"spec":{"containers":[{"name":"main","image":%q}]}}}}`, image)
	_, err := s.client.AppsV1().Deployments(s.namespace).Patch(s.Context(), w.name, types.StrategicMergePatchType,
		[]byte(patch), metav1.PatchOptions{FieldManager: "user"})
	s.must(err)
}

// differ returns an error while two records say the same of a config.
func differ(before, after map[string]string, key string) error {
	if after[key] == "" || after[key] == before[key] {
		return fmt.Errorf("the record of %s is %q, was %q", key, after[key], before[key])
	}
	return nil
}

// requireRevisions fails the test unless a workload has had this many templates.
func (s *scene) requireRevisions(w workload, want int) {
	s.Helper()
	if got := s.now(w).revisions; got != want {
		s.Fatalf("%s %s has had %d templates, want %d", w.kind, w.name, got, want)
	}
}
