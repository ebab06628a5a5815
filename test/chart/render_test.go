package chart

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/kubernetes/scheme"
	sigsyaml "sigs.k8s.io/yaml"

	"kubernetes-deployment-restart-controller/test/harness"
)

// values are those that a user sets.
type values map[string]any

// The release of the tests has the namespace of the plain manifests.
const (
	release   = "restarts"
	namespace = "deployment-restart-controller"
	name      = "kubernetes-deployment-restart-controller"
)

// objects are API objects by kind, namespace and name, as id writes them.
type objects map[string]*unstructured.Unstructured

func id(object *unstructured.Unstructured) string {
	return object.GetKind() + " " + object.GetNamespace() + "/" + object.GetName()
}

// names returns the sorted ids, for a failing test to show.
func (o objects) names() []string { return slices.Sorted(maps.Keys(o)) }

// render renders the chart.
func render(t *testing.T, v values, arguments ...string) objects {
	t.Helper()
	rendered, err := template(t, v, arguments...)
	if err != nil {
		t.Fatal(err)
	}
	return decode(t, rendered)
}

func template(t *testing.T, v values, arguments ...string) ([]byte, error) {
	t.Helper()
	chart, err := harness.Chart()
	if err != nil {
		t.Fatal(err)
	}
	arguments = append([]string{"template", release, chart, "--namespace=" + namespace, "--values=" + fileOf(t, v)}, arguments...)
	return harness.Helm(t.Context(), t.TempDir(), arguments...)
}

// fileOf writes the values to a file.
func fileOf(t *testing.T, v values) string {
	t.Helper()
	encoded, err := sigsyaml.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "values.yaml")
	if err := os.WriteFile(path, encoded, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// decode reads YAML documents and requires that Kubernetes knows all their fields.
func decode(t *testing.T, encoded []byte) objects {
	t.Helper()
	found := objects{}
	documents := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(encoded), 4096)
	for {
		var raw runtime.RawExtension
		if err := documents.Decode(&raw); errors.Is(err, io.EOF) {
			return found
		} else if err != nil {
			t.Fatalf("%v in:\n%s", err, encoded)
		}
		if len(raw.Raw) == 0 || string(raw.Raw) == "null" {
			continue
		}
		object := &unstructured.Unstructured{}
		if err := json.Unmarshal(raw.Raw, object); err != nil {
			t.Fatalf("%v in:\n%s", err, raw.Raw)
		}
		requireKnownFields(t, object, raw.Raw)
		if _, isThere := found[id(object)]; isThere {
			t.Errorf("there are two of %s", id(object))
		}
		found[id(object)] = object
	}
}

var strict = serializer.NewCodecFactory(scheme.Scheme, serializer.EnableStrict).UniversalDeserializer()

// requireKnownFields decodes the object into its Go type. Those of the Prometheus operator
// have none here.
func requireKnownFields(t *testing.T, object *unstructured.Unstructured, encoded []byte) {
	t.Helper()
	if object.GroupVersionKind().Group == "monitoring.coreos.com" {
		return
	}
	if _, _, err := strict.Decode(encoded, nil, nil); err != nil {
		t.Errorf("%s: %v in:\n%s", id(object), err, encoded)
	}
}

// as converts an object to its Go type.
func as[T any](t *testing.T, all objects, id string) *T {
	t.Helper()
	object, isThere := all[id]
	if !isThere {
		t.Fatalf("there is no %s among %q", id, all.names())
	}
	var typed T
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &typed); err != nil {
		t.Fatal(err)
	}
	return &typed
}

// What the chart adds to each object, or to those that survive an uninstall.
var (
	addedLabels      = []string{"app.kubernetes.io/name", "app.kubernetes.io/instance", "app.kubernetes.io/version", "app.kubernetes.io/managed-by", "helm.sh/chart"}
	addedAnnotations = []string{"helm.sh/resource-policy"}
)

// withoutAdditions removes what the chart adds to an object, except for labels that the
// counterpart has, too.
func withoutAdditions(object, counterpart metav1.Object) {
	object.SetLabels(without(object.GetLabels(), counterpart.GetLabels(), addedLabels))
	object.SetAnnotations(without(object.GetAnnotations(), counterpart.GetAnnotations(), addedAnnotations))
}

func without(all, kept map[string]string, removed []string) map[string]string {
	maps.DeleteFunc(all, func(key, _ string) bool {
		_, isKept := kept[key]
		return slices.Contains(removed, key) && !isKept
	})
	if len(all) == 0 {
		return nil
	}
	return all
}
