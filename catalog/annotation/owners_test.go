package annotation_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubernetes-deployment-restart-controller/catalog/annotation"
	"kubernetes-deployment-restart-controller/catalog/catalogtest"
	"kubernetes-deployment-restart-controller/catalog/content"
	"kubernetes-deployment-restart-controller/catalog/objecttest"
)

func TestEditsAreReadFromTheManagedFields(t *testing.T) {
	raw := func(fields string) metav1.ManagedFieldsEntry {
		entry := objecttest.Owns("someone", objecttest.NoonPlus(60))
		entry.FieldsV1 = metav1.NewFieldsV1(fields)
		return entry
	}
	for name, test := range map[string]struct {
		entries []metav1.ManagedFieldsEntry
		want    []annotation.Edit
	}{
		"no entry": {},
		"each key has the time of its owner's last write": {
			[]metav1.ManagedFieldsEntry{
				objecttest.Owns("helm", objecttest.NoonPlus(60), "f:data/.", "f:data/f:b", "f:data/f:a"),
				objecttest.Owns("kubectl", objecttest.NoonPlus(90), "f:data/f:c", "f:binaryData/f:bin"),
			},
			[]annotation.Edit{
				{Key: "a", At: objecttest.NoonPlus(60), Writer: "helm"}, {Key: "b", At: objecttest.NoonPlus(60), Writer: "helm"},
				{Key: "bin", At: objecttest.NoonPlus(90), Writer: "kubectl"}, {Key: "c", At: objecttest.NoonPlus(90), Writer: "kubectl"},
			},
		},
		"of two owners the later counts": {
			[]metav1.ManagedFieldsEntry{objecttest.Owns("x", objecttest.NoonPlus(90), "f:data/f:a"), objecttest.Owns("y", objecttest.NoonPlus(60), "f:data/f:a")},
			[]annotation.Edit{{Key: "a", At: objecttest.NoonPlus(90), Writer: "x"}},
		},
		"the keys of a Secret applied with stringData": {
			[]metav1.ManagedFieldsEntry{objecttest.Owns("kubectl", objecttest.NoonPlus(60), "f:stringData/f:a")},
			[]annotation.Edit{{Key: "a", At: objecttest.NoonPlus(60), Writer: "kubectl"}},
		},
		"a key with a strange name": {
			[]metav1.ManagedFieldsEntry{raw(`{"f:data":{"f:f:.":{}}}`)},
			[]annotation.Edit{{Key: "f:.", At: objecttest.NoonPlus(60), Writer: "someone"}},
		},
		"the second of the creation says nothing": {
			[]metav1.ManagedFieldsEntry{objecttest.Owns("kubectl", objecttest.Noon, "f:data/f:a")}, nil,
		},
		"an entry from before the creation says nothing": {
			[]metav1.ManagedFieldsEntry{objecttest.Owns("kubectl", objecttest.NoonPlus(-60), "f:data/f:a")}, nil,
		},
		"labels and annotations are no content": {
			[]metav1.ManagedFieldsEntry{objecttest.Owns("kubectl", objecttest.NoonPlus(60), objecttest.AnnotationField("x"), "f:metadata/f:labels/f:data", "f:immutable")}, nil,
		},
		"the data as a whole is no key": {
			[]metav1.ManagedFieldsEntry{objecttest.Owns("kubectl", objecttest.NoonPlus(60), "f:data/.")}, nil,
		},
		"an entry without a time": {
			[]metav1.ManagedFieldsEntry{{Manager: "x", FieldsV1: metav1.NewFieldsV1(`{"f:data":{"f:a":{}}}`)}}, nil,
		},
		"an entry without fields": {[]metav1.ManagedFieldsEntry{{Manager: "x", Time: objecttest.Stamp(objecttest.NoonPlus(60))}}, nil},
		"broken JSON":             {[]metav1.ManagedFieldsEntry{raw(`{"f:data":{"f:a":{}`)}, nil},
		"JSON of another shape":   {[]metav1.ManagedFieldsEntry{raw(`{"f:data":["f:a"]}`)}, nil},
		"a broken entry does not hide a whole one": {
			[]metav1.ManagedFieldsEntry{raw(`{`), objecttest.Owns("kubectl", objecttest.NoonPlus(90), "f:data/f:a")},
			[]annotation.Edit{{Key: "a", At: objecttest.NoonPlus(90), Writer: "kubectl"}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			cm := objecttest.ConfigMap("web", nil)
			cm.ManagedFields = test.entries
			if diff := cmp.Diff(test.want, content.NewConfigMap(cm).Edits, cmp.AllowUnexported(annotation.Edit{})); diff != "" {
				t.Errorf("edits (-want +got):\n%s", diff)
			}
		})
	}
}

func TestTheOptInDatesFromTheEarliestKnownTime(t *testing.T) {
	optIn := objecttest.AnnotationField(annotation.EnabledAnnotation)
	ours := objecttest.AnnotationField(annotation.BasisAnnotation)
	for name, test := range map[string]struct {
		entries []metav1.ManagedFieldsEntry
		want    time.Time
	}{
		"nobody is known to own it":    {nil, time.Time{}},
		"the owner's last write":       {[]metav1.ManagedFieldsEntry{objecttest.Owns("kubectl", objecttest.NoonPlus(60), optIn)}, objecttest.NoonPlus(60)},
		"somebody else's write":        {[]metav1.ManagedFieldsEntry{objecttest.Owns("kubectl", objecttest.NoonPlus(60), "f:spec/f:replicas")}, time.Time{}},
		"the first of two owners":      {[]metav1.ManagedFieldsEntry{objecttest.Owns("a", objecttest.NoonPlus(90), optIn), objecttest.Owns("b", objecttest.NoonPlus(60), optIn)}, objecttest.NoonPlus(60)},
		"our record, if it is earlier": {[]metav1.ManagedFieldsEntry{objecttest.Owns("a", objecttest.NoonPlus(90), optIn), objecttest.Owns(annotation.FieldManager, objecttest.NoonPlus(60), ours)}, objecttest.NoonPlus(60)},
		"the owner, if it is earlier":  {[]metav1.ManagedFieldsEntry{objecttest.Owns("a", objecttest.NoonPlus(30), optIn), objecttest.Owns(annotation.FieldManager, objecttest.NoonPlus(60), ours)}, objecttest.NoonPlus(30)},
		"a copied record tells nothing": {
			[]metav1.ManagedFieldsEntry{objecttest.Owns("a", objecttest.NoonPlus(90), optIn), objecttest.Owns("kubectl", objecttest.NoonPlus(60), ours)}, objecttest.NoonPlus(90),
		},
		"an entry without a time": {
			[]metav1.ManagedFieldsEntry{{Manager: "a", FieldsV1: objecttest.Owns("a", objecttest.Noon, optIn).FieldsV1}, objecttest.Owns("b", objecttest.NoonPlus(60), optIn)}, objecttest.NoonPlus(60),
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := objecttest.Deployment(objecttest.ReadsAll("web", false))
			d.ManagedFields = test.entries
			if got := catalogtest.MustWorkload(d).OptedIn; !got.Equal(test.want) {
				t.Errorf("opted in by %v, want %v", got, test.want)
			}
		})
	}
}

func FuzzManagedFieldsOfAnyFormGiveSortedEdits(f *testing.F) {
	f.Add([]byte(`{"f:data":{".":{},"f:a":{},"f:b":{}},"f:binaryData":{"f:a":{}}}`))
	f.Add([]byte(`{"f:metadata":{"f:annotations":{"f:com.xing.deployment-restart":{}}}}`))
	f.Add([]byte(`{"f:data":null}`))
	f.Add([]byte(`[]`))
	f.Add([]byte(``))
	f.Fuzz(func(t *testing.T, raw []byte) {
		cm := objecttest.ConfigMap("web", nil)
		cm.ManagedFields = []metav1.ManagedFieldsEntry{{Time: objecttest.Stamp(objecttest.NoonPlus(60)), FieldsV1: metav1.NewFieldsV1(string(raw))}}
		var names []string
		for _, edit := range content.NewConfigMap(cm).Edits {
			if want := (annotation.Edit{Key: edit.Key, At: objecttest.NoonPlus(60)}); edit != want {
				t.Fatalf("edit %+v, want %+v", edit, want)
			}
			names = append(names, edit.Key)
		}
		if !slices.IsSorted(names) || len(slices.Compact(slices.Clone(names))) != len(names) {
			t.Fatalf("keys %q", names)
		}
	})
}
