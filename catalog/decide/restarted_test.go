package decide

import (
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kubernetes-deployment-restart-controller/catalog/catalogtest"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/objecttest"
	"kubernetes-deployment-restart-controller/catalog/record"
)

func TestTheRecordOfARestartSaysWhatItWasFor(t *testing.T) {
	decision := Decision{Causes: []Cause{
		{Config: objecttest.ConfigMapRef("all-known"), Keys: []string{"LOG_LEVEL", "PORT"}, Moments: []names.Sequence{7}},
		{Config: objecttest.ConfigMapRef("too-many"), Keys: []string{"LOG_LEVEL"}, MoreKeys: 1, Moments: []names.Sequence{7}},
		{Config: objecttest.ConfigMapRef("unseen-edits-too"), Keys: []string{"LOG_LEVEL"}, Unnamed: true, Moments: []names.Sequence{0, 7}},
		{Config: objecttest.SecretRef("db"), Keys: []string{"password"}, Moments: []names.Sequence{7}},
	}}
	const want = `"for":{"configmap/all-known":["LOG_LEVEL","PORT"],"configmap/too-many":[],"configmap/unseen-edits-too":[],"secret/db":[]}`
	if got := catalogtest.BasisFor(t, record.Checksums{}, decision.RestartedFor()); !strings.Contains(got, want) {
		t.Errorf("basis %s lacks %s", got, want)
	}
	if got := catalogtest.BasisFor(t, record.Checksums{}, (&Decision{}).RestartedFor()); strings.Contains(got, "for") {
		t.Errorf("basis %s of a restart for no config", got)
	}
}

func TestAMarkKeepsWhatTheRestartWasFor(t *testing.T) {
	s := begin(catalogtest.RecordedFor(`"for":{"configmap/web":["a"]}`))
	s.listed()
	s.catalog.SetKey(catalogtest.TestKey)
	view, _ := s.catalog.View(objecttest.DeploymentRef("web"))
	annotations, marks, err := Mark(&view, objecttest.NoonPlus(20), false)
	if !marks || err != nil {
		t.Fatalf("marks: %t, %v", marks, err)
	}
	maps.Copy(s.deployment.Annotations, annotations)
	want := []record.Restarted{{Config: objecttest.ConfigMapRef("web"), Keys: []string{"a"}}}
	if marked := s.reduced().Record; !marked.Marked || cmp.Diff(want, marked.RestartedFor) != "" {
		t.Errorf("marked record %+v", marked)
	}
}
