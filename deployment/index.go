package deployment

import (
	"crypto/sha256"
	"encoding/binary"
)

// digest represents texts in 16 bytes: the beginning of their SHA-256.
type digest [16]byte

func digestOf(texts ...string) digest {
	buffer := make([]byte, 0, 256)
	for _, text := range texts {
		buffer = binary.AppendUvarint(buffer, uint64(len(text)))
		buffer = append(buffer, text...)
	}
	sum := sha256.Sum256(buffer)
	return digest(sum[:16])
}

// index finds the members of groups. A member may be in several groups.
type index map[digest]map[digest]struct{}

func (x index) add(member digest, groups []digest) {
	for _, group := range groups {
		if x[group] == nil {
			x[group] = map[digest]struct{}{}
		}
		x[group][member] = struct{}{}
	}
}

func (x index) remove(member digest, groups []digest) {
	for _, group := range groups {
		if delete(x[group], member); len(x[group]) == 0 {
			delete(x, group)
		}
	}
}
