package catalog

import (
	"slices"
	"sync"
	"time"
)

const (
	// maxEdits is the highest number of edits kept of a config. The oldest edits beyond it become one edit of unknown keys, so
	// that whoever edits very many keys does not multiply the memory of the config.
	maxEdits = 1000
	// maxLostKeys is the highest number of edits kept for keys that a config no longer has, for the same reason: a config
	// can get new keys again and again.
	maxLostKeys = 32
)

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
	ofData := sync.OnceValue(previous.namesOfData)
	for _, key := range changed {
		recorded, _ := recordedEdits.find(key)
		now, isThere := keys.find(key)
		before, wasThere := formerKeys.find(key)
		isBinary := !(wasThere && !before.Binary) && !(isThere && !now.Binary)
		edits = append(edits, Edit{
			Key: key, At: present.date(recorded), Seen: notYet, Writer: recorded.Writer, dated: present.dated(key != "" && !isThere, recorded),
			binary: isBinary && !ofData()[key], // otherwise it stands for the edit that it replaces, too
		})
	}
	return foldEdits(edits, present.config.Keys, maxEdits, maxLostKeys)
}

// namesOfData returns the keys of the edits that concern not only binaryData.
func (c *Config) namesOfData() map[string]bool {
	names := make(map[string]bool)
	for _, edit := range c.Edits {
		if !c.isBinary(edit) {
			names[edit.Key] = true
		}
	}
	return names
}

// foldRecorded is foldEdits of what the managedFields of a config show, which is not sorted by time.
func foldRecorded(edits []Edit, keys []Key) []Edit {
	if len(edits) <= maxEdits {
		return edits
	}
	byTime := func(a, b Edit) int { return a.At.Compare(b.At) }
	return foldEdits(slices.SortedStableFunc(slices.Values(edits), byTime), keys, maxEdits, maxLostKeys)
}

// foldEdits joins the oldest edits into one edit, which comes first, if there are more than a limit in all, or more of lost
// keys than a limit. It leaves the list as it is.
func foldEdits(edits []Edit, keys []Key, limit, lostLimit int) []Edit {
	there := newKeyFinder(keys)
	isLost := func(edit Edit) bool {
		_, found := there.find(edit.Key)
		return edit.Key != "" && !found
	}
	known, lost := 0, 0
	for _, edit := range edits {
		if edit.Key != "" {
			known++
		}
		if isLost(edit) {
			lost++
		}
	}
	if known <= limit && lost <= lostLimit {
		return edits
	}
	kept := make([]Edit, 1, min(known, limit)+1)
	kept[0].onlyLost = true
	for _, edit := range edits { // the oldest come first
		isLost := isLost(edit)
		if edit.Key != "" && known <= limit && !(isLost && lost > lostLimit) {
			kept = append(kept, edit)
			continue
		}
		kept[0].join(edit, isLost)
		if edit.Key != "" {
			known--
		}
		if isLost {
			lost--
		}
	}
	return kept
}

// join makes an edit of any key stand for one more. It is as late as the latest of them: a pod that has missed one of them
// has missed this one.
func (e *Edit) join(edit Edit, isLost bool) {
	isFirst := e.At.IsZero()
	e.onlyLost = e.onlyLost && (isLost || edit.onlyLost)
	e.binary = edit.binary && (isFirst || e.binary)
	if edit.At.After(e.At) {
		e.At = edit.At
	}
	if e.Seen = max(e.Seen, edit.Seen); isFirst {
		e.Writer = edit.Writer
	} else if e.Writer != edit.Writer {
		e.Writer = ""
	}
}

// isJoined reports whether the edit stands for several ones, of keys that are not known. All but one of them may have
// happened earlier.
func (e Edit) isJoined() bool { return e.Key == "" && !e.creation }

// earliest returns when the edit happened, or an earlier time: when the watch showed it or, if the
// API server dates it earlier, that time.
func (e Edit) earliest() time.Time {
	if dated := time.Unix(int64(e.dated), 0); e.dated > 0 && dated.Before(e.At) {
		return dated
	}
	return e.At
}

// editedAt returns when the watch showed the edits of a moment, the zero value if that is not known any more, or if c is nil.
func (c *Config) editedAt(moment Sequence) time.Time {
	if c == nil {
		return time.Time{}
	}
	i := slices.IndexFunc(c.Edits, func(edit Edit) bool { return edit.Seen == moment && !edit.isJoined() })
	if i < 0 || moment == 0 {
		return time.Time{}
	}
	return c.Edits[i].At
}

// EditedAt returns when the watch showed the edits of a config of a moment, the zero value if that is not known any more.
func (c *Catalog) EditedAt(ref ConfigRef, moment Sequence) time.Time {
	return c.Config(ref).editedAt(moment)
}

// EditedBeforeWatching returns when the last edit of a config was made that no watch showed, zero if none is known.
func (c *Catalog) EditedBeforeWatching(ref ConfigRef) time.Time {
	return c.Config(ref).LastEdit(func(edit Edit) bool { return edit.Seen == 0 })
}

// LastEdit returns when the last of certain edits was made, zero if there is none, or if c is nil.
func (c *Config) LastEdit(is func(Edit) bool) (last time.Time) {
	if c == nil {
		return last
	}
	for _, edit := range c.Edits {
		if edit.At.After(last) && is(edit) {
			last = edit.At
		}
	}
	return last
}

// EditedAt returns when the first of the edits was made that a restart is for, as far as a watch showed them; the zero value
// if it showed none. It also reports whether a watch showed all of them; the others may be earlier.
func (v *View) EditedAt(d *Decision) (first time.Time, knowsAll bool) {
	knowsAll = len(d.Causes) > 0 && d.MoreCauses == 0
	for i := range d.Causes {
		config := v.Configs[d.Causes[i].Config]
		for _, moment := range d.Causes[i].Moments {
			at := config.editedAt(moment)
			if knowsAll = knowsAll && !at.IsZero(); !at.IsZero() && (first.IsZero() || at.Before(first)) {
				first = at
			}
		}
	}
	return first, knowsAll
}

// EditedBefore returns when the first of the edits was made that a restart is for, of those from before the catalog watched that
// the API server dates after the record; zero if there is none, or the workload opted in later.
func (v *View) EditedBefore(d *Decision) (first time.Time) {
	written := v.Workload.Applied.Written
	if written.IsZero() || v.Workload.EnabledAfter > 0 {
		return first
	}
	for i := range d.Causes {
		config := v.Configs[d.Causes[i].Config]
		if config == nil || !slices.Contains(d.Causes[i].Moments, 0) {
			continue
		}
		selected := selections(v.Workload.ReferencesTo(d.Causes[i].Config))
		for _, edit := range config.Edits {
			isFirst := edit.Seen == 0 && edit.At.After(written) && (first.IsZero() || edit.At.Before(first))
			if isFirst && config.isSeen(edit, selected) {
				first = edit.At
			}
		}
	}
	return first
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

// isBinary reports whether an edit of the config concerns only binaryData. If no watch showed the edit, only the present place of
// the key is known.
func (c *Config) isBinary(edit Edit) bool {
	return edit.binary || edit.Seen == 0 && hasKey(c.Keys, edit.Key) && !inData(c.Keys, edit.Key)
}

// isVisible reports whether a reference with the selection may see an edit of the config.
func (c *Config) isVisible(edit Edit, selection Selection) bool {
	return edit.concerns(selection) && !(selection.DataOnly && c.isBinary(edit))
}

// isSeen reports whether a reference with one of the selections may see an edit.
func (c *Config) isSeen(edit Edit, selected []Selection) bool {
	return slices.ContainsFunc(selected, func(selection Selection) bool { return c.isVisible(edit, selection) })
}

// concerns reports whether an edit touched a key of the selection.
func (e Edit) concerns(selection Selection) bool { return e.Key == "" || selection.names(e.Key) }
