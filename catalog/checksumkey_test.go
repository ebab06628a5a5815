package catalog

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"
)

func secret(name string, content map[string]string) *corev1.Secret {
	s := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, CreationTimestamp: metav1.Time{Time: noon}},
		Data:       map[string][]byte{},
	}
	for key, value := range content {
		s.Data[key] = []byte(value)
	}
	return s
}

func readsSecret(name string) corev1.Container {
	return corev1.Container{Name: "app", EnvFrom: []corev1.EnvFromSource{{
		SecretRef: &corev1.SecretEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: name}},
	}}}
}

func TestAChecksumKeyNeverShowsItsSecret(t *testing.T) {
	var content [ChecksumKeySize]byte
	copy(content[:], "the secret of a key, 32 bytes...")
	key := NewChecksumKey(content)
	var shown strings.Builder
	for _, value := range []any{key, &key, struct{ K ChecksumKey }{key}, []ChecksumKey{key}, map[string]ChecksumKey{"k": key}, View{Key: key}, Basis{Key: key}} {
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
		string(content[:8]), hex.EncodeToString(content[:8]), strings.ToUpper(hex.EncodeToString(content[:8])),
		base64.StdEncoding.EncodeToString(content[:6]), "116 104 101 32", "164 150 145 40", "0x74, 0x68, 0x65, 0x20", // "the "
	} {
		if strings.Contains(shown.String(), form) {
			t.Errorf("the secret is shown as %q", form)
		}
	}
}

// The slow and obvious form of a Secret's checksum.
func hmacOf(key [ChecksumKeySize]byte, name string, content map[string]string) Checksum {
	mac := hmac.New(sha256.New, key[:])
	mac.Write(append(encodeString(name), encodeContent(content)...))
	return Checksum(binary.BigEndian.Uint64(mac.Sum(nil)[:8]))
}

func TestTheChecksumOfASecretIsKeyedAndBoundToItsName(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var keyA, keyB [ChecksumKeySize]byte
		copy(keyA[:], rapid.SliceOfN(rapid.Byte(), ChecksumKeySize, ChecksumKeySize).Draw(t, "key"))
		keyB, keyB[7] = keyA, keyA[7]+1
		content := contents(t, "content")
		one, two := NewSecret(secret("one", content)), NewSecret(secret("two", content))
		all := []Selection{{}}
		got := one.Checksum(all, NewChecksumKey(keyA))
		if want := hmacOf(keyA, "secret/ns/one", content); got != want {
			t.Fatalf("checksum %s, want %s", got, want)
		}
		if got == two.Checksum(all, NewChecksumKey(keyA)) {
			t.Fatal("Secrets of different names have the same checksum")
		}
		if got == one.Checksum(all, NewChecksumKey(keyB)) || NewChecksumKey(keyA).ID() == NewChecksumKey(keyB).ID() {
			t.Fatal("different keys make the same checksum, or have the same id")
		}
		if got == setChecksum(one.Keys) {
			t.Fatal("the checksum is that without a key")
		}
	})
}

func TestNothingOfASecretIsRecordedWithoutAKey(t *testing.T) {
	annotations, err := Checksums{secretRef("tls"): 1, configMapRef("web"): 2}.Annotations(Basis{})
	if err == nil {
		t.Errorf("recorded as %v", annotations)
	}
	d := deployment(readsSecret("tls"))
	c := New()
	c.ObserveWorkload(mustWorkload(d))
	view, _ := c.View(deploymentRef("web"))
	if !view.LacksKey() {
		t.Error("a workload that reads a Secret does not wait for the key")
	}
	c.SetKey(testKey)
	if view, _ = c.View(deploymentRef("web")); view.LacksKey() {
		t.Error("it waits although the key is known")
	}
	c = New()
	c.ObserveWorkload(mustWorkload(deployment(readsAll("web", false))))
	if view, _ = c.View(deploymentRef("web")); view.LacksKey() {
		t.Error("a workload that reads no Secret waits for the key")
	}
}

// A lost key that is made again costs a check of the pods that read Secrets, but no
// restart. The records of ConfigMaps do not depend on the key.
func TestARecordMadeWithAnotherKeyIsTrustedForConfigMapsOnly(t *testing.T) {
	other := NewChecksumKey([ChecksumKeySize]byte{1})
	begin := func(container corev1.Container) (*Catalog, *Workload) {
		d := deployment(container)
		c := New()
		c.SetKey(testKey)
		c.ObserveConfig(NewSecret(secret("tls", data{"a": "1"})), noon)
		c.ObserveConfig(NewConfigMap(configMap("web", data{"a": "1"})), noon)
		c.ObserveWorkload(mustWorkload(d))
		view, _ := c.View(deploymentRef("web"))
		writeRecord(d, Decide(view).Checksums, noonPlus(10))
		w := mustWorkload(d)
		c.ObserveWritten(w, view.Sequence)
		if view, _ = c.View(deploymentRef("web")); Decide(view).Outcome != Keep {
			t.Fatalf("not settled: %+v", Decide(view))
		}
		c.SetKey(other)
		return c, &w
	}
	decide := func(c *Catalog) (Outcome, []Cause) {
		view, _ := c.View(deploymentRef("web"))
		decision := Decide(view)
		return decision.Outcome, withoutMoments(t, decision.Causes)
	}
	both := readsAll("web", false)
	both.EnvFrom = append(both.EnvFrom, readsSecret("tls").EnvFrom...)

	c, w := begin(both)
	if outcome, _ := decide(c); outcome != RecordOnly {
		t.Errorf("nothing changed: %s", outcome)
	}
	if len(w.Applied.Checksums) != 2 {
		t.Error("the shared workload was modified")
	}
	c, _ = begin(both)
	c.ObserveConfig(NewSecret(secret("tls", data{"a": "2"})), noonPlus(60))
	if outcome, _ := decide(c); outcome != AskPods {
		t.Errorf("the Secret was edited: %s", outcome)
	}
	c, _ = begin(both)
	c.ObserveConfig(NewConfigMap(configMap("web", data{"a": "2"})), noonPlus(60))
	outcome, causes := decide(c)
	if diff := cmp.Diff([]Cause{{Config: configMapRef("web"), Keys: []string{"a"}}}, causes); outcome != Restart || diff != "" {
		t.Errorf("the ConfigMap was edited: %s, causes (-want +got):\n%s", outcome, diff)
	}
	c, _ = begin(readsAll("web", false))
	if outcome, _ := decide(c); outcome != Keep {
		t.Errorf("no Secret is read: %s", outcome)
	}
}

func TestAKindOfConfigIsKnownBecauseItHasARow(t *testing.T) {
	rows := configKinds
	t.Cleanup(func() { configKinds = rows })
	madeUp := ConfigKind(len(rows))
	configKinds = append(slices.Clone(rows), configKindRow{name: "madeup", isSecret: true})
	ref := ConfigRef{madeUp, "ns", "a"}
	if got, ok := ParseConfigRef("madeup/ns/a"); !ok || got != ref || ref.String() != "madeup/ns/a" {
		t.Errorf("it is read as %v", got)
	}
	checksums := Checksums{ref: 1, configMapRef("a"): 2}
	if _, err := checksums.Annotations(Basis{}); err == nil {
		t.Error("its checksum is recorded without a key")
	}
	config := Config{Ref: ref, Keys: []Key{{Name: "a", Checksum: 1}}}
	if config.Checksum([]Selection{{}}, testKey) == config.Checksum([]Selection{{}}, NewChecksumKey([ChecksumKeySize]byte{1})) {
		t.Error("its checksum does not depend on the key")
	}
	view := View{Workload: &Workload{References: []Reference{{Config: ref}}}}
	if !view.LacksKey() {
		t.Error("what reads it is decided about without a key")
	}
	if diff := cmp.Diff(Checksums{configMapRef("a"): 2}, checksums.public()); diff != "" {
		t.Errorf("what can be read without the key (-want +got):\n%s", diff)
	}
}
