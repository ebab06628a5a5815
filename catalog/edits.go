package catalog

import (
	"slices"
	"strings"
	"time"
)

// maxLostKeys bounds how many edits are kept for keys that a config does not
// have any more. The oldest beyond that become one edit of unknown keys, so
// that a config that gets new keys all the time does not grow for ever.
const maxLostKeys = 32

// mergeEdits returns what is known of the edits of a config after its content
// went from that of previous to that of present, which was shown at the given
// moment.
func mergeEdits(previous, present *Config, date func(key string) time.Time, seen Moment) []Edit {
	changed := changedKeys(previous.Keys, present.Keys)
	if len(changed) == 0 {
		return previous.Edits
	}
	edits := slices.DeleteFunc(slices.Clone(previous.Edits), func(edit Edit) bool {
		_, again := slices.BinarySearch(changed, edit.Key)
		return again
	})
	for _, key := range changed {
		edits = append(edits, Edit{
			Key: key, At: date(key), Seen: seen, Writer: present.recordedEdit(key).Writer,
			binary: !inData(previous.Keys, key) && !inData(present.Keys, key),
		})
	}
	return foldLostKeys(edits, present.Keys)
}

// datedBy returns when the keys of a config that was listed at the given time may
// have changed: when the config's managedFields say, which is not before the
// edit, else then.
func (c *Config) datedBy(listed time.Time) func(key string) time.Time {
	return func(key string) time.Time {
		if at := c.recordedEdit(key).At; !at.IsZero() && !at.After(listed) {
			return at
		}
		return listed
	}
}

// recordedEdit returns what the managedFields of a config that has just arrived
// tell of the last edit of a key, and the zero value if that is nothing.
func (c *Config) recordedEdit(key string) Edit {
	i, found := slices.BinarySearchFunc(c.Edits, key, func(edit Edit, key string) int { return strings.Compare(edit.Key, key) })
	if !found {
		return Edit{}
	}
	return c.Edits[i]
}

func foldLostKeys(edits []Edit, keys []Key) []Edit {
	isLost := func(edit Edit) bool { return edit.Key != "" && !hasKey(keys, edit.Key) }
	lost := 0
	for _, edit := range edits {
		if isLost(edit) {
			lost++
		}
	}
	if lost <= maxLostKeys {
		return edits
	}
	var folded Edit
	kept := edits[:0]
	for _, edit := range edits { // the oldest come first
		switch {
		case edit.Key == "":
			folded = edit
		case isLost(edit) && lost > maxLostKeys:
			folded = Edit{At: edit.At, Seen: edit.Seen, Writer: edit.Writer}
			lost--
		default:
			kept = append(kept, edit)
		}
	}
	return append([]Edit{folded}, kept...)
}

func hasKey(keys []Key, name string) bool {
	_, found := findKey(keys, name)
	return found
}

// inData tells whether a key of that name stands in the data.
func inData(keys []Key, name string) bool {
	key, found := findKey(keys, name)
	return found && !key.Binary
}

// isVisible tells whether an edit of the config may be seen through a reference. Of one
// that nobody watched the present place of the key is all that is known.
func (c *Config) isVisible(edit Edit, selection Selection) bool {
	isBinary := edit.binary || edit.Seen == 0 && hasKey(c.Keys, edit.Key) && !inData(c.Keys, edit.Key)
	return edit.concerns(selection) && !(selection.DataOnly && isBinary)
}

// concerns tells whether an edit touched a key of the selection.
func (e Edit) concerns(selection Selection) bool { return e.Key == "" || selection.names(e.Key) }
