package test

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/cespare/xxhash/v2"
)

// originalDigest is what the original controller (1.3.0) records of a config.
func originalDigest(c config, data map[string]string) string {
	var encoded []byte
	if c.kind == "secret" {
		bytes := map[string][]byte{}
		for key, value := range data {
			bytes[key] = []byte(value)
		}
		encoded, _ = json.Marshal(bytes)
	} else {
		encoded, _ = json.Marshal(data)
	}
	sum := sha256.Sum256(encoded)
	return hex.EncodeToString(sum[:8])
}

// unkeyedDigests are those of a Secret's content that anybody can compute who
// guesses it: as the original records it, and as this controller would without a key.
func unkeyedDigests(data map[string]string) []string {
	withLength := func(encoded []byte, s string) []byte {
		return append(binary.LittleEndian.AppendUint64(encoded, uint64(len(s))), s...)
	}
	all := binary.LittleEndian.AppendUint64(nil, uint64(len(data)))
	digests := []string{originalDigest(credentials, data), originalDigest(settings, data)}
	for _, key := range slices.Sorted(maps.Keys(data)) {
		one := xxhash.Sum64(withLength(withLength(nil, key), data[key]))
		all = binary.LittleEndian.AppendUint64(withLength(all, key), one)
		sum := sha256.Sum256([]byte(data[key]))
		digests = append(digests, fmt.Sprintf("%016x", one), hex.EncodeToString(sum[:8]), fmt.Sprintf("%016x", xxhash.Sum64String(data[key])))
	}
	return append(digests, fmt.Sprintf("%016x", xxhash.Sum64(all)))
}
