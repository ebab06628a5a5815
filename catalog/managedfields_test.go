package catalog

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestEditsAreReadFromTheManagedFields(t *testing.T) {
	raw := func(fields string) metav1.ManagedFieldsEntry {
		entry := owns("someone", noonPlus(60))
		entry.FieldsV1 = metav1.NewFieldsV1(fields)
		return entry
	}
	for name, test := range map[string]struct {
		entries []metav1.ManagedFieldsEntry
		want    []Edit
	}{
		"no entry": {},
		"each key has the time of its owner's last write": {
			[]metav1.ManagedFieldsEntry{
				owns("helm", noonPlus(60), "f:data/.", "f:data/f:b", "f:data/f:a"),
				owns("kubectl", noonPlus(90), "f:data/f:c", "f:binaryData/f:bin"),
			},
			[]Edit{
				{Key: "a", At: noonPlus(60), Writer: "helm"}, {Key: "b", At: noonPlus(60), Writer: "helm"},
				{Key: "bin", At: noonPlus(90), Writer: "kubectl"}, {Key: "c", At: noonPlus(90), Writer: "kubectl"},
			},
		},
		"of two owners the later counts": {
			[]metav1.ManagedFieldsEntry{owns("x", noonPlus(90), "f:data/f:a"), owns("y", noonPlus(60), "f:data/f:a")},
			[]Edit{{Key: "a", At: noonPlus(90), Writer: "x"}},
		},
		"the keys of a Secret applied with stringData": {
			[]metav1.ManagedFieldsEntry{owns("kubectl", noonPlus(60), "f:stringData/f:a")},
			[]Edit{{Key: "a", At: noonPlus(60), Writer: "kubectl"}},
		},
		"a key with a strange name": {
			[]metav1.ManagedFieldsEntry{raw(`{"f:data":{"f:f:.":{}}}`)},
			[]Edit{{Key: "f:.", At: noonPlus(60), Writer: "someone"}},
		},
		"the second of the creation says nothing": {
			[]metav1.ManagedFieldsEntry{owns("kubectl", noon, "f:data/f:a")}, nil,
		},
		"an entry from before the creation says nothing": {
			[]metav1.ManagedFieldsEntry{owns("kubectl", noonPlus(-60), "f:data/f:a")}, nil,
		},
		"labels and annotations are no content": {
			[]metav1.ManagedFieldsEntry{owns("kubectl", noonPlus(60), annotationField("x"), "f:metadata/f:labels/f:data", "f:immutable")}, nil,
		},
		"the data as a whole is no key": {
			[]metav1.ManagedFieldsEntry{owns("kubectl", noonPlus(60), "f:data/.")}, nil,
		},
		"an entry without a time": {
			[]metav1.ManagedFieldsEntry{{Manager: "x", FieldsV1: metav1.NewFieldsV1(`{"f:data":{"f:a":{}}}`)}}, nil,
		},
		"an entry without fields": {[]metav1.ManagedFieldsEntry{{Manager: "x", Time: stamp(noonPlus(60))}}, nil},
		"broken JSON":             {[]metav1.ManagedFieldsEntry{raw(`{"f:data":{"f:a":{}`)}, nil},
		"JSON of another shape":   {[]metav1.ManagedFieldsEntry{raw(`{"f:data":["f:a"]}`)}, nil},
		"a broken entry does not hide a whole one": {
			[]metav1.ManagedFieldsEntry{raw(`{`), owns("kubectl", noonPlus(90), "f:data/f:a")},
			[]Edit{{Key: "a", At: noonPlus(90), Writer: "kubectl"}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			cm := configMap("web", nil)
			cm.ManagedFields = test.entries
			if diff := cmp.Diff(test.want, NewConfigMap(cm).Edits, cmp.AllowUnexported(Edit{})); diff != "" {
				t.Errorf("edits (-want +got):\n%s", diff)
			}
		})
	}
}

func TestTheOptInDatesFromTheEarliestKnownTime(t *testing.T) {
	optIn := annotationField(EnabledAnnotation)
	ours := annotationField(BasisAnnotation)
	for name, test := range map[string]struct {
		entries []metav1.ManagedFieldsEntry
		want    time.Time
	}{
		"nobody is known to own it":    {nil, time.Time{}},
		"the owner's last write":       {[]metav1.ManagedFieldsEntry{owns("kubectl", noonPlus(60), optIn)}, noonPlus(60)},
		"somebody else's write":        {[]metav1.ManagedFieldsEntry{owns("kubectl", noonPlus(60), "f:spec/f:replicas")}, time.Time{}},
		"the first of two owners":      {[]metav1.ManagedFieldsEntry{owns("a", noonPlus(90), optIn), owns("b", noonPlus(60), optIn)}, noonPlus(60)},
		"our record, if it is earlier": {[]metav1.ManagedFieldsEntry{owns("a", noonPlus(90), optIn), owns(FieldManager, noonPlus(60), ours)}, noonPlus(60)},
		"the owner, if it is earlier":  {[]metav1.ManagedFieldsEntry{owns("a", noonPlus(30), optIn), owns(FieldManager, noonPlus(60), ours)}, noonPlus(30)},
		"a copied record tells nothing": {
			[]metav1.ManagedFieldsEntry{owns("a", noonPlus(90), optIn), owns("kubectl", noonPlus(60), ours)}, noonPlus(90),
		},
		"an entry without a time": {
			[]metav1.ManagedFieldsEntry{{Manager: "a", FieldsV1: owns("a", noon, optIn).FieldsV1}, owns("b", noonPlus(60), optIn)}, noonPlus(60),
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := deployment(readsAll("web", false))
			d.ManagedFields = test.entries
			if got := mustWorkload(d).OptedIn; !got.Equal(test.want) {
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
		cm := configMap("web", nil)
		cm.ManagedFields = []metav1.ManagedFieldsEntry{{Time: stamp(noonPlus(60)), FieldsV1: metav1.NewFieldsV1(string(raw))}}
		var names []string
		for _, edit := range NewConfigMap(cm).Edits {
			if want := (Edit{Key: edit.Key, At: noonPlus(60)}); edit != want {
				t.Fatalf("edit %+v, want %+v", edit, want)
			}
			names = append(names, edit.Key)
		}
		if !slices.IsSorted(names) || len(slices.Compact(slices.Clone(names))) != len(names) {
			t.Fatalf("keys %q", names)
		}
	})
}
