package content

import (
	"slices"
	"sync"
	"time"

	"kubernetes-deployment-restart-controller/catalog/annotation"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/template"
)

const (
	// MaxEdits is the highest number of edits kept of a config. The oldest edits beyond it become one edit of unknown keys, so
	// that whoever edits very many keys does not multiply the memory of the config.
	MaxEdits = 1000
	// MaxLostKeys is the highest number of edits kept for keys that a config no longer has, for the same reason: a config
	// can get new keys again and again.
	MaxLostKeys = 32
)

// mergeEdits returns the known edits of a config after the given keys changed. New edits
// come last, and their moment is [notYet].
func mergeEdits(previous *Config, present *Arrival, changed []string) []annotation.Edit {
	if len(changed) == 0 {
		return previous.Edits
	}
	again := newNameFinder(changed)
	stays := func(edit annotation.Edit) bool {
		_, isAgain := again.find(edit.Key)
		return !isAgain
	}
	keys, formerKeys, recordedEdits := newKeyFinder(present.Config.Keys), newKeyFinder(previous.Keys), newEditFinder(present.recorded)
	kept := 0
	for _, edit := range previous.Edits {
		if stays(edit) {
			kept++
		}
	}
	edits := make([]annotation.Edit, 0, kept+len(changed)) // the exact capacity: the edits are kept, and there may be very many
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
		edits = append(edits, annotation.Edit{
			Key: key, At: present.date(recorded), Seen: notYet, Writer: recorded.Writer, Dated: present.dated(key != "" && !isThere, recorded),
			Binary: isBinary && !ofData()[key], // otherwise it stands for the edit that it replaces, too
		})
	}
	return FoldEdits(edits, present.Config.Keys, MaxEdits, MaxLostKeys)
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

// FoldRecorded is FoldEdits of what the managedFields of a config show, which is not sorted by time.
func FoldRecorded(edits []annotation.Edit, keys names.Keys) []annotation.Edit {
	if len(edits) <= MaxEdits {
		return edits
	}
	byTime := func(a, b annotation.Edit) int { return a.At.Compare(b.At) }
	return FoldEdits(slices.SortedStableFunc(slices.Values(edits), byTime), keys, MaxEdits, MaxLostKeys)
}

// FoldEdits joins the oldest edits into one edit, which comes first, if there are more than a limit in all, or more of lost
// keys than a limit. It leaves the list as it is.
func FoldEdits(edits []annotation.Edit, keys names.Keys, limit, lostLimit int) []annotation.Edit {
	there := newKeyFinder(keys)
	isLost := func(edit annotation.Edit) bool {
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
	kept := make([]annotation.Edit, 1, min(known, limit)+1)
	kept[0].OnlyLost = true
	for _, edit := range edits { // the oldest come first
		isLost := isLost(edit)
		if edit.Key != "" && known <= limit && !(isLost && lost > lostLimit) {
			kept = append(kept, edit)
			continue
		}
		kept[0].Join(edit, isLost)
		if edit.Key != "" {
			known--
		}
		if isLost {
			lost--
		}
	}
	return kept
}

// EditedAt returns when the watch showed the edits of a moment, the zero value if that is not known any more, or if c is nil.
func (c *Config) EditedAt(moment names.Sequence) time.Time {
	if c == nil {
		return time.Time{}
	}
	i := slices.IndexFunc(c.Edits, func(edit annotation.Edit) bool { return edit.Seen == moment && !edit.IsJoined() })
	if i < 0 || moment == 0 {
		return time.Time{}
	}
	return c.Edits[i].At
}

// HasContentOf reports whether a key has the content that the edit of a moment gave it, or may have. 0 stands for edits that no
// watch showed. It is false if c is nil.
func (c *Config) HasContentOf(moment names.Sequence) bool {
	return c != nil && (moment == 0 || c.Appeared == moment || c.Ref.Kind.IsPerPod() ||
		slices.ContainsFunc(c.Edits, func(edit annotation.Edit) bool { return edit.Seen == moment }))
}

// EditedBeforeWatching returns when the last edit was made that no watch showed, zero if none is known, or if c is nil.
func (c *Config) EditedBeforeWatching() time.Time {
	return c.LastEdit(func(edit annotation.Edit) bool { return edit.Seen == 0 })
}

// LastEdit returns when the last of certain edits was made, zero if there is none, or if c is nil.
func (c *Config) LastEdit(is func(annotation.Edit) bool) (last time.Time) {
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

// HasKey reports whether a key is among those.
func HasKey(keys names.Keys, name string) bool {
	_, found := FindKey(keys, name)
	return found
}

// inData reports whether the data has a key of that name.
func inData(keys names.Keys, name string) bool {
	key, found := FindKey(keys, name)
	return found && !key.Binary
}

// isBinary reports whether an edit of the config concerns only binaryData. If no watch showed the edit, only the present place of
// the key is known.
func (c *Config) isBinary(edit annotation.Edit) bool {
	return edit.Binary || edit.Seen == 0 && HasKey(c.Keys, edit.Key) && !inData(c.Keys, edit.Key)
}

// IsVisible reports whether a reference with the selection may see an edit of the config.
func (c *Config) IsVisible(edit annotation.Edit, selection template.Selection) bool {
	return Concerns(edit, selection) && !(selection.DataOnly && c.isBinary(edit))
}

// IsSeen reports whether a reference with one of the selections may see an edit.
func (c *Config) IsSeen(edit annotation.Edit, selected []template.Selection) bool {
	for _, selection := range selected { // a closure would be allocated in the loops of other packages
		if c.IsVisible(edit, selection) {
			return true
		}
	}
	return false
}

// Concerns reports whether an edit touched a key of the selection.
func Concerns(e annotation.Edit, selection template.Selection) bool {
	return e.Key == "" || selection.HasName(e.Key)
}

// IsAmong reports whether the edit concerns one of the keys; no keys means any.
func IsAmong(e annotation.Edit, keys []string) bool {
	return len(keys) == 0 || e.Key == "" || slices.Contains(keys, e.Key)
}

// Creation returns the edit that created the config.
func (c *Config) Creation() annotation.Edit {
	return annotation.Edit{At: time.Unix(int64(c.Created), 0).UTC(), Seen: c.Appeared, Creation: true}
}
