// Package digest represents texts, such as the name and UID of an object, in a few bytes, for
// maps that have an entry for each object of a cluster.
package digest

import (
	"crypto/sha256"
	"encoding/binary"
)

// Digest represents texts: the beginning of their SHA-256. Nobody can choose names so that
// two digests are equal.
type Digest [16]byte

// Of returns the digest of texts. It depends on where one text ends and the next begins.
func Of(texts ...string) Digest {
	buffer := make([]byte, 0, 256)
	for _, text := range texts {
		buffer = binary.AppendUvarint(buffer, uint64(len(text)))
		buffer = append(buffer, text...)
	}
	sum := sha256.Sum256(buffer)
	return Digest(sum[:16])
}
