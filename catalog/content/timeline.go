package content

import (
	"iter"
	"slices"
	"strings"
	"time"

	"kubernetes-deployment-restart-controller/catalog/annotation"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/template"
)

const (
	// MaxEdits is the highest number of keys whose edits are kept of a config. Those of the keys that were edited longest ago
	// become one edit of unknown keys, so that whoever edits very many keys does not multiply the memory of the config.
	MaxEdits = 1000
	// MaxLostKeys is the same for keys that a config no longer has, for the same reason: a config can get new keys again and
	// again.
	MaxLostKeys = 32
	// MaxEarlier is the highest number of edits kept of a config besides the last one of each key.
	MaxEarlier = 64
	// MaxEarlierOfKey is the same for one key, so that a key that changes all the time does not displace the others.
	MaxEarlierOfKey = 8
)

// Version is content that a key, or the whole config, had until an edit ended it. Pods that read the config then may have other
// content than the present one, even if the present content is the same as before.
type Version struct {
	// End is the edit that ended it. It says what the content was, unless it stands for others.
	End *annotation.Edit
	// From is when the content came, or earlier if that is vague. Until is when it had gone. If a watch shows that late, the times
	// are those that the API server gives, as far as it gives any: From is never after it, and Until is never before it.
	From, Until names.Sighting
	IsVague     bool
}

// IsAbsence reports whether the whole config was gone.
func (v *Version) IsAbsence() bool { return v.End.Key == annotation.WholeConfig }

// IsOther reports whether a reference that could read the content would read something else in the config now.
func (v *Version) IsOther(config *Config, by *template.Reference) bool {
	if v.End.IsUnknown() || v.IsAbsence() {
		return true
	}
	then, now := names.Key{Name: v.End.Key, Checksum: v.End.Ended, Binary: v.End.EndedBinary}, names.Key{Name: v.End.Key}
	if key, found := FindKey(config.Keys, v.End.Key); found && by.Keys.Selects(key) {
		now = key
	}
	if !by.Keys.Selects(then) { // it was in the binaryData
		then.Checksum = 0
	}
	return then.Checksum != now.Checksum
}

// Versions returns the earlier versions of a config that a reference to it could read. What was there before the catalog
// watched is none, because no record comes from an earlier moment.
func (c *Config) Versions(by *template.Reference) iter.Seq[Version] {
	return func(yield func(Version) bool) {
		c.eachKey(by.Keys, func(edits []annotation.Edit) bool { return c.eachVersion(edits, by, yield) })
	}
}

// Absences returns the versions in which the config was gone.
func (c *Config) Absences() iter.Seq[Version] {
	return c.Versions(&template.Reference{Optional: true, Keys: template.Selection{Names: []string{}}})
}

// eachVersion calls a function with the versions of a key, given its edits, until the function returns false. Each came with the
// edit before the one that ended it.
func (c *Config) eachVersion(edits []annotation.Edit, by *template.Reference, yield func(Version) bool) bool {
	from, isVague := c.beginning(edits)
	for i := range edits {
		edit := &edits[i]
		v := Version{End: edit, From: from, Until: names.Sighting{At: edit.DoneBy(), Seen: edit.Seen}, IsVague: isVague}
		if v.Until.At.Before(v.From.At) {
			v.From.At = v.Until.At // the API may date the end before the watch showed the beginning
		}
		if from.Seen > 0 && edit.Seen > 0 && c.canRead(by, &v) && !yield(v) {
			return false
		}
		from, isVague = names.Sighting{At: edit.Earliest(), Seen: edit.Seen}, false
	}
	return true
}

// beginning returns when the content came that the first of the known edits of a key ended, or earlier if that is vague. Its moment
// is 0 if the content was there before the catalog watched.
func (c *Config) beginning(edits []annotation.Edit) (from names.Sighting, isVague bool) {
	switch first := &edits[0]; {
	case first.Since > 0:
		return names.Sighting{At: time.Unix(int64(first.Since), 0), Seen: 1}, true
	case c.mayBeJoined(first.Key, edits) && c.Edits[0].Since <= names.UnixSeconds(first.Earliest()):
		return names.Sighting{At: time.Unix(int64(c.Edits[0].Since), 0), Seen: 1}, true
	case first.Key == annotation.WholeConfig:
		return names.Sighting{}, false
	case c.Appeared < first.Seen:
		return names.Sighting{At: c.Creation().At, Seen: c.Appeared}, false
	}
	for _, edit := range c.editsOf(annotation.WholeConfig) { // the config has been created again since
		switch {
		case edit.Seen >= edits[0].Seen:
		case edit.IsCreation():
			from, isVague = names.Sighting{At: edit.Earliest(), Seen: edit.Seen}, false
		case edit.Since > 0:
			from, isVague = names.Sighting{At: time.Unix(int64(edit.Since), 0), Seen: 1}, true
		}
	}
	return from, isVague
}

// canRead reports whether a reference could read an earlier version. The absence of the whole config concerns only containers that
// start without it.
func (c *Config) canRead(by *template.Reference, v *Version) bool {
	switch {
	case v.IsAbsence():
		return by.Optional && (v.End.Ended == 0 || v.End.Since > 0)
	case v.End.IsJoined():
		listed, isList := by.Keys.Listed()
		return !isList || slices.ContainsFunc(listed, func(key string) bool { return c.mayBeJoined(key, c.editsOf(key)) })
	}
	return by.Keys.HasName(v.End.Key) && !(by.Keys.DataOnly && v.End.Binary)
}

// mayBeJoined reports whether the edit that stands for others, if a watch showed it, may be of a key that has these other edits.
func (c *Config) mayBeJoined(key string, others []annotation.Edit) bool {
	switch joined := &c.Edits[0]; {
	case !joined.IsJoined() || joined.Seen == 0 || key == annotation.WholeConfig:
		return false
	case !joined.OnlyLost:
		return true
	case len(others) > 0:
		return others[0].Ended == 0
	}
	return !HasKey(c.Keys, key)
}

// eachKey calls a function with the edits of each key of a selection, those of one key together, and before them with the edit that
// stands for others, until the function returns false. Without a list of keys, it calls it with all.
func (c *Config) eachKey(selection template.Selection, take func([]annotation.Edit) bool) {
	listed, isList := selection.Listed()
	switch {
	case len(c.Edits) == 0:
	case !isList:
		names.Runs(c.Edits, isSameKey)(take)
	default:
		takeKey := func(key string) bool {
			edits := c.editsOf(key)
			return len(edits) == 0 || take(edits)
		}
		if takeKey("") && takeKey(annotation.WholeConfig) {
			for _, key := range listed {
				if !takeKey(key) {
					return
				}
			}
		}
	}
}

// isSameKey makes the edits of a config runs of those of one key.
func isSameKey(a, b *annotation.Edit) bool { return a.Key == b.Key }

// editsOf returns the edits of a key.
func (c *Config) editsOf(key string) []annotation.Edit {
	first, _ := slices.BinarySearchFunc(c.Edits, key, func(edit annotation.Edit, key string) int { return strings.Compare(edit.Key, key) })
	end := first
	for end < len(c.Edits) && c.Edits[end].Key == key {
		end++
	}
	return c.Edits[first:end]
}

// LastEdits returns the last edit of each key of a selection, and before them the edit that stands for others.
func (c *Config) LastEdits(selection template.Selection) iter.Seq[annotation.Edit] {
	return func(yield func(annotation.Edit) bool) {
		c.eachKey(selection, func(edits []annotation.Edit) bool {
			last := &edits[len(edits)-1]
			return last.Key == annotation.WholeConfig || !Concerns(*last, selection) || yield(*last)
		})
	}
}

// LastOf returns the last edit of a key, or the one that may stand for it, or the zero Edit if no edit is known.
func (c *Config) LastOf(key string) (last annotation.Edit) {
	for edit := range c.LastEdits(template.Selection{Names: []string{key}}) {
		last = edit
	}
	return last
}

// GoneSince returns since when a config is gone; zero if it exists.
func (c *Config) GoneSince() (since names.Sighting) {
	if c != nil && c.Deleted {
		for _, edit := range c.editsOf(annotation.WholeConfig) {
			since = names.Sighting{At: edit.At, Seen: edit.Seen}
		}
	}
	return since
}

// EditedAt returns when the watch showed the edits of a moment, the zero value if that is not known any more, or if c is nil.
func (c *Config) EditedAt(moment names.Sequence) time.Time {
	if c == nil {
		return time.Time{}
	}
	i := slices.IndexFunc(c.Edits, func(edit annotation.Edit) bool { return edit.Seen == moment && edit.IsOfKey() })
	if i < 0 || moment == 0 {
		return time.Time{}
	}
	return c.Edits[i].At
}

// HasContentOf reports whether a key has the content that the edit of a moment gave it, or may have. 0 stands for edits that no
// watch showed. It is false if c is nil.
func (c *Config) HasContentOf(moment names.Sequence) bool {
	return c != nil && (moment == 0 || c.Appeared == moment || c.Ref.Kind.IsPerPod() ||
		c.HasEdit(func(edit annotation.Edit) bool { return edit.Seen == moment }))
}

// HasEdit reports whether one of the last edits of the keys is such an edit.
func (c *Config) HasEdit(is func(annotation.Edit) bool) bool {
	for edit := range c.LastEdits(template.Selection{}) {
		if is(edit) {
			return true
		}
	}
	return false
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
	for edit := range c.LastEdits(template.Selection{}) {
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

// isBinary reports whether an edit of the config concerns only binaryData. If no watch showed the edit, only the present place of
// the key is known.
func (c *Config) isBinary(edit annotation.Edit) bool {
	key, _ := FindKey(c.Keys, edit.Key)
	return edit.Binary || edit.Seen == 0 && key.Binary
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
	return !e.IsOfKey() || selection.HasName(e.Key)
}

// IsAmong reports whether the edit concerns one of the keys; no keys means any.
func IsAmong(e annotation.Edit, keys []string) bool {
	return len(keys) == 0 || !e.IsOfKey() || slices.Contains(keys, e.Key)
}

// Creation returns the edit that created the config.
func (c *Config) Creation() annotation.Edit {
	return annotation.Edit{Key: annotation.WholeConfig, At: time.Unix(int64(c.Created), 0).UTC(), Seen: c.Appeared}
}
