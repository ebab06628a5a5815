package deployment

import (
	"encoding/binary"
	"maps"
	"slices"
	"strings"
	"time"
	"unique"
)

// packer appends values to a text. An unpacker reads them in the same order; what it
// returns shares the text.
type packer struct{ packed []byte }

// unpacker reads the text of a packer.
type unpacker struct{ packed string }

func (p *packer) string() string                { return string(p.packed) }
func (p *packer) handle() unique.Handle[string] { return unique.Make(string(p.packed)) }

func (p *packer) numbers(numbers ...int64) {
	for _, number := range numbers {
		p.packed = binary.AppendVarint(p.packed, number)
	}
}

func (u *unpacker) number() int64 {
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

// flags are bits of one number, the first the lowest.
func (p *packer) flags(flags ...bool) {
	bits := int64(0)
	for i, isSet := range flags {
		if isSet {
			bits |= 1 << i
		}
	}
	p.numbers(bits)
}

func (u *unpacker) flags(flags ...*bool) {
	bits := u.number()
	for i, flag := range flags {
		*flag = bits&(1<<i) != 0
	}
}

func (p *packer) texts(texts ...string) {
	for _, text := range texts {
		p.numbers(int64(len(text)))
		p.packed = append(p.packed, text...)
	}
}

func (u *unpacker) text() string {
	length := u.number()
	text := u.packed[:length]
	u.packed = u.packed[length:]
	return text
}

// ownText returns a text that does not share the packed one. Keeping it, for example as
// a key, does not keep everything else in memory.
func (u *unpacker) ownText() string { return strings.Clone(u.text()) }

// time appends a time, exact to the second, as in the API.
func (p *packer) time(t time.Time) { p.numbers(t.Unix()) }

func (u *unpacker) time() time.Time { return time.Unix(u.number(), 0) }

// textMap appends a map without the keys that keeps rejects.
func (p *packer) textMap(m map[string]string, keeps func(key string) bool) {
	keys := slices.Sorted(maps.Keys(m))
	keys = slices.DeleteFunc(keys, func(key string) bool { return !keeps(key) })
	p.numbers(int64(len(keys)))
	for _, key := range keys {
		p.texts(key, m[key])
	}
}

// textMap returns a map with room for more entries.
func (u *unpacker) textMap(more int) map[string]string {
	length := int(u.number())
	m := make(map[string]string, length+more)
	for range length {
		key := u.text()
		m[key] = u.text()
	}
	return m
}

// values appends the values of the given keys, any of which may be absent.
func (p *packer) values(of map[string]string, keys []string) {
	present := int64(0)
	for i, key := range keys {
		if _, found := of[key]; found {
			present |= 1 << i
		}
	}
	p.numbers(present)
	for _, key := range keys {
		if value, found := of[key]; found {
			p.texts(value)
		}
	}
}

func (u *unpacker) values(into map[string]string, keys []string) {
	present := u.number()
	for i, key := range keys {
		if present&(1<<i) != 0 {
			into[key] = u.text()
		}
	}
}
