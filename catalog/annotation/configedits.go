package annotation

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"time"
	"unique"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubernetes-deployment-restart-controller/catalog/names"
)

// Edit is the last known change of one key's content.
type Edit struct {
	// Key is the name of the key, empty if the edit stands for several ones, of keys that are no longer known; see [content.FoldEdits].
	Key string
	// At is when the edit happened: the time at which the watch showed it or, if no
	// controller watched, the time in the config's managedFields, in whole seconds.
	At time.Time
	// Seen is the moment at which the watch showed it, and 0 if no controller watched.
	Seen names.Sequence
	// Writer is the field manager that made the edit, empty if it is not known.
	Writer string
	// Dated is when the API server dates an edit that a watch showed, in seconds of Unix time; 0
	// if it does not.
	Dated uint32
	// Binary means that the edit concerns only binaryData: the watch showed that the key was not in the data before or after,
	// nor did an edit of the key concern the data that this one replaces.
	Binary bool
	// Creation means that the edit is the creation of the whole config.
	Creation bool
	// OnlyLost means that an edit stands for several ones, of keys that the config no longer had, and Late that one of them was
	// late.
	OnlyLost, Late bool
}

// Join makes an edit of any key stand for one more. It is as late as the latest of them: a pod that has missed one of them
// has missed this one.
func (e *Edit) Join(edit Edit, isLost bool) {
	isFirst := e.At.IsZero()
	e.OnlyLost = e.OnlyLost && (isLost || edit.OnlyLost)
	e.Binary = edit.Binary && (isFirst || e.Binary)
	e.Late = e.Late || edit.IsLate()
	if edit.At.After(e.At) {
		e.At = edit.At
	}
	if e.Seen = max(e.Seen, edit.Seen); isFirst {
		e.Writer = edit.Writer
	} else if e.Writer != edit.Writer {
		e.Writer = ""
	}
}

// IsJoined reports whether the edit stands for several ones, of keys that are not known. All but one of them may have
// happened earlier.
func (e Edit) IsJoined() bool { return e.Key == "" && !e.Creation }

// Earliest returns when the edit happened, or an earlier time: when the watch showed it or, if the
// API server dates it earlier, that time.
func (e Edit) Earliest() time.Time {
	if dated := e.DatedAt(); !dated.IsZero() && dated.Before(e.At) {
		return dated
	}
	return e.At
}

// IsLate reports whether the watch was behind when it showed the edit. The API dates edits in whole seconds.
func (e Edit) IsLate() bool {
	return e.Late || names.IsAfter(e.At, e.Earliest().Add(time.Second), false)
}

// DatedAt returns when the API server dates the edit, zero if it does not.
func (e Edit) DatedAt() time.Time {
	switch {
	case e.Seen == 0:
		return e.At
	case e.Dated == 0:
		return time.Time{}
	}
	return time.Unix(int64(e.Dated), 0)
}

// RecordedEdits reads from the managedFields when the keys of a config changed after its
// creation, and which managers changed them. An entry's time is that of the last write in which
// its manager changed anything, so it may be later than the edit of a key. Removed keys leave no
// trace.
func RecordedEdits(meta *metav1.ObjectMeta) []Edit {
	var edits []Edit
	for i := range meta.ManagedFields {
		entry := &meta.ManagedFields[i]
		if entry.Time == nil || !entry.Time.After(meta.CreationTimestamp.Time) || IsForged(entry.Time.Time) {
			continue
		}
		edits = appendEdits(edits, entry)
	}
	if !slices.IsSortedFunc(edits, compareEdits) { // as they are if there is one entry
		slices.SortFunc(edits, compareEdits)
	}
	if len(edits) == 0 {
		return nil
	}
	// The list may have been much longer, since each manager of a key adds an edit.
	return slices.Clone(slices.CompactFunc(edits, func(a, b Edit) bool { return a.Key == b.Key }))
}

// DatesKeys reports whether the managedFields say of each of the keys when it was written last. They do, unless somebody has removed
// entries, or forged their times.
func DatesKeys(managedFields []metav1.ManagedFieldsEntry, keys []names.Key) bool {
	dated := make(map[string]bool)
	for i := range managedFields {
		if entry := &managedFields[i]; entry.Time != nil && !IsForged(entry.Time.Time) {
			for _, edit := range appendEdits(nil, entry) {
				dated[edit.Key] = true
			}
		}
	}
	return !slices.ContainsFunc(keys, func(key names.Key) bool { return !dated[key.Name] })
}

// compareEdits orders edits by their keys, and those of a key by their times, the last one first.
func compareEdits(a, b Edit) int {
	if order := strings.Compare(a.Key, b.Key); order != 0 { // nearly always
		return order
	}
	return cmp.Or(b.At.Compare(a.At), strings.Compare(a.Writer, b.Writer))
}

// appendEdits appends an edit for each key that an entry owns.
func appendEdits(edits []Edit, owner *metav1.ManagedFieldsEntry) []Edit {
	if owner.FieldsV1 == nil {
		return edits
	}
	manager := unique.Make(owner.Manager).Value() // there are few managers, and many edits
	fields := owner.FieldsV1.GetRawBytes()
	edits = slices.Grow(edits, bytes.Count(fields, []byte(`"f:`)))
	eachOwnedKey(fields, func(key string) {
		edits = append(edits, Edit{Key: key, At: owner.Time.Time, Writer: manager})
	})
	return edits
}

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
