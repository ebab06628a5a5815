package catalog

import "time"

// maxLostKeys is the highest number of edits kept for keys that a config no longer has. The
// oldest edits beyond it become one edit of unknown keys, so that a config that keeps
// getting new keys does not use more and more memory.
const maxLostKeys = 32

// mergeEdits returns the known edits of a config after the given keys changed. New edits
// come last, and their moment is [notYet].
func mergeEdits(previous *Config, present *arrival, changed []string) []Edit {
	if len(changed) == 0 {
		return previous.Edits
	}
	again := newNameFinder(changed)
	stays := func(edit Edit) bool {
		_, isAgain := again.find(edit.Key)
		return !isAgain
	}
	keys, formerKeys, recordedEdits := newKeyFinder(present.config.Keys), newKeyFinder(previous.Keys), newEditFinder(present.recorded)
	kept := 0
	for _, edit := range previous.Edits {
		if stays(edit) {
			kept++
		}
	}
	edits := make([]Edit, 0, kept+len(changed)) // the exact capacity: the edits are kept, and there may be very many
	for _, edit := range previous.Edits {
		if stays(edit) {
			if key, found := keys.find(edit.Key); found {
				edit.Key = key.Name // otherwise the names of the former content stay in memory too
			}
			edits = append(edits, edit)
		}
	}
	for _, key := range changed {
		recorded, _ := recordedEdits.find(key)
		now, isThere := keys.find(key)
		before, wasThere := formerKeys.find(key)
		edits = append(edits, Edit{
			Key: key, At: present.date(recorded), Seen: notYet, Writer: recorded.Writer, dated: present.dated(key != "" && !isThere, recorded),
			binary: !(wasThere && !before.Binary) && !(isThere && !now.Binary),
		})
	}
	return foldLostKeys(edits, present.config.Keys)
}

// foldLostKeys joins the oldest edits of lost keys into one edit, which comes first, if
// there are too many of them.
func foldLostKeys(edits []Edit, keys []Key) []Edit {
	there := newKeyFinder(keys)
	isLost := func(edit Edit) bool {
		_, found := there.find(edit.Key)
		return edit.Key != "" && !found
	}
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

// earliest returns when the edit happened, or an earlier time: when the watch showed it or, if the
// API server dates it earlier, that time.
func (e Edit) earliest() time.Time {
	if dated := time.Unix(int64(e.dated), 0); e.dated > 0 && dated.Before(e.At) {
		return dated
	}
	return e.At
}

func hasKey(keys []Key, name string) bool {
	_, found := findKey(keys, name)
	return found
}

// inData reports whether the data has a key of that name.
func inData(keys []Key, name string) bool {
	key, found := findKey(keys, name)
	return found && !key.Binary
}

// isVisible reports whether a reference with the selection may see an edit of the config. If
// no watch showed the edit, only the present place of the key is known.
func (c *Config) isVisible(edit Edit, selection Selection) bool {
	isBinary := edit.binary || edit.Seen == 0 && hasKey(c.Keys, edit.Key) && !inData(c.Keys, edit.Key)
	return edit.concerns(selection) && !(selection.DataOnly && isBinary)
}

// concerns reports whether an edit touched a key of the selection.
func (e Edit) concerns(selection Selection) bool { return e.Key == "" || selection.names(e.Key) }
