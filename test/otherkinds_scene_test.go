package test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
)

// otherKind is a kind of workload that is defined here, some of them under the names of real ones. Their own
// controllers are played by the tests.
type otherKind struct {
	resource, version, group, kind string
	path                           []string // of the pod template
}

var (
	rollouts          = otherKind{"rollouts", "v1alpha1", "argoproj.io", "Rollout", []string{"spec", "template"}}
	cloneSets         = otherKind{"clonesets", "v1alpha1", "apps.kruise.io", "CloneSet", []string{"spec", "template"}}
	advancedSets      = otherKind{"statefulsets", "v1beta1", "apps.kruise.io", "StatefulSet", []string{"spec", "template"}}
	deploymentConfigs = otherKind{"deploymentconfigs", "v1", "apps.openshift.io", "DeploymentConfig", []string{"spec", "template"}}
	gadgets           = otherKind{"gadgets", "v1", "test.example.com", "Gadget", []string{"spec", "job", "template"}}
	latecomers        = otherKind{"latecomers", "v1", "late.example.com", "Latecomer", []string{"spec", "template"}}

	otherKinds = []otherKind{rollouts, cloneSets, advancedSets, deploymentConfigs, gadgets, latecomers}
)

// flag is what the controller and the plugin are asked for.
func (k otherKind) flag() string {
	flag := "--workload=" + k.resource + "." + k.version + "." + k.group
	if path := "." + strings.Join(k.path, "."); path != ".spec.template" {
		flag += "=" + path
	}
	return flag
}

// name is how the controller calls the kind.
func (k otherKind) name() string { return k.resource + "." + k.group }

func (k otherKind) apiVersion() string { return k.group + "/" + k.version }

func (k otherKind) groupResource() schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: k.group, Version: k.version, Resource: k.resource}
}

// definition is the CustomResourceDefinition.
func (k otherKind) definition() string {
	return fmt.Sprintf(`apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: %[1]s.%[3]s, annotations: {api-approved.kubernetes.io: "https://github.com/kubernetes/kubernetes/pull/1"}}
spec:
  group: %[3]s
  scope: Namespaced
  names: {plural: %[1]s, singular: %[4]s, kind: %[5]s, listKind: %[5]sList}
  versions:
    - name: %[2]s
      served: true
      storage: true
      subresources: {status: {}}
      schema:
        openAPIV3Schema:
          type: object
          properties:
            spec: {type: object, x-kubernetes-preserve-unknown-fields: true}
            status: {type: object, x-kubernetes-preserve-unknown-fields: true}
---
`, k.resource, k.version, k.group, strings.ToLower(k.kind), k.kind)
}

// otherKindNamed returns the kind of a workload, which has the name that the controller gives to the kind: the API spells
// some of them like kinds of Kubernetes.
func otherKindNamed(name string) (otherKind, bool) {
	for _, k := range otherKinds {
		if k.name() == name {
			return k, true
		}
	}
	return otherKind{}, false
}

// define makes the API server know kinds, and returns when it does.
func (s *scene) define(kinds ...otherKind) {
	s.Helper()
	for _, k := range kinds {
		s.must(s.applyDefinition(k.definition()))
		s.eventually("the kind "+k.name()+" is served", func(ctx context.Context) error {
			_, err := s.others(k).List(ctx, metav1.ListOptions{})
			return err
		})
	}
}

// defining is held while a kind is defined: if two tests define the same one at once, kubectl apply fails for one of them.
var defining sync.Mutex

func (s *scene) applyDefinition(definition string) error {
	defining.Lock()
	defer defining.Unlock()
	_, err := s.cluster.Apply(s.Context(), []byte(definition))
	return err
}

func (s *scene) others(k otherKind) dynamic.ResourceInterface {
	s.Helper()
	client, err := dynamic.NewForConfig(s.cluster.Config())
	s.must(err)
	return client.Resource(k.groupResource()).Namespace(s.namespace)
}

// allow grants the controller what it needs for a kind that no manifest names.
func (s *scene) allow(k otherKind) {
	s.Helper()
	role := fmt.Sprintf(`apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: other-kind, namespace: %[1]s}
rules: [{apiGroups: [%[2]s], resources: [%[3]s], verbs: [list, watch, get, patch]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: other-kind, namespace: %[1]s}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: other-kind}
subjects: [{kind: ServiceAccount, name: %[4]s, namespace: %[5]s}]
`, s.namespace, k.group, k.resource, s.installation.ServiceAccount, s.installation.Namespace)
	_, err := s.cluster.Apply(s.Context(), []byte(role))
	s.must(err)
}

// runOther creates a workload of two replicas that has opted in. Nobody makes its pods; see [scene.replacePods].
func (s *scene) runOther(k otherKind, name string, pod corev1.PodSpec, adjust ...func(spec map[string]any)) workload {
	s.Helper()
	return s.runOtherAs(k, name, enabled(), pod, adjust...)
}

// runOtherAs is runOther of a workload with these annotations.
func (s *scene) runOtherAs(k otherKind, name string, annotations map[string]string, pod corev1.PodSpec, adjust ...func(spec map[string]any)) workload {
	s.Helper()
	template := podTemplate(name, pod)
	encoded, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&template)
	s.must(err)
	spec := map[string]any{"replicas": int64(2), "selector": map[string]any{"matchLabels": map[string]any{"app": name}}}
	s.must(unstructured.SetNestedField(spec, encoded, k.path[1:]...))
	for _, adjust := range adjust {
		adjust(spec)
	}
	object := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": k.apiVersion(), "kind": k.kind, "metadata": map[string]any{"name": name}, "spec": spec,
	}}
	object.SetAnnotations(annotations)
	_, err = s.others(k).Create(s.Context(), object, metav1.CreateOptions{})
	s.must(err)
	return workload{k.name(), name}
}

// lookOther is look at a workload of another kind. Each change of its spec counts as a template.
func (s *scene) lookOther(ctx context.Context, w workload) (state, error) {
	k, found := otherKindNamed(w.kind)
	if !found {
		return state{}, fmt.Errorf("no such kind: %s", w.kind)
	}
	object, err := s.others(k).Get(ctx, w.name, metav1.GetOptions{})
	if err != nil {
		return state{}, err
	}
	st := state{template: &corev1.PodTemplateSpec{}}
	encoded, err := json.Marshal(object.Object["metadata"])
	if err == nil {
		err = json.Unmarshal(encoded, &st.ObjectMeta)
	}
	if err != nil {
		return state{}, err
	}
	template, _, err := unstructured.NestedMap(object.Object, k.path...)
	if err == nil && template != nil {
		err = runtime.DefaultUnstructuredConverter.FromUnstructured(template, st.template)
	}
	spec := object.Object["spec"]
	st.spec = &spec
	return st, err
}

// replacePods plays the controller of a workload: it replaces the pods by two of the present template, and returns when
// they run.
func (s *scene) replacePods(w workload, labels ...string) {
	s.Helper()
	now, err := s.lookOther(s.Context(), w)
	s.must(err)
	k, _ := otherKindNamed(w.kind)
	pods := s.client.CoreV1().Pods(s.namespace)
	s.must(pods.DeleteCollection(s.Context(), metav1.DeleteOptions{GracePeriodSeconds: new(int64(0))}, metav1.ListOptions{LabelSelector: "app=" + w.name}))
	for range 2 {
		pod := &corev1.Pod{ObjectMeta: *now.template.ObjectMeta.DeepCopy(), Spec: *now.template.Spec.DeepCopy()}
		pod.GenerateName = w.name + "-"
		for i := 0; i+1 < len(labels); i += 2 {
			pod.Labels[labels[i]] = labels[i+1]
		}
		pod.OwnerReferences = []metav1.OwnerReference{{APIVersion: k.apiVersion(), Kind: k.kind, Name: w.name, UID: now.UID, Controller: new(true)}}
		_, err := pods.Create(s.Context(), pod, metav1.CreateOptions{})
		s.must(err)
	}
	s.eventually("the new pods of "+w.name+" run", func(ctx context.Context) error {
		list, err := pods.List(ctx, metav1.ListOptions{LabelSelector: "app=" + w.name})
		if err != nil {
			return err
		}
		ready := 0
		for i := range list.Items {
			for _, condition := range list.Items[i].Status.Conditions {
				if condition.Type == corev1.PodReady && condition.Status == corev1.ConditionTrue {
					ready++
				}
			}
		}
		if ready != 2 || len(list.Items) != 2 {
			return fmt.Errorf("%d of %d pods run", ready, len(list.Items))
		}
		return nil
	})
}

// setStatus plays the controller of a workload: it replaces the status, in which GENERATION stands for the present one.
func (s *scene) setStatus(w workload, status string) {
	s.Helper()
	k, _ := otherKindNamed(w.kind)
	now, err := s.lookOther(s.Context(), w)
	s.must(err)
	status = strings.ReplaceAll(status, "GENERATION", fmt.Sprint(now.Generation))
	_, err = s.others(k).Patch(s.Context(), w.name, types.MergePatchType, []byte(`{"status":`+status+`}`), metav1.PatchOptions{FieldManager: "operator"}, "status")
	s.must(err)
}

// awaitLine waits until the controller has logged a line with these parts.
func (s *scene) awaitLine(parts ...string) {
	s.Helper()
	s.eventually(fmt.Sprintf("the log says %q", parts), func(context.Context) error {
		if len(s.controller.Log().Containing(parts...)) == 0 {
			return errors.New("it does not")
		}
		return nil
	})
}
