package record

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
)

// storedTemplates are pod templates of many kinds, by name.
func storedTemplates(t testing.TB) map[string]*corev1.PodTemplateSpec {
	t.Helper()
	paths, err := filepath.Glob("testdata/templates/*.json")
	if err != nil || len(paths) == 0 {
		t.Fatalf("%d templates, %v", len(paths), err)
	}
	templates := map[string]*corev1.PodTemplateSpec{}
	for _, path := range paths {
		template := &corev1.PodTemplateSpec{}
		readJSON(t, path, template)
		templates[strings.TrimSuffix(filepath.Base(path), ".json")] = template
	}
	return templates
}

func readJSON(t testing.TB, path string, into any) {
	t.Helper()
	encoded, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(encoded, into); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
}

// The fingerprints were computed with k8s.io/api v0.36.3. None may ever change: they are in the records of all workloads.
func TestFingerprintsAreTheSameWithEachVersionOfTheAPI(t *testing.T) {
	type fingerprintsOf struct {
		Template    string `json:"template"`
		PodTemplate string `json:"podTemplate"`
		Revision    string `json:"revision"`
	}
	var want map[string]fingerprintsOf
	readJSON(t, "testdata/fingerprints.json", &want)
	got := map[string]fingerprintsOf{}
	for name, template := range storedTemplates(t) {
		full, bare := Fingerprints(template)
		got[name] = fingerprintsOf{bare.String(), full.String(), RevisionFingerprint(template).String()}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("fingerprints (-want +got):\n%s", diff)
	}
}
