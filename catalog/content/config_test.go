package content

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"kubernetes-deployment-restart-controller/catalog/annotation"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/objecttest"
)

func TestAConfigKeepsOneChecksumPerKey(t *testing.T) {
	created := metav1.Time{Time: objecttest.Noon}
	cm := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "ns", Name: "web", CreationTimestamp: created, ResourceVersion: "7", Labels: map[string]string{"x": "y"},
			ManagedFields: []metav1.ManagedFieldsEntry{objecttest.Owns("kubectl", objecttest.NoonPlus(60), "f:data/f:b")},
		},
		Data:       map[string]string{"b": "2", "a": "1"},
		BinaryData: map[string][]byte{"bin": {0xff}},
	}
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "tls", CreationTimestamp: created},
		Data:       map[string][]byte{"b": []byte("2"), "a": []byte("1")},
	}
	want := []Config{
		{
			Ref:     names.ConfigRef{Kind: names.ConfigMap, Namespace: "ns", Name: "web"},
			Created: uint32(objecttest.Noon.Unix()),
			Keys: names.NewKeys([]names.Key{
				{Name: "a", Checksum: KeyChecksum("a", "1")},
				{Name: "b", Checksum: KeyChecksum("b", "2")},
				{Name: "bin", Checksum: KeyChecksum("bin", "\xff"), Binary: true},
			}),
			Edits:   []annotation.Edit{{Key: "b", At: objecttest.NoonPlus(60), Writer: "kubectl"}},
			Version: 7,
		},
		{
			Ref:     names.ConfigRef{Kind: names.Secret, Namespace: "ns", Name: "tls"},
			Created: uint32(objecttest.Noon.Unix()),
			Keys:    names.NewKeys([]names.Key{{Name: "a", Checksum: KeyChecksum("a", "1")}, {Name: "b", Checksum: KeyChecksum("b", "2")}}),
		},
	}
	if diff := cmp.Diff(want, []Config{NewConfigMap(cm), NewSecret(secret)}, cmp.AllowUnexported(annotation.Edit{})); diff != "" {
		t.Errorf("configs (-want +got):\n%s", diff)
	}
}

// Whoever may write an object may also write the times in its managedFields.
func TestAnEditAtATimeThatNoClockShowsDoesNotCount(t *testing.T) {
	for _, year := range []int{9999, 12000} {
		cm := objecttest.ConfigMap("web", objecttest.Data{"a": "1"})
		cm.ManagedFields = []metav1.ManagedFieldsEntry{objecttest.Owns("kubectl", time.Date(year, 6, 1, 0, 0, 0, 0, time.UTC), "f:data/f:a")}
		if config := NewConfigMap(cm); len(config.Edits) > 0 {
			t.Errorf("%d: %+v", year, config.Edits)
		}
	}
}

func TestChangedKeysAreThoseThatWereChangedAddedOrRemoved(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		before, after := objecttest.Contents(t, "before"), objecttest.Contents(t, "after")
		want := map[string]bool{}
		for name, value := range before {
			if now, found := after[name]; !found || now != value {
				want[name] = true
			}
		}
		for name := range after {
			if _, found := before[name]; !found {
				want[name] = true
			}
		}
		got := ChangedKeys(NewConfigMap(objecttest.ConfigMap("c", before)).Keys, NewConfigMap(objecttest.ConfigMap("c", after)).Keys)
		if diff := cmp.Diff(objecttest.SortedNames(want), got, cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("changed keys (-want +got):\n%s", diff)
		}
	})
}

func FuzzConfigRefsAreReadBackAsTheyAreWritten(f *testing.F) {
	f.Add("configmap/ns/web")
	f.Add("secret/ns/tls")
	f.Add("deployment/ns/web")
	f.Add("configmap//web")
	f.Add("configmap/ns/")
	f.Add("configmap/ns/a/b")
	f.Add("configmap/ns/a/b/c")
	f.Add("configmap/ns//b")
	f.Add("configmap")
	f.Add("")
	f.Fuzz(func(t *testing.T, s string) {
		ref, ok := names.ParseConfigRef(s)
		// The slow oracle: three parts, or four for a config of another namespace, none empty, the first one of two.
		parts := strings.Split(s, "/")
		valid := (len(parts) == 3 || len(parts) == 4) && (parts[0] == "configmap" || parts[0] == "secret") && !slices.Contains(parts, "")
		if ok != valid {
			t.Fatalf("%q: parsed %v, want %v", s, ok, valid)
		}
		if ok && (ref.String() != s || ref != names.ConfigRef{Kind: names.ParseConfigKind(parts[0]), Namespace: parts[1], Name: strings.Join(parts[2:], "/")}) {
			t.Fatalf("%q was read as %#v", s, ref)
		}
	})
}
