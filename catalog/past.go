package catalog

import (
	"slices"
	"strings"
	"time"

	"github.com/cespare/xxhash/v2"
)

const (
	// maxPast is the highest number of past contents kept for a config, which are the last ones.
	maxPast = 64
	// maxPastOfKey is the highest number of past contents kept for one key, so that a key that
	// changes all the time does not displace the others. The older contents are joined into one.
	maxPastOfKey = 8
	// maxJoinedKeys is the highest number of keys that content of several keys is known to concern. Beyond it, it concerns all.
	maxJoinedKeys = 128
	// settledAfter is how long a past content is kept although it went before all records were
	// made. It is longer than any request takes: the watch can show a record before the answer to
	// its write shows that the decision was made earlier.
	settledAfter = 2 * time.Minute
)

// Past is content that a config had for a while, of one key or as a whole: the watch showed how it
// came and went. Pods that read the config then may have other content than the present one, even
// if the present content is the same as before.
type Past struct {
	// Key is the name of the key, empty if the content concerns several keys, or all.
	Key string
	// joined are the hashes of the names of several keys, sorted; nil means all keys.
	joined []uint64
	// Content is the checksum of the key, 0 if the key or the whole config was missing.
	Content Checksum
	// Mixed means that there was more than one content, and that Content is not the checksum of
	// any of them.
	Mixed bool
	// Vague means that the content came at From or later.
	Vague bool
	// WasBinary means that the key was in the binaryData, and Binary that it was not in the data
	// before or after.
	WasBinary, Binary bool
	// From and Until are when the content came and when it went. It is still there if Until is
	// zero. If a watch shows that late, the times are those that the API server gives, as far as it
	// gives any: From is never after it, and Until is never before it.
	From, Until Sighting
}

// Sighting is when a watch showed something: by the clock, and in the order of observations.
type Sighting struct {
	At   time.Time
	Seen Sequence
}

// pastOf returns the past contents of a config that has arrived, after the ones that were already
// known. It does not keep content that was there before the catalog watched, because no record
// comes from an earlier moment.
func pastOf(known []Past, previous *Config, present *arrival, changed []string) []Past {
	var ended []Past
	if last := len(known) - 1; previous.Deleted && last >= 0 && known[last].isOpen() {
		back := known[last]
		back.end(Sighting{present.doneBy(false, Edit{}), notYet})
		known, ended = known[:last:last], append(ended, back)
	}
	since := seenSince(previous, changed)
	formerKeys, keys, recordedEdits := newKeyFinder(previous.Keys), newKeyFinder(present.config.Keys), newEditFinder(present.recorded)
	for _, key := range changed {
		before, wasThere := formerKeys.find(key)
		from, isExact := since(key, wasThere)
		if from.Seen == 0 {
			continue
		}
		now, isThere := keys.find(key)
		recorded, _ := recordedEdits.find(key)
		past := Past{
			Key: key, Content: before.Checksum, Vague: !isExact, WasBinary: before.Binary, From: from,
			Binary: !(wasThere && !before.Binary) && !(isThere && !now.Binary),
		}
		past.end(Sighting{present.doneBy(key != "" && !isThere, recorded), notYet})
		ended = append(ended, past)
	}
	if len(ended) == 0 {
		return known
	}
	if len(ended) >= maxPast {
		ended = []Past{mix("", ended...)}
	}
	return boundPast(slices.Concat(known, ended))
}

// end notes when the content went. The API may date that before the watch showed that it came.
func (p *Past) end(until Sighting) {
	p.Until = until
	if until.At.Before(p.From.At) {
		p.From.At = until.At
	}
}

// withoutSettled returns the past contents without the ones that no decision needs any more: they
// went a while ago and before the oldest record of a workload, both by the order of observations
// and by the clock. It looks for the oldest record only if a content went a while ago.
func withoutSettled(past []Past, now time.Time, recorded func() Sighting) []Past {
	isLongGone := func(p Past) bool { return !p.isOpen() && now.Sub(p.Until.At) > settledAfter }
	if !slices.ContainsFunc(past, isLongGone) {
		return past
	}
	oldest := recorded()
	return slices.DeleteFunc(slices.Clone(past), func(p Past) bool {
		return isLongGone(p) && p.Until.Seen <= oldest.Seen && oldest.At.Sub(p.Until.At) >= clockTolerance
	})
}

// seenSince returns a function that returns when the watch showed the content of a key, which the config has or lacks: zero
// if the watch did not show how the content came. It returns false if that is not known because the edit was joined with
// others. The content may then have come at any time since the one that it returns.
func seenSince(config *Config, keys []string) func(key string, isThere bool) (from Sighting, isExact bool) {
	changed := newNameFinder(keys)
	var seen []Edit
	var joined Edit
	for _, edit := range config.Edits {
		_, isOne := changed.find(edit.Key)
		switch {
		case edit.Seen == 0:
		case edit.isJoined():
			joined = edit
		case isOne:
			seen = append(seen, edit)
		}
	}
	byKey := func(a, b Edit) int { return strings.Compare(a.Key, b.Key) }
	if !slices.IsSortedFunc(seen, byKey) {
		slices.SortFunc(seen, byKey)
	}
	edits := newEditFinder(seen)
	first := Sighting{config.creation().At, config.Appeared}
	return func(key string, isThere bool) (Sighting, bool) {
		edit, isSeen := edits.find(key)
		switch {
		case isSeen:
			return Sighting{edit.earliest(), edit.Seen}, true
		case joined.Seen == 0 || joined.onlyLost && isThere:
			return first, true
		}
		return Sighting{first.At, max(first.Seen, 1)}, false
	}
}

// withGone adds the absence of the whole config.
func withGone(known []Past, since Sighting) []Past {
	return boundPast(append(slices.Clip(known), Past{From: since}))
}

// isOpen reports whether the content has not gone yet.
func (p *Past) isOpen() bool { return p.Until.Seen == 0 }

// isAbsence reports whether the whole config was gone.
func (p *Past) isAbsence() bool { return p.Key == "" && !p.Mixed }

// boundPast keeps the last contents as they are. It joins the older contents of a key into one,
// and also those for which there is no room.
func boundPast(all []Past) []Past {
	bounded := make([]Past, 0, min(len(all), maxPast))
	count, oldest := make(map[string]int), make(map[string]int) // by key; oldest holds indexes into bounded
	var rest []Past
	for _, p := range slices.Backward(all) {
		if count[p.Key]++; count[p.Key] > maxPastOfKey {
			bounded[oldest[p.Key]] = mix(p.Key, p, bounded[oldest[p.Key]])
		} else if len(bounded) < maxPast-1 {
			oldest[p.Key] = len(bounded)
			bounded = append(bounded, p)
		} else {
			count[p.Key]--
			rest = append(rest, p)
		}
	}
	if len(rest) > 0 {
		bounded = append(bounded, mix("", rest...))
	}
	slices.Reverse(bounded)
	return bounded
}

// mix joins several past contents that have gone into one that covers the whole time.
func mix(key string, several ...Past) Past {
	mixed := Past{Key: key, Mixed: true, Binary: true, From: several[0].From, Until: several[0].Until}
	for _, p := range several {
		if p.From.At.Before(mixed.From.At) {
			mixed.From.At = p.From.At
		}
		if p.Until.At.After(mixed.Until.At) {
			mixed.Until.At = p.Until.At
		}
		mixed.From.Seen, mixed.Until.Seen = min(mixed.From.Seen, p.From.Seen), max(mixed.Until.Seen, p.Until.Seen)
		mixed.Binary = mixed.Binary && p.Binary
	}
	if key == "" {
		mixed.joined = joinedKeys(several)
	}
	return mixed
}

// joinedKeys returns the hashes of the keys that several past contents concern, nil if they may concern all. Hashes take
// little memory, however long the names are; two keys of one hash may only cause a needless restart.
func joinedKeys(several []Past) []uint64 {
	if len(several) > maxJoinedKeys {
		return nil
	}
	var joined []uint64
	for _, p := range several {
		switch {
		case p.Key != "":
			joined = append(joined, xxhash.Sum64String(p.Key))
		case p.joined == nil:
			return nil
		}
		joined = append(joined, p.joined...)
	}
	slices.Sort(joined)
	if joined = slices.Compact(joined); len(joined) > maxJoinedKeys {
		return nil
	}
	return slices.Clone(joined) // there may have been many more
}

// concerns reports whether a reference could read the content. The absence of the whole config
// concerns only containers that start without it.
func (p *Past) concerns(reference *Reference) bool {
	switch {
	case p.isAbsence():
		return reference.Optional
	case p.Key == "":
		return p.concernsListed(reference.Keys)
	}
	return reference.Keys.names(p.Key) && !(reference.Keys.DataOnly && p.Binary)
}

// concernsListed reports whether content of several keys may concern keys of a selection. Rules are not compared with each of
// the keys: there may be very many of both.
func (p *Past) concernsListed(selection Selection) bool {
	names, isList := selection.Listed()
	return p.joined == nil || !isList || slices.ContainsFunc(names, func(name string) bool {
		_, found := slices.BinarySearch(p.joined, xxhash.Sum64String(name))
		return found
	})
}

// concernsAny reports whether one of the references could read the content.
func (p *Past) concernsAny(references []Reference) bool {
	return slices.ContainsFunc(references, func(r Reference) bool { return p.concerns(&r) })
}

// isOther reports whether a reference could read other content than the present one while the past
// content was there. The place of a key matters only to references that do not see the binaryData.
func (p *Past) isOther(config *Config, reference *Reference) bool {
	if !p.concerns(reference) {
		return false
	}
	present, _ := findKey(config.Keys, p.Key)
	return p.Mixed || p.Key == "" || p.Content != present.Checksum || reference.Keys.DataOnly && p.WasBinary != present.Binary
}

// addPast adds the past contents of a config.
func (v *View) addPast(config ConfigRef, past []Past) {
	if v.Past == nil {
		v.Past = make(map[ConfigRef][]Past)
	}
	v.Past[config] = past
}
