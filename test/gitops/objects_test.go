package gitops

import (
	"fmt"
	"os"
	"path/filepath"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"pgregory.net/rapid"
	"sigs.k8s.io/yaml"

	"kubernetes-deployment-restart-controller/test/harness"
)

const (
	enabledAnnotation = "com.xing.deployment-restart"
	basisAnnotation   = "com.xing.deployment-restart.applied-config-basis"
)

// readExample decodes a file of examples/gitops.
func readExample(t rapid.TB, name string, into any) {
	t.Helper()
	root, err := harness.RepositoryRoot()
	if err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(filepath.Join(root, "examples", "gitops", name))
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(content, into); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
}

// deployment returns a Deployment of generation 3 with these members of its spec and its status, in YAML.
func deployment(spec, status string) string { return object("Deployment", spec, status) }

// statefulSet returns a StatefulSet that wants two pods.
func statefulSet(strategy, status string) string {
	return object("StatefulSet", "replicas: 2, updateStrategy: "+strategy, status)
}

func daemonSet(strategy, status string) string {
	return object("DaemonSet", "updateStrategy: {type: "+strategy+"}", status)
}

func object(kind, spec, status string) string {
	return fmt.Sprintf("{apiVersion: apps/v1, kind: %s, metadata: {name: web, generation: 3}, spec: {%s}, status: {%s}}", kind, spec, status)
}

// parse decodes an object as a client reads it. A status without observedGeneration is of the present generation.
func parse(t rapid.TB, text string) *unstructured.Unstructured {
	t.Helper()
	encoded, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	read := &unstructured.Unstructured{}
	if err := read.UnmarshalJSON(encoded); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	if current, has := read.Object["status"].(map[string]any); has && current["observedGeneration"] == nil {
		current["observedGeneration"] = read.GetGeneration()
	}
	return read
}

// mark gives an object the annotations of a workload whose restart waits.
func mark(object *unstructured.Unstructured) {
	object.SetAnnotations(map[string]string{
		enabledAnnotation: "enabled",
		basisAnnotation:   `{"scheme":"keyed-v2","template":"6cc9f36512ded4f2","written":"2026-01-20T19:45:16Z","timestamp":"","contradicted":"2026-01-20T19:46:01Z"}`,
	})
}

// optOut takes back what enabled the workload; the annotations that the controller has written stay.
func optOut(object *unstructured.Unstructured) {
	annotations := object.GetAnnotations()
	delete(annotations, enabledAnnotation)
	object.SetAnnotations(annotations)
}
