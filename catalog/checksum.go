package catalog

import (
	"encoding/binary"
	"fmt"
	"strconv"

	"github.com/cespare/xxhash/v2"
)

// Checksum identifies a content: of one key of a config, or of the keys of a
// config that a workload sees. It is the xxhash64 of a canonical encoding in
// which every string is preceded by its length, so that no two different
// contents share an encoding.
type Checksum uint64

// String returns the checksum as 16 lower-case hexadecimal digits, the form in
// which it is recorded on workloads.
func (c Checksum) String() string { return fmt.Sprintf("%016x", uint64(c)) }

// ParseChecksum is the inverse of [Checksum.String]. It accepts nothing else.
func ParseChecksum(s string) (Checksum, error) {
	n, err := strconv.ParseUint(s, 16, 64)
	if err != nil || Checksum(n).String() != s {
		return 0, fmt.Errorf("parse checksum: %d bytes are not 16 hexadecimal digits", len(s))
	}
	return Checksum(n), nil
}

// keyChecksum is the checksum of one key with its value.
func keyChecksum[V string | []byte](name string, value V) Checksum {
	digest := xxhash.New()
	writeString(digest, name)
	writeLength(digest, len(value))
	switch v := any(value).(type) {
	case string:
		_, _ = digest.WriteString(v) // a hash never fails to write
	case []byte:
		_, _ = digest.Write(v)
	}
	return Checksum(digest.Sum64())
}

// setChecksum is the checksum of a set of keys, which must be sorted by name.
// It is computed from the checksums of the keys, because their values are gone.
func setChecksum(keys []Key) Checksum {
	digest := xxhash.New()
	writeLength(digest, len(keys))
	for _, key := range keys {
		writeString(digest, key.Name)
		writeUint64(digest, uint64(key.Checksum))
	}
	return Checksum(digest.Sum64())
}

func writeString(digest *xxhash.Digest, s string) {
	writeLength(digest, len(s))
	_, _ = digest.WriteString(s)
}

func writeLength(digest *xxhash.Digest, n int) { writeUint64(digest, uint64(n)) }

func writeUint64(digest *xxhash.Digest, n uint64) {
	var buffer [8]byte
	binary.LittleEndian.PutUint64(buffer[:], n)
	_, _ = digest.Write(buffer[:])
}
