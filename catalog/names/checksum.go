package names

import (
	"fmt"
	"strconv"
)

// Checksum identifies the content of one key of a config, or of the keys of a
// config that a workload sees. It is the xxhash64 of a canonical encoding in
// which every string is preceded by its length, so that no two different
// contents share an encoding. The recorded checksums of Secrets are keyed
// instead; see [content.ChecksumKey].
type Checksum uint64

// String returns the checksum as 16 lower-case hexadecimal digits, the form in
// which it is recorded on workloads.
func (c Checksum) String() string { return fmt.Sprintf("%016x", uint64(c)) }

// ParseChecksum is the inverse of [Checksum.String]. It accepts no other input.
func ParseChecksum(s string) (Checksum, error) {
	n, err := strconv.ParseUint(s, 16, 64)
	if err != nil || Checksum(n).String() != s {
		return 0, fmt.Errorf("parse checksum: %d bytes are not 16 hexadecimal digits", len(s))
	}
	return Checksum(n), nil
}
