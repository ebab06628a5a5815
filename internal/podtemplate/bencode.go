package podtemplate

import (
	"maps"
	"slices"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// emptyDictionary is the encoding of a struct with no field set.
const emptyDictionary = "de"

func appendString[S string | []byte](text []byte, s S) []byte {
	text = strconv.AppendInt(text, int64(len(s)), 10)
	return append(append(text, ':'), s...)
}

func appendInt(text []byte, i int64) []byte {
	return append(strconv.AppendInt(append(text, 'i'), i, 10), 'e')
}

// appendBool appends a number, since bencode has no booleans.
func appendBool(text []byte, b bool) []byte {
	if b {
		return appendInt(text, 1)
	}
	return appendInt(text, 0)
}

func appendMap[K ~string, V any](text []byte, m map[K]V, appendTo func([]byte, V) []byte) []byte {
	text = append(text, 'd')
	for _, key := range slices.Sorted(maps.Keys(m)) {
		text = appendTo(appendString(text, string(key)), m[key])
	}
	return append(text, 'e')
}

// appendQuantity appends an amount as decimal digits with an exponent that is a
// multiple of three, whatever its notation: 1.5Gi and 1610612736 are 1610612736e0.
func appendQuantity(text []byte, q resource.Quantity) []byte {
	if q.IsZero() {
		return appendString(text, "0")
	}
	var digits [32]byte
	number, exponent := q.AsCanonicalBytes(digits[:0])
	return appendString(text, strconv.AppendInt(append(number, 'e'), int64(exponent), 10))
}

func appendTime(text []byte, t metav1.Time) []byte {
	return appendString(text, t.UTC().Format(time.RFC3339Nano))
}

func appendFields(text []byte, f metav1.FieldsV1) []byte {
	return appendString(text, f.GetRawString())
}
