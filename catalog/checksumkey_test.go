package catalog

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kubernetes-deployment-restart-controller/catalog/catalogtest"
	"kubernetes-deployment-restart-controller/catalog/content"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/objecttest"
	"kubernetes-deployment-restart-controller/catalog/record"
	"kubernetes-deployment-restart-controller/catalog/template"
	"kubernetes-deployment-restart-controller/catalog/workload"
)

func TestAChecksumKeyNeverShowsItsSecret(t *testing.T) {
	var data [content.ChecksumKeySize]byte
	copy(data[:], "the secret of a key, 32 bytes...")
	key := content.NewChecksumKey(data)
	var shown strings.Builder
	for _, value := range []any{key, &key, struct{ K content.ChecksumKey }{key}, []content.ChecksumKey{key}, map[string]content.ChecksumKey{"k": key}, View{Key: key}, record.Basis{Key: key}} {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%d", "%x", "%X", "%o", "%b", "%c", "%t", "%p"} {
			fmt.Fprintf(&shown, verb+"\n", value)
		}
		encoded, err := json.Marshal(value)
		if err != nil && !strings.Contains(err.Error(), "unsupported type") { // a view's map
			t.Error(err)
		}
		shown.Write(encoded)
	}
	if !strings.Contains(shown.String(), key.ID()) {
		t.Error("not even the id is shown")
	}
	for _, form := range []string{
		string(data[:8]), hex.EncodeToString(data[:8]), strings.ToUpper(hex.EncodeToString(data[:8])),
		base64.StdEncoding.EncodeToString(data[:6]), "116 104 101 32", "164 150 145 40", "0x74, 0x68, 0x65, 0x20", // "the "
	} {
		if strings.Contains(shown.String(), form) {
			t.Errorf("the secret is shown as %q", form)
		}
	}
}

func TestNothingOfASecretIsRecordedWithoutAKey(t *testing.T) {
	annotations, err := record.Checksums{objecttest.SecretRef("tls"): 1, objecttest.ConfigMapRef("web"): 2}.Annotations(record.Basis{})
	if err == nil {
		t.Errorf("recorded as %v", annotations)
	}
	d := objecttest.Deployment(objecttest.ReadsSecret("tls"))
	c := New()
	c.ObserveWorkload(catalogtest.MustWorkload(d))
	view, _ := c.View(objecttest.DeploymentRef("web"))
	if !view.LacksKey() {
		t.Error("a workload that reads a Secret does not wait for the key")
	}
	c.SetKey(catalogtest.TestKey)
	if view, _ = c.View(objecttest.DeploymentRef("web")); view.LacksKey() {
		t.Error("it waits although the key is known")
	}
	c = New()
	c.ObserveWorkload(catalogtest.MustWorkload(objecttest.Deployment(objecttest.ReadsAll("web", false))))
	if view, _ = c.View(objecttest.DeploymentRef("web")); view.LacksKey() {
		t.Error("a workload that reads no Secret waits for the key")
	}
}

func TestAKindOfConfigIsKnownBecauseItHasARow(t *testing.T) {
	rows := names.ConfigKinds
	t.Cleanup(func() { names.ConfigKinds = rows })
	madeUp := names.ConfigKind(len(rows))
	names.ConfigKinds = append(slices.Clone(rows), names.ConfigKindRow{Name: "madeup", IsSecret: true})
	ref := names.ConfigRef{Kind: madeUp, Namespace: "ns", Name: "a"}
	if got, ok := names.ParseConfigRef("madeup/ns/a"); !ok || got != ref || ref.String() != "madeup/ns/a" {
		t.Errorf("it is read as %v", got)
	}
	checksums := record.Checksums{ref: 1, objecttest.ConfigMapRef("a"): 2}
	if _, err := checksums.Annotations(record.Basis{}); err == nil {
		t.Error("its checksum is recorded without a key")
	}
	config := content.Config{Ref: ref, Keys: names.NewKeys([]names.Key{{Name: "a", Checksum: 1}})}
	if config.Checksum([]template.Selection{{}}, catalogtest.TestKey) == config.Checksum([]template.Selection{{}}, content.NewChecksumKey([content.ChecksumKeySize]byte{1})) {
		t.Error("its checksum does not depend on the key")
	}
	view := View{Workload: &workload.Workload{Object: workload.Object{References: []template.Reference{{Config: ref}}}}}
	if !view.LacksKey() {
		t.Error("what reads it is decided about without a key")
	}
	if diff := cmp.Diff(record.Checksums{objecttest.ConfigMapRef("a"): 2}, checksums.Public()); diff != "" {
		t.Errorf("what can be read without the key (-want +got):\n%s", diff)
	}
}
