package content

import (
	"math"
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
	// Past holds the past contents if a workload references the config.
	Past       []Past
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

// Compare compares the config with what the catalog knows about it and about its past. The function
// recorded returns a sighting no later than any record of what workloads see of the config.
func (a *Arrival) Compare(previous *Config, past []Past, recorded func() names.Sighting) {
	a.Previous, a.Past, a.Changed = previous, nil, true
	if previous == nil {
		a.Config.Edits = FoldRecorded(a.recorded, a.Config.Keys)
		return
	}
	changed := ChangedKeys(previous.Keys, a.Config.Keys)
	if a.Changed = len(changed) > 0; !a.Changed {
		a.Config.Keys = previous.Keys // whose names the edits share
	}
	a.Config.Edits = mergeEdits(previous, a, changed)
	switch {
	case !a.Referenced:
	case a.Changed || previous.Deleted:
		a.Past = pastOf(withoutSettled(past, a.At, recorded), previous, a, changed)
	default:
		a.Past = past
	}
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
// the managedFields say about it; 0 if they say nothing. They say nothing about a key that was removed:
// a time that they still have for it is that of an earlier change.
func (a *Arrival) dated(isGone bool, recorded annotation.Edit) uint32 {
	at := recorded.At
	switch isNew := a.Previous.Deleted && !a.listed; {
	case isNew && (isGone || at.IsZero()): // the key has been gone, or there, since the config was created again
		at = a.Config.Creation().At
	case isGone:
		return 0
	}
	if at.After(a.At) {
		return 0
	}
	return names.UnixSeconds(at)
}

// doneBy returns a time by which a key, or the whole config, had changed: when the watch showed that, or earlier if the
// API server dates it earlier.
func (a *Arrival) doneBy(isGone bool, recorded annotation.Edit) time.Time {
	shown := a.date(recorded)
	if dated := a.dated(isGone, recorded); dated > 0 {
		if at := time.Unix(int64(dated)+1, 0); at.Before(shown) { // the API truncates times
			return at
		}
	}
	return shown
}

// Stamp sets the moment at which the catalog took in the changes. They are the last edits, and
// perhaps the first one; see [FoldEdits].
func (a *Arrival) Stamp(moment names.Sequence) {
	edits := a.Config.Edits
	for i := len(edits) - 1; i >= 0 && edits[i].Seen == notYet; i-- {
		edits[i].Seen = moment
	}
	if len(edits) > 0 && edits[0].Seen == notYet {
		edits[0].Seen = moment
	}
	for i := range a.Past {
		if a.Past[i].Until.Seen == notYet {
			a.Past[i].Until.Seen = moment
		}
	}
}
