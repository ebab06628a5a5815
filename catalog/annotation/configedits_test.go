package annotation

import (
	"slices"
	"testing"
)

func TestKeysOfAConfigThatAnEntryOwnsAreFoundInItsFields(t *testing.T) {
	for fields, want := range map[string][]string{
		`{"f:data":{".":{},"f:a":{},"f:b.c":{}},"f:type":{},"f:metadata":{"f:data":{"f:x":{}},"f:labels":{"f:y":{}}}}`: {"a", "b.c"},
		`{"f:binaryData":{"f:a":{}},"f:stringData":{"f:b":{}},"f:immutable":{}}`:                                       {"a", "b"},
		`{"f:data":{"f:a\"\\\u0062":{"f:deep":{}},"f:c":{}}}`:                                                          {`a"\b`, "c"},
		`{"f:data":"f:a","f:other":["f:b",{"f:c":{}}]}`:                                                                nil,
		`{"f:data":["f:a"]}`:  nil,
		`{"f:data":{"f:a":{}`: nil,
		`"f:data"`:            nil,
		``:                    nil,
	} {
		var got []string
		eachOwnedKey([]byte(fields), func(key string) { got = append(got, key) })
		if !slices.Equal(got, want) {
			t.Errorf("%s: got %q, want %q", fields, got, want)
		}
	}
}

func FuzzTheKeysThatAnEntryOwns(f *testing.F) {
	f.Add([]byte(`{"f:data":{".":{},"f:a":{},"f:b\n":{}}}`))
	f.Add([]byte(`{"f:data":"\\\"","f:data":{"f:`))
	f.Fuzz(func(_ *testing.T, fields []byte) { eachOwnedKey(fields, func(string) {}) })
}
