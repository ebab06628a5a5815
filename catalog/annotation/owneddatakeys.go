package annotation

import (
	"bytes"
	"encoding/json"
	"strings"
)

// keyFields are the members of a ConfigMap or Secret that have keys. StringData holds the ownership of the keys of a Secret
// that was written with server-side apply: the API server moves the values to the data, but not the ownership.
var keyFields = []string{`"f:data"`, `"f:binaryData"`, `"f:stringData"`}

// eachOwnedKey calls a function with each key of a config that an entry of its managedFields owns. The entry's fields are
// objects in objects, and there may be a megabyte of them, of which a decoder would make maps. An entry that is no JSON owns
// nothing: no API server wrote it.
func eachOwnedKey(fields []byte, take func(key string)) {
	if !json.Valid(fields) {
		return
	}
	depth, isInKeys := 0, false
	for i := 0; i < len(fields); i++ {
		switch fields[i] {
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		case '"':
			text := fields[i : i+endOfText(fields[i:])]
			if i += len(text) - 1; depth == 1 {
				isInKeys = isKeyField(text)
			} else if depth == 2 && isInKeys && i+1 < len(fields) && fields[i+1] == ':' {
				if key, isKey := strings.CutPrefix(unquoted(text), "f:"); isKey { // the member "." is the map itself
					take(key)
				}
			}
		}
	}
}

func isKeyField(text []byte) bool {
	for _, field := range keyFields {
		if string(text) == field {
			return true
		}
	}
	return false
}

// endOfText returns where a text of valid JSON ends that begins with its quote.
func endOfText(encoded []byte) int {
	for i := 1; i < len(encoded); i++ {
		switch encoded[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(encoded)
}

// unquoted returns a text of valid JSON without its quotes.
func unquoted(text []byte) (value string) {
	if bytes.IndexByte(text, '\\') < 0 {
		return string(text[1 : len(text)-1])
	}
	_ = json.Unmarshal(text, &value)
	return value
}
