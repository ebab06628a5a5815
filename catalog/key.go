package catalog

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io"
)

// ChecksumKeySize is the length of a checksum key's secret in bytes.
const ChecksumKeySize = 32

// ChecksumKey keys the recorded checksums of Secrets: who does not have it cannot
// test a guess of a Secret's content against them. Nothing prints or encodes it;
// in texts it shows its id. The zero value is no key.
type ChecksumKey struct {
	secret *[ChecksumKeySize]byte
	id     string
}

// NewChecksumKey makes a key of a random secret.
func NewChecksumKey(secret [ChecksumKeySize]byte) ChecksumKey {
	// The prefix keeps the id apart from whatever else may be hashed of the secret.
	sum := sha256.Sum256(append([]byte("deployment-restart checksum key id\x00"), secret[:]...))
	return ChecksumKey{secret: &secret, id: hex.EncodeToString(sum[:8])}
}

// IsZero reports whether it is no key.
func (k ChecksumKey) IsZero() bool { return k.secret == nil }

// ID names the key without telling anything of it. It is empty for no key.
func (k ChecksumKey) ID() string { return k.id }

// Equal reports whether both are the same key.
func (k ChecksumKey) Equal(other ChecksumKey) bool { return k.id == other.id }

// String returns the id.
func (k ChecksumKey) String() string { return k.id }

// Format writes the id, whatever the verb, so that no way of printing reaches
// further.
func (k ChecksumKey) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, k.id) }

// MarshalText encodes the id.
func (k ChecksumKey) MarshalText() ([]byte, error) { return []byte(k.id), nil }

// checksum is the HMAC-SHA-256, cut to 64 bits, of a canonical encoding: the name
// of the Secret, and the names and checksums of the given keys of it, which must be
// sorted. The name is in it so that nobody can try guesses in a Secret of their own
// and compare what the controller records of that.
func (k ChecksumKey) checksum(secret ConfigRef, keys []Key) Checksum {
	if k.IsZero() {
		return 0 // never recorded, see [Checksums.Annotations]
	}
	mac := hmac.New(sha256.New, k.secret[:])
	_, _ = mac.Write(appendKeys(appendString(nil, secret.String()), keys)) // a hash never fails to write
	return Checksum(binary.BigEndian.Uint64(mac.Sum(nil)))
}
