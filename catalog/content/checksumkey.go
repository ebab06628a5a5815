package content

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io"

	"kubernetes-deployment-restart-controller/catalog/names"
)

// ChecksumKeySize is the length of a checksum key's secret in bytes.
const ChecksumKeySize = 32

// ChecksumKey keys the recorded checksums of Secrets: without the key, nobody can
// test a guess of a Secret's content against them. No method prints or encodes the
// secret part; in texts the key appears as its id. The zero value is no key.
type ChecksumKey struct {
	secret *[ChecksumKeySize]byte
	id     string
}

// NewChecksumKey makes a key from a random secret.
func NewChecksumKey(secret [ChecksumKeySize]byte) ChecksumKey {
	// The prefix separates the id from any other hash of the secret.
	sum := sha256.Sum256(append([]byte("deployment-restart checksum key id\x00"), secret[:]...))
	return ChecksumKey{secret: &secret, id: hex.EncodeToString(sum[:8])}
}

// IsZero reports whether there is no key.
func (k ChecksumKey) IsZero() bool { return k.secret == nil }

// ID names the key without revealing anything about it. It is empty for the zero
// value.
func (k ChecksumKey) ID() string { return k.id }

// Equal reports whether both are the same key.
func (k ChecksumKey) Equal(other ChecksumKey) bool { return k.id == other.id }

// String returns the id.
func (k ChecksumKey) String() string { return k.id }

// Format writes the id, whatever the verb, so that no way of printing reveals the
// secret.
func (k ChecksumKey) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, k.id) }

// MarshalText encodes the id.
func (k ChecksumKey) MarshalText() ([]byte, error) { return []byte(k.id), nil }

// checksum returns the HMAC-SHA-256, truncated to 64 bits, of a canonical encoding:
// the name of the Secret, and the names and checksums of its given keys, which must
// be sorted. The encoding includes the Secret's name so that nobody can put guesses
// into a Secret of their own and compare the checksums that the controller records
// for both.
func (k ChecksumKey) checksum(secret names.ConfigRef, keys names.Keys) names.Checksum {
	if k.IsZero() {
		return 0 // never recorded, see [record.Checksums.Annotations]
	}
	mac := hmac.New(sha256.New, k.secret[:])
	_, _ = mac.Write(appendKeys(appendString(nil, secret.String()), keys)) // a hash never fails to write
	return names.Checksum(binary.BigEndian.Uint64(mac.Sum(nil)))
}
