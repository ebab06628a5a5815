package catalog

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

// The fingerprints are those that were computed with k8s.io/api v0.36.3.
func TestFingerprintsAreThoseOfEarlierVersions(t *testing.T) {
	type fingerprints struct{ Template, PodTemplate, Revision string }
	var want map[string]fingerprints
	readJSON(t, "testdata/earlier-fingerprints.json", &want)
	got := map[string]fingerprints{}
	for name, template := range storedTemplates(t) {
		full, err1 := fingerprint(template)
		bare, err2 := fingerprint(template, TimestampAnnotation)
		revision, err3 := RevisionFingerprint(template)
		if err1 != nil || err2 != nil || err3 != nil {
			t.Fatal(err1, err2, err3)
		}
		got[name] = fingerprints{Template: bare.String(), PodTemplate: full.String(), Revision: revision.String()}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("fingerprints (-want +got):\n%s", diff)
	}
}
