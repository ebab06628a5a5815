package catalog

import (
	"slices"
	"strings"
)

// maxLostKeys bounds how many edits are kept for keys that a config does not
// have any more. The oldest beyond that become one edit of unknown keys, so
// that a config that gets new keys all the time does not grow for ever.
const maxLostKeys = 32

// mergeEdits returns what is known of the edits of a config after those of its keys
// changed which are given. New ones come last, and their moment is [notYet].
func mergeEdits(previous *Config, present *arrival, changed []string) []Edit {
	if len(changed) == 0 {
		return previous.Edits
	}
	stays := func(edit Edit) bool {
		_, again := slices.BinarySearch(changed, edit.Key)
		return !again
	}
	kept := 0
	for _, edit := range previous.Edits {
		if stays(edit) {
			kept++
		}
	}
	edits := make([]Edit, 0, kept+len(changed)) // no more: they are kept, and there may be very many
	for _, edit := range previous.Edits {
		if stays(edit) {
			if key, found := findKey(present.config.Keys, edit.Key); found {
				edit.Key = key.Name // or else the former content's names are kept, too
			}
			edits = append(edits, edit)
		}
	}
	for _, key := range changed {
		recorded := findEdit(present.recorded, key)
		edits = append(edits, Edit{
			Key: key, At: present.date(recorded), Seen: notYet, Writer: recorded.Writer,
			binary: !inData(previous.Keys, key) && !inData(present.config.Keys, key),
		})
	}
	return foldLostKeys(edits, present.config.Keys)
}

// findEdit looks for the edit of a key among sorted ones. It returns the zero value if there
// is none.
func findEdit(edits []Edit, key string) Edit {
	i, found := slices.BinarySearchFunc(edits, key, func(edit Edit, key string) int { return strings.Compare(edit.Key, key) })
	if !found {
		return Edit{}
	}
	return edits[i]
}

// foldLostKeys makes one edit, which comes first, of the oldest ones of lost keys if there
// are too many of them.
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

// inData reports whether a key of that name stands in the data.
func inData(keys []Key, name string) bool {
	key, found := findKey(keys, name)
	return found && !key.Binary
}

// isVisible reports whether an edit of the config may be seen through a reference. Of one
// that nobody watched the present place of the key is all that is known.
func (c *Config) isVisible(edit Edit, selection Selection) bool {
	isBinary := edit.binary || edit.Seen == 0 && hasKey(c.Keys, edit.Key) && !inData(c.Keys, edit.Key)
	return edit.concerns(selection) && !(selection.DataOnly && isBinary)
}

// concerns reports whether an edit touched a key of the selection.
func (e Edit) concerns(selection Selection) bool { return e.Key == "" || selection.names(e.Key) }
