package catalog

import (
	"encoding/binary"
	"fmt"
	"strconv"

	"github.com/cespare/xxhash/v2"
)

// Checksum identifies the content of one key of a config, or of the keys of a
// config that a workload sees. It is the xxhash64 of a canonical encoding in
// which every string is preceded by its length, so that no two different
// contents share an encoding. The recorded checksums of Secrets are keyed
// instead; see [ChecksumKey].
type Checksum uint64

// String returns the checksum as 16 lower-case hexadecimal digits, the form in
// which it is recorded on workloads.
func (c Checksum) String() string { return fmt.Sprintf("%016x", uint64(c)) }

// parseChecksum is the inverse of [Checksum.String]. It accepts no other input.
func parseChecksum(s string) (Checksum, error) {
	n, err := strconv.ParseUint(s, 16, 64)
	if err != nil || Checksum(n).String() != s {
		return 0, fmt.Errorf("parse checksum: %d bytes are not 16 hexadecimal digits", len(s))
	}
	return Checksum(n), nil
}

// keyChecksum returns the checksum of one key with its value.
func keyChecksum[V string | []byte](name string, value V) Checksum {
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
	return Checksum(digest.Sum64())
}

// setChecksum returns the checksum of a set of keys, which must be sorted by
// name. It uses the checksums of the keys, because the catalog does not keep
// their values.
func setChecksum(keys []Key) Checksum {
	var buffer [512]byte // large enough for most sets; it stays on the stack
	return Checksum(xxhash.Sum64(appendKeys(buffer[:0], keys)))
}

// appendKeys appends the encoding of a set of keys.
func appendKeys(encoded []byte, keys []Key) []byte {
	encoded = binary.LittleEndian.AppendUint64(encoded, uint64(len(keys)))
	for _, key := range keys {
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
