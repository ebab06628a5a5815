package objecttest

import (
	"encoding/binary"
	"maps"
	"slices"

	"github.com/cespare/xxhash/v2"
	"pgregory.net/rapid"
)

// EncodeContent is the slow and obvious form of what is hashed: for each key, in
// the order of their names, the name, and what the encoding of the key with
// its value hashes to.
func EncodeContent(content map[string]string) []byte {
	encoded := binary.LittleEndian.AppendUint64(nil, uint64(len(content)))
	for _, name := range slices.Sorted(maps.Keys(content)) {
		encoded = append(encoded, EncodeString(name)...)
		encoded = binary.LittleEndian.AppendUint64(encoded, xxhash.Sum64(EncodeKey(name, content[name])))
	}
	return encoded
}

func EncodeKey(name, value string) []byte { return append(EncodeString(name), EncodeString(value)...) }

func EncodeString(s string) []byte {
	return append(binary.LittleEndian.AppendUint64(nil, uint64(len(s))), s...)
}

func Contents(t *rapid.T, label string) map[string]string {
	// Few letters, so that contents are often alike.
	text := rapid.StringOfN(rapid.SampledFrom([]rune("ab=;\x00\x01")), 0, 4, -1)
	return rapid.MapOfN(text, text, 0, 3).Draw(t, label)
}
