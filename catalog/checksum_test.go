package catalog

import (
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/cespare/xxhash/v2"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"
)

// If one of these fails, the records on all workloads out there are about to
// become worthless: keyedScheme needs another name, or the change another thought.
func TestChecksumsOfThisSchemeNeverChange(t *testing.T) {
	if keyedScheme != "keyed-v2" {
		t.Errorf("the known answers belong to keyed-v2, not %s", keyedScheme)
	}
	for name, test := range map[string]struct {
		config Config
		want   string
	}{
		"empty":               {NewConfigMap(configMap("c", nil)), "34c96acdcadb1bbb"},
		"one key":             {NewConfigMap(configMap("c", map[string]string{"a": "1"})), "239841a9781554b1"},
		"two keys":            {NewConfigMap(configMap("c", map[string]string{"a": "1", "b": "2"})), "e458ec7fac128ecb"},
		"one key like two":    {NewConfigMap(configMap("c", map[string]string{"a": "1;b=2"})), "6a829f45bba39609"},
		"empty value":         {NewConfigMap(configMap("c", map[string]string{"a": ""})), "3e83494ce4e4e298"},
		"binary data":         {NewConfigMap(&corev1.ConfigMap{BinaryData: map[string][]byte{"a": {0, 255}}}), "0cfeb067f79eeb25"},
		"secret like two":     {NewSecret(&corev1.Secret{Data: map[string][]byte{"a": []byte("1"), "b": []byte("2")}}), "08c46de11df329f3"},
		"not of 7-bit ASCII":  {NewConfigMap(configMap("c", map[string]string{"ä": "ö"})), "410cd386afb3e38c"},
		"longer than a block": {NewConfigMap(configMap("c", map[string]string{"long": fmt.Sprintf("%0100d", 7)})), "b31c8cb174704d90"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := test.config.Checksum([]Selection{{}}, testKey).String(); got != test.want {
				t.Errorf("checksum %s, want %s", got, test.want)
			}
		})
	}
}

// What a checksum covers is part of the scheme, too.
func TestWhatAWorkloadRecordsNeverChanges(t *testing.T) {
	d := deployment(corev1.Container{
		Name:    "app",
		EnvFrom: readsAll("all", false).EnvFrom,
		Env:     readsKey("key", "a", false).Env,
		VolumeMounts: []corev1.VolumeMount{
			{Name: "v", SubPath: "b"}, {Name: "items"},
		},
	}, volumeOf("sub", false), corev1.Volume{Name: "items", VolumeSource: corev1.VolumeSource{
		Secret: &corev1.SecretVolumeSource{SecretName: "items", Items: []corev1.KeyToPath{{Key: "b", Path: "x"}}},
	}})
	c := New()
	c.SetKey(testKey)
	for _, name := range []string{"all", "key", "sub"} {
		cm := configMap(name, map[string]string{"a": "1", "b": "2"})
		cm.BinaryData = map[string][]byte{"c": []byte("3")}
		c.ObserveConfig(NewConfigMap(cm), noon)
	}
	c.ObserveConfig(NewSecret(&corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "items"},
		Data:       map[string][]byte{"a": []byte("1"), "b": []byte("2")},
	}), noon)
	c.ObserveWorkload(mustWorkload(d))
	view, _ := c.View(deploymentRef("web"))
	got := map[string]string{}
	for ref, checksum := range Decide(view).Checksums {
		got[ref.String()] = checksum.String()
	}
	want := map[string]string{
		"configmap/ns/all": "e458ec7fac128ecb", // data, without binaryData
		"configmap/ns/key": "239841a9781554b1",
		"configmap/ns/sub": "4a1f5364825a0413",
		"secret/ns/items":  "c3dea839d23f7085", // with the key and the name
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("checksums (-want +got):\n%s", diff)
	}
}

// encodeContent is the slow and obvious form of what is hashed: for each key, in
// the order of their names, the name, and what the encoding of the key with
// its value hashes to.
func encodeContent(content map[string]string) []byte {
	encoded := binary.LittleEndian.AppendUint64(nil, uint64(len(content)))
	for _, name := range slices.Sorted(maps.Keys(content)) {
		encoded = append(encoded, encodeString(name)...)
		encoded = binary.LittleEndian.AppendUint64(encoded, xxhash.Sum64(encodeKey(name, content[name])))
	}
	return encoded
}

func encodeKey(name, value string) []byte { return append(encodeString(name), encodeString(value)...) }

func encodeString(s string) []byte {
	return append(binary.LittleEndian.AppendUint64(nil, uint64(len(s))), s...)
}

// decodeString reads back what encodeString wrote. That it can is what makes the
// encoding unambiguous.
func decodeString(encoded []byte) (s string, rest []byte) {
	n := 8 + binary.LittleEndian.Uint64(encoded)
	return string(encoded[8:n]), encoded[n:]
}

func contents(t *rapid.T, label string) map[string]string {
	// Few letters, so that contents are often alike.
	text := rapid.StringOfN(rapid.SampledFrom([]rune("ab=;\x00\x01")), 0, 4, -1)
	return rapid.MapOfN(text, text, 0, 3).Draw(t, label)
}

func TestAChecksumIsTheHashOfAnEncodingThatCanBeReadBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		content := contents(t, "content")
		for name, value := range content {
			encoded := encodeKey(name, value)
			if got := keyChecksum(name, value); got != Checksum(xxhash.Sum64(encoded)) {
				t.Fatalf("key %q: checksum %s is not that of its encoding", name, got)
			}
			if keyChecksum(name, value) != keyChecksum(name, []byte(value)) {
				t.Fatalf("key %q: strings and bytes differ", name)
			}
			gotName, rest := decodeString(encoded)
			gotValue, rest := decodeString(rest)
			if gotName != name || gotValue != value || len(rest) > 0 {
				t.Fatalf("%q: %q was read back as %q: %q and %d bytes", name, value, gotName, gotValue, len(rest))
			}
		}
		config := NewConfigMap(configMap("c", content))
		if got := config.Checksum([]Selection{{}}, testKey); got != Checksum(xxhash.Sum64(encodeContent(content))) {
			t.Fatalf("checksum %s is not that of the encoding", got)
		}
	})
}

func TestDifferentContentsHaveDifferentChecksums(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) { checkTellsApart(t, contents(t, "a"), contents(t, "b")) })
}

func FuzzDifferentContentsHaveDifferentChecksums(f *testing.F) {
	f.Add("a", "1;b=2", "", "", "a", "1", "b", "2")
	f.Add("a", "b", "", "", "ab", "", "", "")
	f.Add("a", "1", "b", "2", "b", "2", "a", "1")
	f.Add("a", "\x01\x00\x00\x00\x00\x00\x00\x00b", "", "", "a", "", "b", "")
	f.Fuzz(func(t *testing.T, a1, v1, a2, v2, b1, w1, b2, w2 string) {
		checkTellsApart(t, map[string]string{a1: v1, a2: v2}, map[string]string{b1: w1, b2: w2})
	})
}

func checkTellsApart(t interface{ Fatalf(string, ...any) }, a, b map[string]string) {
	configA, configB := NewConfigMap(configMap("c", a)), NewConfigMap(configMap("c", b))
	alike := configA.Checksum([]Selection{{}}, testKey) == configB.Checksum([]Selection{{}}, testKey)
	if alike != maps.Equal(a, b) {
		t.Fatalf("%q and %q: same checksum: %v", a, b, alike)
	}
}

func TestAChecksumOnlyParsesFromWhatItIsWrittenAs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		checksum := Checksum(rapid.Uint64().Draw(t, "checksum"))
		parsed, err := parseChecksum(checksum.String())
		if err != nil || parsed != checksum {
			t.Fatalf("%s was parsed as %s, %v", checksum, parsed, err)
		}
	})
	if got, err := parseChecksum("00000000000000af"); err != nil || got != 0xaf {
		t.Errorf("leading zeroes: %v, %v", got, err)
	}
	for _, s := range []string{
		"", "af", "0x00000000000000af", "00000000000000AF", "+0000000000000af", "0000000000000_af",
		"000000000000000af", "00000000000000ag", " 0000000000000af",
	} {
		if got, err := parseChecksum(s); err == nil || got != 0 {
			t.Errorf("%q was parsed as %s", s, got)
		}
	}
}
