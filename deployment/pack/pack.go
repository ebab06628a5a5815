// Package pack makes one text of many values, so that a cache holds them in little memory.
package pack

import (
	"encoding/binary"
	"maps"
	"slices"
	"strings"
	"time"
)

// Packer appends values to a text. An [Unpacker] reads them in the same order. The zero value is
// an empty text. It must not be used concurrently.
type Packer struct{ packed []byte }

// Unpacker reads the text of a [Packer]. It panics on other texts. What it returns shares the text,
// unless its method says otherwise.
type Unpacker struct{ packed string }

// UnpackerOf returns an Unpacker at the beginning of a text.
func UnpackerOf(packed string) Unpacker { return Unpacker{packed} }

// String returns the text so far.
func (p *Packer) String() string { return string(p.packed) }

// Numbers appends numbers, the small ones in few bytes.
func (p *Packer) Numbers(numbers ...int64) {
	for _, number := range numbers {
		p.packed = binary.AppendVarint(p.packed, number)
	}
}

// Number returns the next number.
func (u *Unpacker) Number() int64 {
	number, shift := uint64(0), 0
	for i := range len(u.packed) {
		b := u.packed[i]
		number |= uint64(b&0x7f) << shift
		if shift += 7; b < 0x80 {
			u.packed = u.packed[i+1:]
			break
		}
	}
	return int64(number>>1) ^ -int64(number&1) // as binary.Varint does
}

// Flags are bits of one number, the first the lowest.
func (p *Packer) Flags(flags ...bool) {
	bits := int64(0)
	for i, isSet := range flags {
		if isSet {
			bits |= 1 << i
		}
	}
	p.Numbers(bits)
}

// Flags reads as many flags as it is given.
func (u *Unpacker) Flags(flags ...*bool) {
	bits := u.Number()
	for i, flag := range flags {
		*flag = bits&(1<<i) != 0
	}
}

// Texts appends texts of any content.
func (p *Packer) Texts(texts ...string) {
	for _, text := range texts {
		p.Numbers(int64(len(text)))
		p.packed = append(p.packed, text...)
	}
}

// Text returns the next text.
func (u *Unpacker) Text() string {
	length := u.Number()
	text := u.packed[:length]
	u.packed = u.packed[length:]
	return text
}

// OwnText returns a text that does not share the packed one. Keeping it, for example as
// a key, does not keep everything else in memory.
func (u *Unpacker) OwnText() string { return strings.Clone(u.Text()) }

// Time appends a time, exact to the second, as in the API.
func (p *Packer) Time(t time.Time) { p.Numbers(t.Unix()) }

// Time returns the next time.
func (u *Unpacker) Time() time.Time { return time.Unix(u.Number(), 0) }

// TextMap appends the entries of a map whose keys are kept. Maps with the same entries are packed the same.
func (p *Packer) TextMap(m map[string]string, keeps func(key string) bool) {
	keys := slices.Sorted(maps.Keys(m))
	keys = slices.DeleteFunc(keys, func(key string) bool { return !keeps(key) })
	p.Numbers(int64(len(keys)))
	for _, key := range keys {
		p.Texts(key, m[key])
	}
}

// TextMap returns a new map with room for more entries.
func (u *Unpacker) TextMap(more int) map[string]string {
	length := int(u.Number())
	m := make(map[string]string, length+more)
	for range length {
		key := u.Text()
		m[key] = u.Text()
	}
	return m
}

// Values appends the values of the given keys, any of which may be absent.
func (p *Packer) Values(of map[string]string, keys []string) {
	present := int64(0)
	for i, key := range keys {
		if _, found := of[key]; found {
			present |= 1 << i
		}
	}
	p.Numbers(present)
	for _, key := range keys {
		if value, found := of[key]; found {
			p.Texts(value)
		}
	}
}

// Values adds the values of the given keys to a map.
func (u *Unpacker) Values(into map[string]string, keys []string) {
	present := u.Number()
	for i, key := range keys {
		if present&(1<<i) != 0 {
			into[key] = u.Text()
		}
	}
}
