package main

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

func TestAGadgetIsReadAsItWasWritten(t *testing.T) {
	for _, d := range newWorld(rand.New(rand.NewPCG(1, 0)), defaultWorkloads).workloads {
		if d.kind != gadgetKind {
			continue
		}
		object, err := d.object()
		if err != nil {
			t.Fatal(err)
		}
		g, err := readGadget(object)
		if err != nil {
			t.Fatal(err)
		}
		if want := d.gadget(); !cmp.Equal(g.Spec, want.Spec) || !cmp.Equal(g.Labels, want.Labels) || g.Name != d.name || g.Namespace != d.namespace {
			t.Fatalf("it reads\n%+v, want\n%+v", g, want)
		}
	}
}

func TestADeploymentRunsTheGenerationOfItsGadget(t *testing.T) {
	d := &workload{kind: gadgetKind, namespace: "soak-1", name: "app-4", replicas: 2, enabled: true}
	g := d.gadget()
	g.UID, g.Generation = types.UID("1"), 3
	runs := g.deployment()
	if !g.isRunBy(runs) || isEnabled(runs) {
		t.Errorf("it does not run the Gadget, or is enabled: %+v", runs)
	}
	for name, change := range map[string]func(){
		"of another generation": func() { g.Generation++ },
		"of another Gadget":     func() { g.UID = "2" },
	} {
		if change(); g.isRunBy(runs) {
			t.Errorf("%s, it runs it", name)
		}
		g.UID, g.Generation = types.UID("1"), 3
	}
	if g.isRunBy(&appsv1.Deployment{}) {
		t.Error("an empty one runs it")
	}
}

func TestARestartByEvictionIsDatedByItsRecord(t *testing.T) {
	written := time.Date(2026, 1, 20, 12, 0, 7, 0, time.UTC)
	fields := func(annotation string) []metav1.ManagedFieldsEntry {
		raw := metav1.NewFieldsV1(`{"f:metadata":{"f:annotations":{"f:` + annotation + `":{}}}}`)
		return []metav1.ManagedFieldsEntry{{Time: &metav1.Time{Time: written.Add(time.Hour)}, FieldsV1: metav1.NewFieldsV1(`{}`)}, {Time: &metav1.Time{Time: written}, FieldsV1: raw}}
	}
	for name, c := range map[string]struct {
		basis string
		owned string
		want  time.Time
	}{
		"that has just begun":        {`{"evict":"now"}`, basisAnnotation, written.Add(time.Second)},
		"that began before":          {`{"evict":"2026-01-20T11:00:00Z"}`, basisAnnotation, time.Date(2026, 1, 20, 11, 0, 1, 0, time.UTC)},
		"that nobody has written":    {`{"evict":"now"}`, "other", time.Time{}},
		"of which there is none":     {`{}`, basisAnnotation, time.Time{}},
		"of which the basis is none": {``, basisAnnotation, time.Time{}},
	} {
		object := &metav1.ObjectMeta{Annotations: map[string]string{basisAnnotation: c.basis}, ManagedFields: fields(c.owned)}
		if got := evictedAt(object); !got.Equal(c.want) {
			t.Errorf("one %s is dated %s, want %s", name, got, c.want)
		}
	}
}
