package content

import (
	"encoding/binary"

	"github.com/cespare/xxhash/v2"

	"kubernetes-deployment-restart-controller/catalog/names"
)

// KeyChecksum returns the checksum of one key with its value.
func KeyChecksum[V string | []byte](name string, value V) names.Checksum {
	digest := xxhash.New()
	writeLength(digest, len(name))
	_, _ = digest.WriteString(name) // a hash never fails to write
	writeLength(digest, len(value))
	switch v := any(value).(type) {
	case string:
		_, _ = digest.WriteString(v)
	case []byte:
		_, _ = digest.Write(v)
	}
	return names.Checksum(digest.Sum64())
}

// SetChecksum returns the checksum of a set of keys, which must be sorted by
// name. It uses the checksums of the keys, because the catalog does not keep
// their values.
func SetChecksum(keys names.Keys) names.Checksum {
	var buffer [512]byte // large enough for most sets; it stays on the stack
	return names.Checksum(xxhash.Sum64(appendKeys(buffer[:0], keys)))
}

// appendKeys appends the encoding of a set of keys.
func appendKeys(encoded []byte, keys names.Keys) []byte {
	encoded = binary.LittleEndian.AppendUint64(encoded, uint64(keys.Len()))
	for key := range keys.All() {
		encoded = appendString(encoded, key.Name)
		encoded = binary.LittleEndian.AppendUint64(encoded, uint64(key.Checksum))
	}
	return encoded
}

func appendString(encoded []byte, s string) []byte {
	return append(binary.LittleEndian.AppendUint64(encoded, uint64(len(s))), s...)
}

func writeLength(digest *xxhash.Digest, n int) {
	var buffer [8]byte
	binary.LittleEndian.PutUint64(buffer[:], uint64(n))
	_, _ = digest.Write(buffer[:])
}
