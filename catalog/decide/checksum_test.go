package decide

import (
	"maps"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"kubernetes-deployment-restart-controller/catalog"
	"kubernetes-deployment-restart-controller/catalog/catalogtest"
	"kubernetes-deployment-restart-controller/catalog/content"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/objecttest"
	"kubernetes-deployment-restart-controller/catalog/template"
)

// What a checksum covers is part of the scheme, too.
func TestWhatAWorkloadRecordsNeverChanges(t *testing.T) {
	d := objecttest.Deployment(corev1.Container{
		Name:    "app",
		EnvFrom: objecttest.ReadsAll("all", false).EnvFrom,
		Env:     objecttest.ReadsKey("key", "a", false).Env,
		VolumeMounts: []corev1.VolumeMount{
			{Name: "v", SubPath: "b"}, {Name: "items"},
		},
	}, objecttest.VolumeOf("sub", false), corev1.Volume{Name: "items", VolumeSource: corev1.VolumeSource{
		Secret: &corev1.SecretVolumeSource{SecretName: "items", Items: []corev1.KeyToPath{{Key: "b", Path: "x"}}},
	}})
	c := catalog.New()
	c.SetKey(catalogtest.TestKey)
	for _, name := range []string{"all", "key", "sub"} {
		cm := objecttest.ConfigMap(name, map[string]string{"a": "1", "b": "2"})
		cm.BinaryData = map[string][]byte{"c": []byte("3")}
		c.ObserveConfig(content.NewConfigMap(cm), objecttest.Noon)
	}
	c.ObserveConfig(content.NewSecret(&corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "items"},
		Data:       map[string][]byte{"a": []byte("1"), "b": []byte("2")},
	}), objecttest.Noon)
	c.ObserveWorkload(catalogtest.MustWorkload(d))
	view, _ := c.View(objecttest.DeploymentRef("web"))
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

func TestDifferentContentsHaveDifferentChecksums(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) { checkTellsApart(t, objecttest.Contents(t, "a"), objecttest.Contents(t, "b")) })
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
	configA, configB := content.NewConfigMap(objecttest.ConfigMap("c", a)), content.NewConfigMap(objecttest.ConfigMap("c", b))
	alike := configA.Checksum([]template.Selection{{}}, catalogtest.TestKey) == configB.Checksum([]template.Selection{{}}, catalogtest.TestKey)
	if alike != maps.Equal(a, b) {
		t.Fatalf("%q and %q: same checksum: %v", a, b, alike)
	}
}

func TestAChecksumOnlyParsesFromWhatItIsWrittenAs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		checksum := names.Checksum(rapid.Uint64().Draw(t, "checksum"))
		parsed, err := names.ParseChecksum(checksum.String())
		if err != nil || parsed != checksum {
			t.Fatalf("%s was parsed as %s, %v", checksum, parsed, err)
		}
	})
	if got, err := names.ParseChecksum("00000000000000af"); err != nil || got != 0xaf {
		t.Errorf("leading zeroes: %v, %v", got, err)
	}
	for _, s := range []string{
		"", "af", "0x00000000000000af", "00000000000000AF", "+0000000000000af", "0000000000000_af",
		"000000000000000af", "00000000000000ag", " 0000000000000af",
	} {
		if got, err := names.ParseChecksum(s); err == nil || got != 0 {
			t.Errorf("%q was parsed as %s", s, got)
		}
	}
}
