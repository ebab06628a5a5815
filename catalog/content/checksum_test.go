package content_test

import (
	"encoding/binary"
	"testing"

	"github.com/cespare/xxhash/v2"
	"pgregory.net/rapid"

	"kubernetes-deployment-restart-controller/catalog/catalogtest"
	"kubernetes-deployment-restart-controller/catalog/content"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/objecttest"
	"kubernetes-deployment-restart-controller/catalog/template"
)

// decodeString reads back what EncodeString wrote. That it can is what makes the
// encoding unambiguous.
func decodeString(encoded []byte) (s string, rest []byte) {
	n := 8 + binary.LittleEndian.Uint64(encoded)
	return string(encoded[8:n]), encoded[n:]
}

func TestAChecksumIsTheHashOfAnEncodingThatCanBeReadBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		data := objecttest.Contents(t, "content")
		for name, value := range data {
			encoded := objecttest.EncodeKey(name, value)
			if got := content.KeyChecksum(name, value); got != names.Checksum(xxhash.Sum64(encoded)) {
				t.Fatalf("key %q: checksum %s is not that of its encoding", name, got)
			}
			if content.KeyChecksum(name, value) != content.KeyChecksum(name, []byte(value)) {
				t.Fatalf("key %q: strings and bytes differ", name)
			}
			gotName, rest := decodeString(encoded)
			gotValue, rest := decodeString(rest)
			if gotName != name || gotValue != value || len(rest) > 0 {
				t.Fatalf("%q: %q was read back as %q: %q and %d bytes", name, value, gotName, gotValue, len(rest))
			}
		}
		config := content.NewConfigMap(objecttest.ConfigMap("c", data))
		if got := config.Checksum([]template.Selection{{}}, catalogtest.TestKey); got != names.Checksum(xxhash.Sum64(objecttest.EncodeContent(data))) {
			t.Fatalf("checksum %s is not that of the encoding", got)
		}
	})
}
