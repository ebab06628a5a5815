package content

import (
	"cmp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/cespare/xxhash/v2"

	"kubernetes-deployment-restart-controller/catalog/annotation"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/template"
)

const (
	// MaxPast is the highest number of past contents kept for a config, which are the last ones.
	MaxPast = 64
	// MaxPastOfKey is the highest number of past contents kept for one key, so that a key that
	// changes all the time does not displace the others. The older contents are joined into one.
	MaxPastOfKey = 8
	// MaxJoinedKeys is the highest number of keys that content of several keys is known to concern. Beyond it, it concerns all.
	MaxJoinedKeys = 128
	// SettledAfter is how long a past content is kept although it went before all records were
	// made. It is longer than any request takes: the watch can show a record before the answer to
	// its write shows that the decision was made earlier.
	SettledAfter = 2 * time.Minute
)

// Past is content that a config had for a while, of one key or as a whole: the watch showed how it
// came and went. Pods that read the config then may have other content than the present one, even
// if the present content is the same as before.
type Past struct {
	// Key is the name of the key, empty if the content concerns several keys, or all.
	Key string
	// Joined are the hashes of the names of several keys, sorted; nil means all keys.
	Joined []uint64
	// Content is the checksum of the key, 0 if the key or the whole config was missing.
	Content names.Checksum
	// Mixed means that there was more than one content, and that Content is not the checksum of
	// any of them.
	Mixed bool
	// Vague means that the content came at From or later.
	Vague bool
	// Late means that the watch was behind when it showed how the content came, so that it may have come before what was shown first.
	Late bool
	// LastFrom is by when the last of several mixed contents had come, or a vague one.
	LastFrom names.Sighting
	// WasBinary means that the key was in the binaryData, and Binary that it was not in the data
	// before or after.
	WasBinary, Binary bool
	// From and Until are when the content came and when it went. It is still there if Until is
	// zero. If a watch shows that late, the times are those that the API server gives, as far as it
	// gives any: From is never after it, and Until is never before it.
	From, Until names.Sighting
}

// pastOf returns the past contents of a config that has arrived, after the ones that were already
// known. It does not keep content that was there before the catalog watched, because no record
// comes from an earlier moment.
func pastOf(known []Past, previous *Config, present *Arrival, changed []string) []Past {
	var ended []Past
	dated := previous.datedBefore()
	if last := len(known) - 1; previous.Deleted && last >= 0 && known[last].IsOpen() {
		back := known[last]
		back.end(names.Sighting{At: present.doneBy(false, annotation.Edit{}), Seen: notYet}, dated)
		known, ended = known[:last:last], append(ended, back)
	}
	since := seenSince(previous, changed)
	formerKeys, keys, recordedEdits := newKeyFinder(previous.Keys), newKeyFinder(present.Config.Keys), newEditFinder(present.recorded)
	for _, key := range changed {
		before, wasThere := formerKeys.find(key)
		past := since(key, wasThere)
		if past.From.Seen == 0 {
			continue
		}
		now, isThere := keys.find(key)
		recorded, _ := recordedEdits.find(key)
		past.Key, past.Content, past.WasBinary = key, before.Checksum, before.Binary
		past.Binary = !(wasThere && !before.Binary) && !(isThere && !now.Binary)
		past.end(names.Sighting{At: present.doneBy(key != "" && !isThere, recorded), Seen: notYet}, dated)
		ended = append(ended, past)
	}
	if len(ended) == 0 {
		return known
	}
	if len(ended) >= MaxPast {
		ended = []Past{Mix("", ended...)}
	}
	return boundPast(slices.Concat(known, ended))
}

// end notes when the content went. If the API clearly dates that before the watch showed that the content came, the watch was
// behind: the content may have come at any time since what the API dates before it.
func (p *Past) end(until names.Sighting, dated func(before names.Sequence, at time.Time) time.Time) {
	isBehind := names.IsAfter(p.From.At, until.At, false)
	switch p.Until = until; {
	case p.Vague:
		p.From.At, p.Late = dated(0, until.At), p.Late || isBehind
	case isBehind:
		p.LastFrom = p.From
		p.From.At, p.Vague, p.Late = dated(p.From.Seen, until.At), true, true
	}
	p.From.At = names.Earliest(p.From.At, until.At)
}

// datedBefore returns a function that returns the last time before a moment at which the API server dates an edit of the config,
// or its creation. It is that of the creation for the moment 0, and if a date is not before the given time, so that it is forged.
func (c *Config) datedBefore() func(names.Sequence, time.Time) time.Time {
	edits, creation := c.Edits, c.Creation().At
	if len(edits) > 0 && edits[0].IsJoined() {
		edits = edits[1:]
	}
	upTo := sync.OnceValue(func() []time.Time { // the last date of each edit and those before it; there may be very many
		last, dates := creation, make([]time.Time, len(edits))
		for i, edit := range edits {
			last = names.Latest(last, edit.DatedAt())
			dates[i] = last
		}
		return dates
	})
	return func(moment names.Sequence, at time.Time) time.Time {
		before, _ := slices.BinarySearchFunc(edits, moment, func(e annotation.Edit, m names.Sequence) int { return cmp.Compare(e.Seen, m) })
		if before > 0 && upTo()[before-1].Before(at) {
			return upTo()[before-1]
		}
		return creation
	}
}

// withoutSettled returns the past contents without the ones that no decision needs any more: they
// went a while ago and before the oldest record of a workload, both by the order of observations
// and by the clock. It looks for the oldest record only if a content went a while ago.
func withoutSettled(past []Past, now time.Time, recorded func() names.Sighting) []Past {
	isLongGone := func(p Past) bool { return !p.IsOpen() && now.Sub(p.Until.At) > SettledAfter }
	if !slices.ContainsFunc(past, isLongGone) {
		return past
	}
	oldest := recorded()
	return slices.DeleteFunc(slices.Clone(past), func(p Past) bool {
		return isLongGone(p) && p.Until.Seen <= oldest.Seen && names.IsAfter(oldest.At, p.Until.At, false)
	})
}

// seenSince returns a function that returns a past content with when the content of a key came, which the config has or lacks: zero
// if the watch did not show that. It is vague if the edit was joined with others.
func seenSince(config *Config, keys []string) func(key string, isThere bool) Past {
	changed := newNameFinder(keys)
	var seen []annotation.Edit
	var joined annotation.Edit
	for _, edit := range config.Edits {
		_, isOne := changed.find(edit.Key)
		switch {
		case edit.Seen == 0:
		case edit.IsJoined():
			joined = edit
		case isOne:
			seen = append(seen, edit)
		}
	}
	byKey := func(a, b annotation.Edit) int { return strings.Compare(a.Key, b.Key) }
	if !slices.IsSortedFunc(seen, byKey) {
		slices.SortFunc(seen, byKey)
	}
	edits := newEditFinder(seen)
	first := names.Sighting{At: config.Creation().At, Seen: config.Appeared}
	return func(key string, isThere bool) Past {
		edit, isSeen := edits.find(key)
		switch {
		case isSeen:
			return Past{From: names.Sighting{At: edit.Earliest(), Seen: edit.Seen}, Late: edit.IsLate()}
		case joined.Seen == 0 || joined.OnlyLost && isThere:
			return Past{From: first}
		}
		last := names.Sighting{At: joined.At, Seen: joined.Seen}
		return Past{From: names.Sighting{At: joined.At, Seen: max(first.Seen, 1)}, LastFrom: last, Vague: true, Late: joined.Late}
	}
}

// WithGone adds that a config is gone now, given what it was.
func WithGone(known []Past, config *Config, since names.Sighting) []Past {
	var all []Past
	if absence := config.UnseenAbsence(known); absence != nil {
		all = append(all, *absence)
	}
	return boundPast(append(append(all, known...), Past{From: since}))
}

// UnseenAbsence returns that a config was missing until the watch showed its creation, although no watch showed how it went, given
// its past contents. It is nil if that is not so. It is of no importance if nobody has recorded the config before.
func (c *Config) UnseenAbsence(past []Past) *Past {
	created := c.Creation()
	isKnown := func(p Past) bool { return p.From.Seen < created.Seen && created.Seen <= p.Until.Seen }
	if created.Seen == 0 || slices.ContainsFunc(past, isKnown) {
		return nil
	}
	return &Past{From: names.Sighting{At: time.Unix(0, 0)}, Until: names.Sighting{At: created.At, Seen: created.Seen}, Vague: true}
}

// IsOpen reports whether the content has not gone yet.
func (p *Past) IsOpen() bool { return p.Until.Seen == 0 }

// IsAbsence reports whether the whole config was gone.
func (p *Past) IsAbsence() bool { return p.Key == "" && !p.Mixed }

// boundPast keeps the last contents as they are. It joins the older contents of a key into one,
// and also those for which there is no room.
func boundPast(all []Past) []Past {
	bounded := make([]Past, 0, min(len(all), MaxPast))
	count, oldest := make(map[string]int), make(map[string]int) // by key; oldest holds indexes into bounded
	var rest []Past
	for _, p := range slices.Backward(all) {
		if count[p.Key]++; count[p.Key] > MaxPastOfKey {
			bounded[oldest[p.Key]] = Mix(p.Key, p, bounded[oldest[p.Key]])
		} else if len(bounded) < MaxPast-1 {
			oldest[p.Key] = len(bounded)
			bounded = append(bounded, p)
		} else {
			count[p.Key]--
			rest = append(rest, p)
		}
	}
	if len(rest) > 0 {
		bounded = append(bounded, Mix("", rest...))
	}
	slices.Reverse(bounded)
	return bounded
}

// Mix joins several past contents that have gone into one that covers the whole time.
func Mix(key string, several ...Past) Past {
	mixed := Past{Key: key, Mixed: true, Binary: true, From: several[0].From, Until: several[0].Until}
	for _, p := range several {
		if p.From.At.Before(mixed.From.At) {
			mixed.From.At = p.From.At
		}
		if p.Until.At.After(mixed.Until.At) {
			mixed.Until.At = p.Until.At
		}
		mixed.From.Seen, mixed.Until.Seen = min(mixed.From.Seen, p.From.Seen), max(mixed.Until.Seen, p.Until.Seen)
		mixed.Binary, mixed.Late, mixed.Vague = mixed.Binary && p.Binary, mixed.Late || p.Late, mixed.Vague || p.Vague
		last := p.From
		switch {
		case p.IsAbsence(): // no record includes it
			last = p.Until
		case p.Mixed || p.Vague:
			last = p.LastFrom
		}
		if last.Seen >= mixed.LastFrom.Seen {
			mixed.LastFrom = last
		}
	}
	if key == "" {
		mixed.Joined = joinedKeys(several)
	}
	return mixed
}

// joinedKeys returns the hashes of the keys that several past contents concern, nil if they may concern all. Hashes take
// little memory, however long the names are; two keys of one hash may only cause a needless restart.
func joinedKeys(several []Past) []uint64 {
	if len(several) > MaxJoinedKeys {
		return nil
	}
	var joined []uint64
	for _, p := range several {
		switch {
		case p.Key != "":
			joined = append(joined, xxhash.Sum64String(p.Key))
		case p.Joined == nil:
			return nil
		}
		joined = append(joined, p.Joined...)
	}
	slices.Sort(joined)
	if joined = slices.Compact(joined); len(joined) > MaxJoinedKeys {
		return nil
	}
	return slices.Clone(joined) // there may have been many more
}

// Concerns reports whether a reference could read the content. The absence of the whole config
// concerns only containers that start without it.
func (p *Past) Concerns(reference *template.Reference) bool {
	switch {
	case p.IsAbsence():
		return reference.Optional
	case p.Key == "":
		return p.concernsListed(reference.Keys)
	}
	return reference.Keys.HasName(p.Key) && !(reference.Keys.DataOnly && p.Binary)
}

// concernsListed reports whether content of several keys may concern keys of a selection. Rules are not compared with each of
// the keys: there may be very many of both.
func (p *Past) concernsListed(selection template.Selection) bool {
	names, isList := selection.Listed()
	return p.Joined == nil || !isList || slices.ContainsFunc(names, func(name string) bool {
		_, found := slices.BinarySearch(p.Joined, xxhash.Sum64String(name))
		return found
	})
}

// ConcernsAny reports whether one of the references could read the content.
func (p *Past) ConcernsAny(references []template.Reference) bool {
	return slices.ContainsFunc(references, func(r template.Reference) bool { return p.Concerns(&r) })
}

// IsOther reports whether a reference could read other content than the present one while the past
// content was there. The place of a key matters only to references that do not see the binaryData.
func (p *Past) IsOther(config *Config, reference *template.Reference) bool {
	if !p.Concerns(reference) {
		return false
	}
	present, _ := FindKey(config.Keys, p.Key)
	return p.Mixed || p.Key == "" || p.Content != present.Checksum || reference.Keys.DataOnly && p.WasBinary != present.Binary
}
