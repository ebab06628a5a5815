package names

import (
	"hash/maphash"
	"iter"
	"runtime"
	"slices"
	"strings"
	"sync"
	"weak"
)

// Key is what the catalog keeps of one key of a config.
type Key struct {
	Name     string
	Checksum Checksum
	// Binary means that the key is in a ConfigMap's binaryData, which environment variables
	// cannot use. It is not part of the checksum: in a volume, the same bytes are the same
	// file.
	Binary bool
}

// Keys are the keys of a config, sorted by name. They are never modified. Many configs have keys of the same names, so these
// share one list of them.
type Keys struct {
	shape     *shape // nil without keys
	checksums []Checksum
}

// shape is what the keys of many configs have in common.
type shape struct {
	names  []string // sorted
	binary []bool   // for each name, whether the key is in the binaryData
}

// NewKeys returns keys. It sorts the slice.
func NewKeys(keys []Key) Keys {
	if len(keys) == 0 {
		return Keys{}
	}
	slices.SortFunc(keys, func(a, b Key) int { return strings.Compare(a.Name, b.Name) })
	checksums := make([]Checksum, len(keys))
	for i := range keys {
		checksums[i] = keys[i].Checksum
	}
	return Keys{sharedShape(keys), checksums}
}

// Names returns the names of all keys, which must not be modified.
func (k Keys) Names() []string {
	if k.shape == nil {
		return nil
	}
	return k.shape.names
}

// Len returns how many keys there are.
func (k Keys) Len() int { return len(k.checksums) }

// At returns a key by its place in the order of names.
func (k Keys) At(i int) Key {
	return Key{Name: k.shape.names[i], Checksum: k.checksums[i], Binary: k.shape.binary[i]}
}

// All iterates over the keys in the order of their names.
func (k Keys) All() iter.Seq[Key] {
	return func(yield func(Key) bool) {
		for i := range k.checksums {
			if !yield(k.At(i)) {
				return
			}
		}
	}
}

// HasBinary reports whether a key is in the binaryData.
func (k Keys) HasBinary() bool { return k.shape != nil && slices.Contains(k.shape.binary, true) }

// Equal reports whether both are the same keys with the same content.
func (k Keys) Equal(other Keys) bool {
	if !slices.Equal(k.checksums, other.checksums) {
		return false
	}
	return k.shape == other.shape || slices.Equal(k.shape.names, other.shape.names) && slices.Equal(k.shape.binary, other.shape.binary)
}

// Where returns the keys for which a function returns true. It calls the function once for each.
func (k Keys) Where(is func(Key) bool) Keys {
	for i := range k.checksums {
		if !is(k.At(i)) {
			return k.without(i, is)
		}
	}
	return k
}

// without returns the keys before one, and those after it for which a function returns true.
func (k Keys) without(i int, is func(Key) bool) Keys {
	s := &shape{slices.Clone(k.shape.names[:i]), slices.Clone(k.shape.binary[:i])}
	checksums := slices.Clone(k.checksums[:i])
	for i++; i < len(k.checksums); i++ {
		if key := k.At(i); is(key) {
			s.names, s.binary, checksums = append(s.names, key.Name), append(s.binary, key.Binary), append(checksums, key.Checksum)
		}
	}
	if len(checksums) == 0 {
		return Keys{}
	}
	return Keys{s, checksums}
}

// Place identifies the keys by where they are in memory, without keeping them there. There must be keys.
func (k Keys) Place() weak.Pointer[Checksum] { return weak.Make(&k.checksums[0]) }

func newShape(keys []Key) *shape {
	s := &shape{make([]string, len(keys)), make([]bool, len(keys))}
	for i := range keys {
		s.names[i], s.binary[i] = keys[i].Name, keys[i].Binary
	}
	return s
}

// shapes are the shared shapes that are in use, by a hash of what they are. Nobody can know the seed, so nobody can make hashes
// collide; of two shapes with the same hash, the later one is shared.
//
// An entry takes 200 bytes, which names that only one config has are not worth. So a shape is shared from its second config on,
// unless many others were made in between: the hash of the first is in last, where others replace it.
var shapes = struct {
	sync.Mutex
	seed maphash.Seed
	of   map[uint64]weak.Pointer[shape]
	last [1 << 14]uint64
}{seed: maphash.MakeSeed(), of: make(map[uint64]weak.Pointer[shape])}

// longestShared is how long the names together may be in a shape that is shared. Configs with more are unlikely to have the same, and
// to look for it would take longer than everything else.
const longestShared = 4096

// sharedShape returns the shape of keys, usually the same one for the same names.
func sharedShape(keys []Key) *shape {
	length := 0
	var hash maphash.Hash
	hash.SetSeed(shapes.seed)
	for i := range keys {
		if length += len(keys[i].Name); length > longestShared {
			return newShape(keys)
		}
		_, _ = hash.WriteString(keys[i].Name) // a hash never fails to write
		maphash.WriteComparable(&hash, keys[i].Binary)
	}
	id := hash.Sum64()
	shapes.Lock()
	defer shapes.Unlock()
	if known := shapes.of[id].Value(); known != nil && known.isOf(keys) {
		return known
	}
	s := newShape(keys)
	if last := &shapes.last[id%uint64(len(shapes.last))]; *last != id {
		*last = id
		return s
	}
	shapes.of[id] = weak.Make(s)
	runtime.AddCleanup(s, forgetShape, id)
	return s
}

// isOf reports whether keys have the shape.
func (s *shape) isOf(keys []Key) bool {
	if len(s.names) != len(keys) {
		return false
	}
	for i := range keys {
		if s.names[i] != keys[i].Name || s.binary[i] != keys[i].Binary {
			return false
		}
	}
	return true
}

// forgetShape forgets a shape that is not in use any more, unless one with the same hash is.
func forgetShape(id uint64) {
	shapes.Lock()
	defer shapes.Unlock()
	if shapes.of[id].Value() == nil {
		delete(shapes.of, id)
	}
}
