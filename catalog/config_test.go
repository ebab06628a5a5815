package catalog

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
)

func TestAConfigKeepsOneChecksumPerKey(t *testing.T) {
	created := metav1.Time{Time: noon}
	cm := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "ns", Name: "web", CreationTimestamp: created, ResourceVersion: "7", Labels: map[string]string{"x": "y"},
			ManagedFields: []metav1.ManagedFieldsEntry{owns("kubectl", noonPlus(60), "f:data/f:b")},
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
			Ref:     ConfigRef{ConfigMap, "ns", "web"},
			Created: uint32(noon.Unix()),
			Keys: []Key{
				{Name: "a", Checksum: keyChecksum("a", "1")},
				{Name: "b", Checksum: keyChecksum("b", "2")},
				{Name: "bin", Checksum: keyChecksum("bin", "\xff"), Binary: true},
			},
			Edits: []Edit{{Key: "b", At: noonPlus(60), Writer: "kubectl"}},
		},
		{
			Ref:     ConfigRef{Secret, "ns", "tls"},
			Created: uint32(noon.Unix()),
			Keys:    []Key{{Name: "a", Checksum: keyChecksum("a", "1")}, {Name: "b", Checksum: keyChecksum("b", "2")}},
		},
	}
	if diff := cmp.Diff(want, []Config{NewConfigMap(cm), NewSecret(secret)}, cmp.AllowUnexported(Edit{})); diff != "" {
		t.Errorf("configs (-want +got):\n%s", diff)
	}
}

// Whoever may write an object may also write the times in its managedFields.
func TestAnEditAtATimeThatNoClockShowsDoesNotCount(t *testing.T) {
	for _, year := range []int{9999, 12000} {
		cm := configMap("web", data{"a": "1"})
		cm.ManagedFields = []metav1.ManagedFieldsEntry{owns("kubectl", time.Date(year, 6, 1, 0, 0, 0, 0, time.UTC), "f:data/f:a")}
		if config := NewConfigMap(cm); len(config.Edits) > 0 {
			t.Errorf("%d: %+v", year, config.Edits)
		}
	}
}

func TestASelectionSeesItsKeys(t *testing.T) {
	config := Config{Keys: []Key{{Name: "a"}, {Name: "b"}, {Name: "bin", Binary: true}, {Name: "c"}}}
	for name, test := range map[string]struct {
		selections []Selection
		want       string
	}{
		"none":                              {nil, ""},
		"all":                               {[]Selection{{}}, "a b bin c"},
		"environment":                       {[]Selection{{DataOnly: true}}, "a b c"},
		"one key":                           {[]Selection{{Names: []string{"b"}}}, "b"},
		"one key of a volume, binary":       {[]Selection{{Names: []string{"bin"}}}, "bin"},
		"one key of environment, binary":    {[]Selection{{Names: []string{"bin"}, DataOnly: true}}, ""},
		"a key that is not there":           {[]Selection{{Names: []string{"x"}}}, ""},
		"a volume of no keys":               {[]Selection{{Names: []string{}}}, ""},
		"several selections, each key once": {[]Selection{{Names: []string{"a", "b"}}, {Names: []string{"b", "bin"}}}, "a b bin"},
		"a key, then all of the data":       {[]Selection{{Names: []string{"bin"}}, {DataOnly: true}}, "a b bin c"},
		"a key, then everything":            {[]Selection{{Names: []string{"a"}}, {}}, "a b bin c"},
	} {
		t.Run(name, func(t *testing.T) {
			var names []string
			for _, key := range config.seen(test.selections) {
				names = append(names, key.Name)
			}
			if got := strings.Join(names, " "); got != test.want {
				t.Errorf("sees %q, want %q", got, test.want)
			}
			if got, want := config.Checksum(test.selections, testKey), setChecksum(config.seen(test.selections)); got != want {
				t.Errorf("checksum %s, want %s", got, want)
			}
		})
	}
}

func TestAChecksumDependsOnTheSelectedKeysOnly(t *testing.T) {
	before := NewConfigMap(configMap("c", map[string]string{"a": "1", "b": "2"}))
	after := NewConfigMap(configMap("c", map[string]string{"a": "1", "b": "3", "c": "4"}))
	for name, test := range map[string]struct {
		selections []Selection
		differs    bool
	}{
		"unchanged key": {[]Selection{{Names: []string{"a"}, DataOnly: true}}, false},
		"changed key":   {[]Selection{{Names: []string{"b"}, DataOnly: true}}, true},
		"new key":       {[]Selection{{Names: []string{"c"}}}, true},
		"all":           {[]Selection{{DataOnly: true}}, true},
	} {
		if got := before.Checksum(test.selections, testKey) != after.Checksum(test.selections, testKey); got != test.differs {
			t.Errorf("%s: differs: %v, want %v", name, got, test.differs)
		}
	}
}

// The same bytes are the same file, whichever part of the ConfigMap holds them.
func TestAKeyMovedToBinaryDataKeepsItsChecksumInAVolume(t *testing.T) {
	text := NewConfigMap(configMap("c", map[string]string{"a": "1"}))
	binary := NewConfigMap(&corev1.ConfigMap{BinaryData: map[string][]byte{"a": []byte("1")}})
	if text.Checksum([]Selection{{}}, testKey) != binary.Checksum([]Selection{{}}, testKey) {
		t.Error("a volume sees another content")
	}
	if text.Checksum([]Selection{{DataOnly: true}}, testKey) == binary.Checksum([]Selection{{DataOnly: true}}, testKey) {
		t.Error("the environment, which cannot take it from binaryData, sees the same content")
	}
}

func TestChangedKeysAreThoseThatWereChangedAddedOrRemoved(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		before, after := contents(t, "before"), contents(t, "after")
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
		got := changedKeys(NewConfigMap(configMap("c", before)).Keys, NewConfigMap(configMap("c", after)).Keys)
		if diff := cmp.Diff(sortedNames(want), got, cmpopts.EquateEmpty()); diff != "" {
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
		ref, ok := ParseConfigRef(s)
		// The slow oracle: three parts, or four for a config of another namespace, none empty, the first one of two.
		parts := strings.Split(s, "/")
		valid := (len(parts) == 3 || len(parts) == 4) && (parts[0] == "configmap" || parts[0] == "secret") && !slices.Contains(parts, "")
		if ok != valid {
			t.Fatalf("%q: parsed %v, want %v", s, ok, valid)
		}
		if ok && (ref.String() != s || ref != ConfigRef{parseConfigKind(parts[0]), parts[1], strings.Join(parts[2:], "/")}) {
			t.Fatalf("%q was read as %#v", s, ref)
		}
	})
}
