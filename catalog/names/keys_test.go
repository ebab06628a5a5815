package names

import (
	"runtime"
	"slices"
	"strings"
	"testing"
	"weak"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func drawKeys(t *rapid.T) []Key {
	key := rapid.Custom(func(t *rapid.T) Key {
		return Key{Name: rapid.StringMatching("[ab]{1,2}").Draw(t, "name"), Checksum: Checksum(rapid.IntRange(0, 1).Draw(t, "checksum")), Binary: rapid.Bool().Draw(t, "binary")}
	})
	return rapid.SliceOfNDistinct(key, 0, 4, func(k Key) string { return k.Name }).Draw(t, "keys")
}

func TestKeysAreThoseThatTheyWereMadeOf(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want, other := drawKeys(t), drawKeys(t)
		keys, others := NewKeys(slices.Clone(want)), NewKeys(slices.Clone(other))
		byName := func(a, b Key) int { return strings.Compare(a.Name, b.Name) }
		slices.SortFunc(want, byName)
		slices.SortFunc(other, byName)
		if diff := cmp.Diff(want, append([]Key{}, slices.Collect(keys.All())...)); diff != "" || keys.Len() != len(want) {
			t.Fatalf("%d keys (-want +got):\n%s", keys.Len(), diff)
		}
		for i, key := range want {
			if keys.At(i) != key || keys.Names()[i] != key.Name {
				t.Fatalf("key %d: %v, want %v", i, keys.At(i), key)
			}
		}
		if keys.Equal(others) != slices.Equal(want, other) || others.Equal(keys) != slices.Equal(want, other) {
			t.Fatalf("%v and %v are equal: %t", want, other, keys.Equal(others))
		}
		isBinary := func(key Key) bool { return key.Binary }
		binary := keys.Where(isBinary)
		if got := slices.Collect(binary.All()); !slices.Equal(got, slices.DeleteFunc(want, func(key Key) bool { return !key.Binary })) {
			t.Fatalf("%v are binary", got)
		}
		if keys.HasBinary() != (binary.Len() > 0) {
			t.Fatalf("has binary: %t", keys.HasBinary())
		}
	})
}

func TestKeysOfTheSameNamesShareThem(t *testing.T) {
	NewKeys([]Key{{Name: "one"}, {Name: "two"}}) // nothing is shared of the first config with some names
	a, b := NewKeys([]Key{{Name: "one", Checksum: 1}, {Name: "two"}}), NewKeys([]Key{{Name: "two"}, {Name: "one", Checksum: 2}})
	if a.shape != b.shape {
		t.Error("two lists of the same names are in memory")
	}
	if again := a; a.Place() == b.Place() || a.Place() != again.Place() {
		t.Error("the checksums of one config seem to be those of another")
	}
	for _, others := range [][]Key{{{Name: "one"}}, {{Name: "one", Binary: true}, {Name: "two"}}, {{Name: "onet"}, {Name: "wo"}}} {
		if NewKeys(others); NewKeys(others).shape == a.shape {
			t.Errorf("%v have the names of others", others)
		}
	}
	long := []Key{{Name: strings.Repeat("x", longestShared+1)}}
	if one, two := NewKeys(long), NewKeys(long); one.shape == two.shape {
		t.Error("very long names are looked up")
	}
}

func TestKeysWithTheSameHashHaveTheirOwnNames(t *testing.T) {
	keys := []Key{{Name: "collides"}}
	NewKeys(keys)
	first, another := NewKeys(keys).shape, &shape{[]string{"another"}, []bool{false}}
	shapes.Lock()
	for id, known := range shapes.of {
		if known.Value() == first {
			shapes.of[id] = weak.Make(another)
		}
	}
	shapes.Unlock()
	if got := NewKeys(keys).Names(); !slices.Equal(got, []string{"collides"}) {
		t.Errorf("the names are %v", got)
	}
	runtime.KeepAlive(first)
	runtime.KeepAlive(another)
}

// idOf returns the hash of a shape that is shared, and whether it is.
func idOf(shape *shape) (id uint64, isShared bool) {
	shapes.Lock()
	defer shapes.Unlock()
	for id, known := range shapes.of {
		if known.Value() == shape {
			return id, true
		}
	}
	return 0, false
}

func TestNamesThatOneConfigHasHaveNoEntry(t *testing.T) {
	keys := NewKeys([]Key{{Name: "a name that comes once"}})
	if _, isShared := idOf(keys.shape); isShared {
		t.Error("they have")
	}
}

// Anyone may make configs with names of their own again and again.
func TestNothingIsKeptOfNamesThatNoConfigHasAnyMore(t *testing.T) {
	isKnown := func(id uint64) bool {
		shapes.Lock()
		defer shapes.Unlock()
		_, found := shapes.of[id]
		return found
	}
	names := []Key{{Name: "a name that no other test uses"}}
	NewKeys(names)
	keys := NewKeys(names)
	shape := weak.Make(keys.shape)
	id, isShared := idOf(keys.shape)
	if !isShared {
		t.Fatal("a shape in use is not known")
	}
	runtime.KeepAlive(keys.shape)
	for shape.Value() != nil || isKnown(id) {
		runtime.GC()
	}
}
