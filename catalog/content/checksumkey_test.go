package content

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"testing"

	"pgregory.net/rapid"

	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/objecttest"
	"kubernetes-deployment-restart-controller/catalog/template"
)

// The slow and obvious form of a Secret's checksum.
func hmacOf(key [ChecksumKeySize]byte, name string, content map[string]string) names.Checksum {
	mac := hmac.New(sha256.New, key[:])
	mac.Write(append(objecttest.EncodeString(name), objecttest.EncodeContent(content)...))
	return names.Checksum(binary.BigEndian.Uint64(mac.Sum(nil)[:8]))
}

func TestTheChecksumOfASecretIsKeyedAndBoundToItsName(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var keyA, keyB [ChecksumKeySize]byte
		copy(keyA[:], rapid.SliceOfN(rapid.Byte(), ChecksumKeySize, ChecksumKeySize).Draw(t, "key"))
		keyB, keyB[7] = keyA, keyA[7]+1
		content := objecttest.Contents(t, "content")
		one, two := NewSecret(objecttest.Secret("one", content)), NewSecret(objecttest.Secret("two", content))
		all := []template.Selection{{}}
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
		if got == SetChecksum(one.Keys) {
			t.Fatal("the checksum is that without a key")
		}
	})
}
