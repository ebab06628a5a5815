package content

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"time"

	"kubernetes-deployment-restart-controller/catalog/annotation"
	"kubernetes-deployment-restart-controller/catalog/names"
)

// Arrival is a config that a watch showed, on its way into the catalog. The comparison with the
// previous content runs before the catalog is locked: it takes longer the more keys the config has,
// and nothing limits their number.
type Arrival struct {
	Config *Config
	// recorded holds the edits that the config's managedFields show.
	recorded []annotation.Edit
	// At is when the watch showed the config. With listed, that may be long after the edits.
	At     time.Time
	listed bool
	// Previous is what the catalog knew when the config arrived, or nil if it knew nothing.
	Previous *Config
	// Referenced means that a workload references the config, so that its earlier edits are kept.
	Referenced bool
	// Changed reports whether the content differs from that of Previous.
	Changed bool
}

// notYet is the placeholder for the moment of an edit that the catalog has not taken in yet.
const notYet names.Sequence = math.MaxUint64

// NewArrival returns a config as it arrives from a watch or a list.
func NewArrival(config Config, at time.Time, listed bool) *Arrival {
	return &Arrival{Config: &config, recorded: config.Edits, At: at, listed: listed}
}

// Compare compares the config with what the catalog knows about it.
func (a *Arrival) Compare(previous *Config) {
	a.Previous, a.Changed = previous, true
	if previous == nil {
		a.Config.Edits = a.recorded
		a.Config.Edits = a.Config.Fold(MaxEdits, MaxLostKeys)
		return
	}
	changed := ChangedKeys(previous.Keys, a.Config.Keys)
	if a.Changed = len(changed) > 0; !a.Changed {
		a.Config.Keys = previous.Keys // whose names the edits share
	}
	a.Config.Edits = previous.Edits
	if a.Changed || previous.Deleted {
		a.Config.Edits = a.then(changed)
	}
}

// then returns the known edits of a config after the given keys changed. The moment of the new ones is [notYet].
func (a *Arrival) then(changed []string) []annotation.Edit {
	previous := a.Previous
	keys, formerKeys, recordedEdits := newKeyFinder(a.Config.Keys), newKeyFinder(previous.Keys), newEditFinder(a.recorded)
	edits := make([]annotation.Edit, 0, len(previous.Edits)+len(changed)) // they are kept, and there may be very many
	for _, edit := range previous.Edits {
		if key, found := keys.find(edit.Key); found {
			edit.Key = key.Name // otherwise the names of the former content stay in memory too
		}
		edits = append(edits, edit)
	}
	for _, key := range changed {
		recorded, _ := recordedEdits.find(key)
		now, isThere := keys.find(key)
		before, wasThere := formerKeys.find(key)
		isBinary := !(wasThere && !before.Binary) && !(isThere && !now.Binary)
		edits = append(edits, annotation.Edit{
			Key: key, At: a.date(recorded), Seen: notYet, Writer: recorded.Writer, Dated: a.dated(!isThere, recorded),
			Ended: before.Checksum, EndedBinary: before.Binary,
			Binary: isBinary && !previous.hasEditOfData(key), // otherwise it stands for those before it, too
		})
	}
	if previous.Deleted {
		edits = append(edits, annotation.Edit{Key: annotation.WholeConfig, At: a.At, Seen: notYet, Dated: a.dated(false, annotation.Edit{})})
	}
	sortEdits(edits)
	next := *previous
	if next.Edits = edits; a.Referenced {
		next.Edits = next.keepEarlier(MaxEarlierOfKey, MaxEarlier)
	} else {
		next.Edits = next.keepEarlier(0, 0)
	}
	next.Keys = a.Config.Keys
	return next.Fold(MaxEdits, MaxLostKeys)
}

// hasEditOfData reports whether an edit of a key is known that concerns not only binaryData.
func (c *Config) hasEditOfData(key string) bool {
	return slices.ContainsFunc(c.editsOf(key), func(edit annotation.Edit) bool { return !c.isBinary(edit) })
}

// Gone returns the config after its deletion.
func (c *Config) Gone(at names.Sighting) *Config {
	gone := *c
	gone.Deleted, gone.Policy = true, c.Policy.WhenGone()
	gone.Edits = slices.Clip(c.Edits)
	if whole := c.editsOf(annotation.WholeConfig); len(whole) == 0 && c.Appeared > 0 {
		gone.Edits = append(gone.Edits, c.Creation())
	}
	gone.Edits = append(gone.Edits, annotation.Edit{Key: annotation.WholeConfig, At: at.At, Seen: at.Seen, Ended: 1})
	sortEdits(gone.Edits)
	gone.Edits = gone.keepEarlier(MaxEarlierOfKey, MaxEarlier)
	return &gone
}

// date returns when a key changed, given what the managedFields say about it. For a listed config
// that is the recorded time, which is never before the edit, unless that time is missing or in the
// future. Otherwise it is when the watch showed the config.
func (a *Arrival) date(recorded annotation.Edit) time.Time {
	if a.listed && !recorded.At.IsZero() && !recorded.At.After(a.At) {
		return recorded.At
	}
	return a.At
}

// dated returns when a key changed by the API server's clock, in seconds of Unix time, given whether it is gone and what
// the managedFields say about it; 0 if they say nothing. They say nothing about a key that is gone:
// a time that they still have for it is that of an earlier change.
func (a *Arrival) dated(isGone bool, recorded annotation.Edit) uint32 {
	at := recorded.At
	switch isNew := a.Previous.Deleted && !a.listed; {
	case isGone:
		return 0
	case at.IsZero() && isNew: // the key has been there since the config was created again
		at = a.Config.Creation().At
	}
	if at.After(a.At) {
		return 0
	}
	return names.UnixSeconds(at)
}

// Stamp sets the moment at which the catalog took in the changes.
func (a *Arrival) Stamp(moment names.Sequence) {
	for i := range a.Config.Edits {
		if edit := &a.Config.Edits[i]; edit.Seen == notYet {
			edit.Seen = moment
		}
	}
}

// WithoutEarlier returns the config with only the last edit of each key.
func (c *Config) WithoutEarlier() *Config {
	without := *c
	if without.Edits = c.keepEarlier(0, 0); len(without.Edits) == len(c.Edits) {
		return c
	}
	return &without
}

// keepEarlier returns the last edit of each key, and as many of those before it as there is room for: the last ones. The next edit
// stands for those that are left out.
func (c *Config) keepEarlier(ofKey, inAll int) []annotation.Edit {
	hasEarlier, earlier := false, []names.Sequence(nil)
	for edits := range names.Runs(c.Edits, isSameKey) {
		before := len(edits) - 1
		hasEarlier = hasEarlier || before > 0
		for _, edit := range edits[max(0, before-ofKey):before] {
			earlier = append(earlier, edit.Seen)
		}
	}
	if !hasEarlier {
		return c.Edits
	}
	var forgotten names.Sequence // until this moment; 0 is what no watch showed
	if len(earlier) > inAll {
		slices.Sort(earlier)
		forgotten = earlier[len(earlier)-inAll-1]
	}
	kept := make([]annotation.Edit, 0, len(c.Edits))
	for edits := range names.Runs(c.Edits, isSameKey) {
		last := len(edits) - 1
		first := max(0, last-ofKey)
		for first < last && edits[first].Seen <= forgotten {
			first++
		}
		known := len(kept)
		if kept = append(kept, edits[first:]...); first > 0 && edits[first-1].Seen > 0 {
			kept[known].Since = c.since(edits)
		}
	}
	return slices.Clip(kept)
}

// since returns when the first content came that edits of a key ended, or the first edit if the content was there before the
// catalog watched; 0 if no watch showed the last edit. See [annotation.Edit.Since].
func (c *Config) since(edits []annotation.Edit) uint32 {
	if edits[len(edits)-1].Seen == 0 {
		return 0
	}
	if from, _ := c.beginning(edits); from.Seen > 0 {
		return max(1, names.UnixSeconds(from.At))
	}
	return max(1, names.UnixSeconds(edits[0].Earliest()))
}

// Fold returns the edits. It joins those of the keys that were edited longest ago into one edit, which comes first, if there are
// more keys than a limit in all, or more lost keys than a limit.
func (c *Config) Fold(limit, lostLimit int) []annotation.Edit {
	there := newKeyFinder(c.Keys)
	isLost := func(edit *annotation.Edit) bool {
		_, found := there.find(edit.Key)
		return edit.IsOfKey() && !found
	}
	known, lost := 0, 0
	count := func(edit *annotation.Edit, isLost bool, by int) {
		if edit.IsOfKey() {
			known += by
		}
		if isLost {
			lost += by
		}
	}
	for edits := range names.Runs(c.Edits, isSameKey) {
		count(&edits[0], isLost(&edits[0]), +1)
	}
	if known <= limit && lost <= lostLimit {
		return c.Edits
	}
	oldest := slices.SortedStableFunc(names.Runs(c.Edits, isSameKey), func(a, b []annotation.Edit) int {
		x, y := &a[len(a)-1], &b[len(b)-1]
		return cmp.Or(cmp.Compare(x.Seen, y.Seen), x.At.Compare(y.At))
	})
	kept := make([]annotation.Edit, 1, min(known, limit)+MaxEarlier+2)
	joined := annotation.Edit{OnlyLost: true}
	for _, edits := range oldest {
		last := &edits[len(edits)-1]
		isLost := isLost(last) // each is looked for once, mostly in the order of the keys
		if fits := known <= limit && !(lost > lostLimit && isLost); !last.IsJoined() && (!last.IsOfKey() || fits) {
			kept = append(kept, edits...)
			continue
		}
		count(last, isLost, -1)
		joined.Join(*last, c.since(edits), isLost)
	}
	kept[0] = joined
	sortEdits(kept)
	return slices.Clip(kept)
}

// sortEdits sorts edits by their keys. Those of one key stay in their order.
func sortEdits(edits []annotation.Edit) {
	slices.SortStableFunc(edits, func(a, b annotation.Edit) int { return strings.Compare(a.Key, b.Key) })
}
