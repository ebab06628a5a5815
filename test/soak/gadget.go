package main

import (
	"context"
	"fmt"
	"strconv"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/util/retry"

	"kubernetes-deployment-restart-controller/test/harness"
)

// A Gadget is a workload of a kind that the controllers only know by their flag --workload. Its operator runs its
// pods by a Deployment of the same name, which is opted out.

const (
	gadgetKind = "Gadget"
	gadgetFlag = "--workload=gadgets.v1.soak.example.com"
	// widgetFlag names the kind of hostile objects that no API server has decoded.
	widgetFlag = "--workload=widgets.v1.soak.example.com"
	// generationAnnotation on a Deployment says which generation of its Gadget it runs.
	generationAnnotation = "soak.example.com/generation"
)

var gadgets = schema.GroupVersionResource{Group: "soak.example.com", Version: "v1", Resource: "gadgets"}

// gadgetManifest defines the kind and that of Widgets, and grants a ServiceAccount what the controllers need for it.
const gadgetManifest = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: gadgets.soak.example.com}
spec:
  group: soak.example.com
  scope: Namespaced
  names: {plural: gadgets, singular: gadget, kind: Gadget, listKind: GadgetList}
  versions:
    - name: v1
      served: true
      storage: true
      schema:
        openAPIV3Schema:
          type: object
          properties:
            spec: {type: object, x-kubernetes-preserve-unknown-fields: true}
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.soak.example.com}
spec:
  group: soak.example.com
  scope: Namespaced
  names: {plural: widgets, singular: widget, kind: Widget, listKind: WidgetList}
  versions:
    - name: v1
      served: true
      storage: true
      schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: soak-gadgets}
rules: [{apiGroups: [soak.example.com], resources: [gadgets, widgets], verbs: [list, watch, get, patch]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: soak-gadgets}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: soak-gadgets}
subjects: [{kind: ServiceAccount, name: %s, namespace: %s}]
`

// gadget is what the soak reads and writes of one.
type gadget struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              gadgetSpec `json:"spec"`
}

type gadgetSpec struct {
	Replicas *int32                 `json:"replicas"`
	Selector *metav1.LabelSelector  `json:"selector"`
	Template corev1.PodTemplateSpec `json:"template"`
}

func (d *workload) gadget() *gadget {
	return &gadget{ObjectMeta: d.meta(), Spec: gadgetSpec{Replicas: &d.replicas, Selector: d.selector(), Template: d.template()}}
}

// readGadget decodes a Gadget as the API shows it.
func readGadget(object *unstructured.Unstructured) (*gadget, error) {
	g := &gadget{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, g); err != nil {
		return nil, fmt.Errorf("decode %s %s/%s: %w", object.GetKind(), object.GetNamespace(), object.GetName(), err)
	}
	return g, nil
}

// mustReadGadget is readGadget of one that the soak has written.
func mustReadGadget(object *unstructured.Unstructured) *gadget {
	g, err := readGadget(object)
	if err != nil {
		panic(err)
	}
	return g
}

// listGadgets returns all that exist.
func listGadgets(ctx context.Context, objects dynamic.Interface) (all []*gadget, err error) {
	list, err := objects.Resource(gadgets).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("list gadgets: %w", err)
	}
	for i := range list.Items {
		g, err := readGadget(&list.Items[i])
		if err != nil {
			return nil, err
		}
		all = append(all, g)
	}
	return all, nil
}

// defineGadgets makes the API server know the kind, and returns when it does.
func (s *soak) defineGadgets(ctx context.Context) error {
	installation := s.replicas.installation
	manifest := fmt.Appendf(nil, gadgetManifest, installation.ServiceAccount, installation.Namespace)
	if _, err := s.cluster.Apply(ctx, manifest); err != nil {
		return fmt.Errorf("define gadgets: %w", err)
	}
	return harness.Eventually(ctx, setUpLimit, func(ctx context.Context) error {
		_, err := listGadgets(ctx, s.objects)
		return err
	})
}

// operator is the controller of the Gadgets, which no fault concerns.
type operator struct {
	objects dynamic.Interface
	client  kubernetes.Interface
}

// run makes all Deployments as their Gadgets want them, over and over, until the context ends. What fails is
// tried again.
func (o *operator) run(ctx context.Context) {
	done := map[string]string{} // generations by UID
	for ; ctx.Err() == nil; pause(ctx, 200*time.Millisecond) {
		all, err := listGadgets(ctx, o.objects)
		if err != nil {
			continue
		}
		for _, g := range all {
			if generation := g.generation(); done[string(g.UID)] != generation && o.reconcile(ctx, g) == nil {
				done[string(g.UID)] = generation
			}
		}
	}
}

func (g *gadget) generation() string { return strconv.FormatInt(g.Generation, 10) }

// reconcile makes the Deployment of a Gadget what it should be.
func (o *operator) reconcile(ctx context.Context, g *gadget) error {
	deployments := o.client.AppsV1().Deployments(g.Namespace)
	return retry.RetryOnConflict(retry.DefaultRetry, func() error {
		existing, err := deployments.Get(ctx, g.Name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			_, err = deployments.Create(ctx, g.deployment(), metav1.CreateOptions{})
			return err
		}
		if err != nil {
			return err
		}
		wanted := g.deployment()
		existing.Annotations, existing.Spec.Replicas, existing.Spec.Template = wanted.Annotations, wanted.Spec.Replicas, wanted.Spec.Template
		_, err = deployments.Update(ctx, existing, metav1.UpdateOptions{})
		return err
	})
}

// deployment returns the Deployment that runs a Gadget's pods.
func (g *gadget) deployment() *appsv1.Deployment {
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: g.Namespace, Name: g.Name, Labels: g.Labels,
			Annotations:     map[string]string{enabledAnnotation: disabled, generationAnnotation: g.generation()},
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(g, gadgets.GroupVersion().WithKind(gadgetKind))},
		},
		Spec: appsv1.DeploymentSpec{
			Replicas: g.Spec.Replicas, Selector: g.Spec.Selector, Template: g.Spec.Template, RevisionHistoryLimit: new(int32(historyLimit)),
		},
	}
}

// isRunBy reports whether a Deployment runs the present generation of a Gadget.
func (g *gadget) isRunBy(d *appsv1.Deployment) bool {
	return metav1.IsControlledBy(d, g) && d.Annotations[generationAnnotation] == g.generation()
}
