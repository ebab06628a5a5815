package main

import (
	"context"
	"errors"
	"fmt"
	"maps"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"kubernetes-deployment-restart-controller/test/harness"
)

// reachTarget is how much memory the controller may take, compared with its defaults, if it also
// watches Namespaces and 1,000 objects of another kind.
const reachTarget = 1.15

var (
	gadgets = schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "gadgets"}
	// reachFlags let the controller watch all that the cluster of these rows holds.
	reachFlags = []string{"--namespace-annotations", "--workload=gadgets.v1.example.com"}
)

// gadgetManifest defines the other kind, and grants a ServiceAccount what the controller needs for it.
const gadgetManifest = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: gadgets.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: gadgets, singular: gadget, kind: Gadget, listKind: GadgetList}
  versions:
    - name: v1
      served: true
      storage: true
      schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: bench-gadgets}
rules: [{apiGroups: [example.com], resources: [gadgets], verbs: [list, watch, get, patch]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: bench-gadgets}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: bench-gadgets}
subjects: [{kind: ServiceAccount, name: %s, namespace: %s}]
`

// measureReach measures starts of the controller in the cluster of the memory rows, which also has
// enabled objects of another kind: in turns with the defaults, which ignore them, and with flags by
// which it watches them and the Namespaces, and so follows twice as many workloads.
func (b *bench) measureReach(ctx context.Context) ([]row, error) {
	p := population{configs: b.configs, configSize: configSize, keys: smallKeys, deployments: b.deployments}
	var defaults, reach starts
	err := b.onOwnStage(ctx, func(s *stage) error {
		if err := b.fill(ctx, s, p); err != nil {
			return err
		}
		if err := b.recordAll(ctx, s, p.deployments); err != nil {
			return err
		}
		objects, err := b.recordGadgets(ctx, s, p)
		if err != nil {
			return err
		}
		before, err := s.allVersions(ctx, objects)
		if err != nil {
			return err
		}
		for turn := range 2 * b.repetitions {
			measured, flags := &defaults, []string(nil)
			if turn%4 == 1 || turn%4 == 2 { // in the order A B B A
				measured, flags = &reach, reachFlags
			}
			if err := b.measureStart(ctx, s, measured, flags...); err != nil {
				return err
			}
		}
		after, err := s.allVersions(ctx, objects)
		if err == nil && !maps.Equal(before, after) {
			err = errors.New("workloads were written to although nothing had changed")
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	what := fmt.Sprintf("the same with Namespaces watched and %d objects of another kind, ", b.deployments)
	return []row{
		beside("resident memory with the objects of another kind ignored, steady", defaults.steady, "%.1f", "MiB"),
		timesUpTo(what+"steady", reachTarget, reach.steady, defaults.steady),
		beside("resident memory with the objects of another kind ignored, peak", defaults.peak, "%.1f", "MiB"),
		timesUpTo(what+"peak", reachTarget, reach.peak, defaults.peak),
	}, nil
}

// timesUpTo makes a row whose median is to be at most so many times another one.
func timesUpTo(what string, target float64, measured, reference samples) row {
	ratio := measured.median() / reference.median()
	return row{
		what:     what,
		target:   fmt.Sprintf("≤ %g times", target),
		measured: fmt.Sprintf("%s: %.2f times", measured.spread("%.1f", "MiB"), ratio),
		missed:   ratio > target,
	}
}

// recordGadgets makes as many Gadgets as there are Deployments, with the same pod templates, and lets
// a controller write their records.
func (b *bench) recordGadgets(ctx context.Context, s *stage, p population) (dynamic.NamespaceableResourceInterface, error) {
	b.progress.say("creating %d Gadgets and recording their checksums", p.deployments)
	objects, err := s.defineGadgets(ctx)
	if err != nil {
		return nil, err
	}
	err = inParallel(ctx, writers, p.deployments, func(ctx context.Context, number int) error {
		d := p.deployment(fmt.Sprintf("gadget-%04d", number), number)
		content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(d)
		if err != nil {
			return fmt.Errorf("convert a Deployment: %w", err)
		}
		delete(content, "status")
		gadget := &unstructured.Unstructured{Object: content}
		gadget.SetGroupVersionKind(gadgets.GroupVersion().WithKind("Gadget"))
		_, err = objects.Namespace(d.Namespace).Create(ctx, gadget, metav1.CreateOptions{})
		return wrapCreate(err, "gadget", d)
	})
	if err != nil {
		return nil, err
	}
	return objects, s.withController(ctx, func(*harness.Controller) error {
		return awaitRecorded(ctx, objects)
	}, append([]string{"--restart-grace-period=0", "--kube-api-qps=100000", "--kube-api-burst=100000"}, reachFlags...)...)
}

// defineGadgets makes the API server know the kind, and returns when it does.
func (s *stage) defineGadgets(ctx context.Context) (dynamic.NamespaceableResourceInterface, error) {
	if err := s.install(ctx, "rbac.yaml", "rbac-namespaces.yaml"); err != nil {
		return nil, err
	}
	manifest := fmt.Appendf(nil, gadgetManifest, s.installation.ServiceAccount, s.installation.Namespace)
	if _, err := s.cluster.Apply(ctx, manifest); err != nil {
		return nil, fmt.Errorf("define gadgets: %w", err)
	}
	config := s.cluster.Config()
	config.QPS = -1
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("make a client: %w", err)
	}
	objects := client.Resource(gadgets)
	return objects, awaitRecorded(ctx, objects)
}

func awaitRecorded(ctx context.Context, objects dynamic.ResourceInterface) error {
	return harness.Eventually(ctx, recordLimit, func(ctx context.Context) error {
		_, err := recordedGadgets(ctx, objects)
		return err
	})
}

// recordedGadgets returns the resource versions of all Gadgets, and an error if one has no record.
func recordedGadgets(ctx context.Context, objects dynamic.ResourceInterface) (map[string]string, error) {
	list, err := objects.List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("list gadgets: %w", err)
	}
	versions := make(map[string]string, len(list.Items))
	for i := range list.Items {
		gadget := &list.Items[i]
		if _, recorded := gadget.GetAnnotations()[checksumsAnnotation]; !recorded {
			return nil, fmt.Errorf("%s has no record", gadget.GetName())
		}
		versions[gadget.GetName()] = gadget.GetResourceVersion()
	}
	return versions, nil
}

// allVersions returns the resource versions of all Deployments and Gadgets.
func (s *stage) allVersions(ctx context.Context, objects dynamic.ResourceInterface) (map[string]string, error) {
	versions, err := s.deploymentVersions(ctx)
	if err != nil {
		return nil, err
	}
	ofGadgets, err := recordedGadgets(ctx, objects)
	maps.Copy(versions, ofGadgets)
	return versions, err
}
