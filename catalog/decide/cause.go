package decide

import (
	"slices"
	"time"

	"kubernetes-deployment-restart-controller/catalog"
	"kubernetes-deployment-restart-controller/catalog/annotation"
	"kubernetes-deployment-restart-controller/catalog/content"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/record"
	"kubernetes-deployment-restart-controller/catalog/workload"
)

// maxMoments is the highest number of moments that a cause keeps, for the same reason.
const maxMoments = 16

// Cause is a config that changed.
type Cause struct {
	Config names.ConfigRef
	// Keys are the changed keys that the workload sees, sorted; empty if the change happened
	// while no controller watched. Only the first keys are named; MoreKeys is the number of
	// the others.
	Keys     []string
	MoreKeys int
	// Unnamed means that there were also edits of keys that are not known: edits that no watch
	// showed, or the creation of the config.
	Unnamed bool
	// Writers are the known field managers that changed the keys, sorted. Only the first
	// writers are named; MoreWriters is the number of the others.
	Writers     []string
	MoreWriters int
	// Former means that the last restart was for it already. It did not reach all pods, so this one brings it to the others.
	// FormerKeys are those of the keys of which that is true, sorted.
	Former     bool
	FormerKeys []string
	// Moments are the moments at which the watch showed the edits ([annotation.Edit.Seen]), sorted, each
	// once; only the newest ones are kept. There is always at least one. 0 stands for edits that
	// no watch showed, and for a change of which no edit is known.
	Moments []names.Sequence
}

// add adds the key, the writer and the moment of an edit that a watch showed, as far as they are
// known. Call tidy after adding all edits.
func (c *Cause) add(edit annotation.Edit) {
	if edit.Key != "" {
		c.Keys = append(c.Keys, edit.Key)
	} else {
		c.Unnamed = true
	}
	c.addWriter(edit)
	c.addMoment(edit.Seen)
}

// addUnseen adds an edit that no watch showed.
func (c *Cause) addUnseen() {
	c.Unnamed = true
	c.addMoment(0)
}

// AllKeys returns the keys if they are all that changed, and nil if there may be others.
func (c *Cause) AllKeys() []string {
	if c.MoreKeys > 0 || c.Unnamed {
		return nil
	}
	return c.Keys
}

// Include adds what the last restart was for, if pods are left that it has not reached. A decision without causes may be for
// any config already.
func (d *Decision) Include(last *Decision) {
	if len(d.Causes) == 0 {
		return
	}
	all := slices.Clone(d.Causes)
	for _, cause := range last.Causes {
		same := slices.IndexFunc(all, func(c Cause) bool { return c.Config == cause.Config })
		if same >= 0 {
			all[same].includeKeys(&cause)
			continue
		}
		cause.Former = true
		all = append(all, cause)
	}
	more := 0
	d.Causes, more = firstNamed(all)
	if d.MoreCauses < 0 || last.MoreCauses < 0 {
		d.MoreCauses = names.UnknownNumber
		return
	}
	d.MoreCauses += more + last.MoreCauses
}

// includeKeys adds the keys of another cause for the same config. Those of Secrets are not known of an earlier restart, and
// nobody tells them apart.
func (c *Cause) includeKeys(other *Cause) {
	keys := other.AllKeys()
	switch {
	case c.Config.Kind.IsSecret() || len(c.AllKeys()) == 0:
	case len(keys) == 0:
		c.Unnamed = true
	default:
		c.FormerKeys = slices.DeleteFunc(slices.Clone(keys), func(key string) bool { return slices.Contains(c.Keys, key) })
		all := slices.Concat(c.Keys, keys)
		slices.Sort(all)
		c.Keys, c.MoreKeys = firstNamed(slices.Compact(all))
	}
}

// SharesKey reports whether two causes may be about the same key of the same config.
func (c *Cause) SharesKey(other *Cause) bool {
	return c.Config == other.Config && ShareKey(c.AllKeys(), other.AllKeys())
}

// ShareKey reports whether two lists of keys have one in common. No keys mean all.
func ShareKey(a, b []string) bool {
	return len(a) == 0 || len(b) == 0 || slices.ContainsFunc(a, func(key string) bool { return slices.Contains(b, key) })
}

// Replaces reports whether a restart for the cause may bring other content of a key of another cause.
func (c *Cause) Replaces(other *Cause) bool {
	if c.Former {
		return false
	}
	own := *c
	own.Keys = slices.DeleteFunc(slices.Clone(c.Keys), func(key string) bool { return slices.Contains(c.FormerKeys, key) })
	return own.SharesKey(other)
}

// addMoment adds a moment, unless it is the last one added: all keys of one edit share it.
func (c *Cause) addMoment(moment names.Sequence) {
	if last := len(c.Moments) - 1; last < 0 || c.Moments[last] != moment {
		c.Moments = append(c.Moments, moment)
	}
}

func (c *Cause) addWriter(edit annotation.Edit) {
	if edit.Writer != "" {
		c.Writers = append(c.Writers, edit.Writer)
	}
}

// addSince adds an edit of a config whose content differs from the workload's record if it came
// after the record. If no watch showed the edit, it adds only the writer, since the edit's time is
// that of the writer's last write, whichever key that changed. The moment of such an edit counts
// only if another process made the record: the catalog's own records were decided with it.
func (c *Cause) addSince(w *workload.Workload, edit annotation.Edit) {
	switch {
	case !lacks(w, edit):
	case edit.Seen > 0:
		c.add(edit)
	default:
		c.addWriter(edit)
		if !w.OwnRecord {
			c.addUnseen()
		}
	}
}

// tidy sorts the keys, writers and moments, and removes duplicates and those beyond the limit.
func (c *Cause) tidy() {
	slices.Sort(c.Keys)
	slices.Sort(c.Writers)
	c.Keys, c.MoreKeys = firstNamed(slices.Compact(c.Keys))
	c.Writers, c.MoreWriters = firstNamed(slices.Compact(c.Writers))
	c.tidyMoments()
}

func (c *Cause) tidyMoments() {
	if len(c.Moments) == 0 {
		c.addUnseen()
	}
	slices.Sort(c.Moments)
	c.Moments = slices.Compact(c.Moments)
	if older := len(c.Moments) - maxMoments; older > 0 {
		c.Moments = slices.Clone(c.Moments[older:])
	}
}

// firstNamed returns a copy of the first elements of a list, so that the others can be freed,
// and the number of the others.
func firstNamed[T any](list []T) ([]T, int) {
	if len(list) <= names.MaxNamed {
		return list, 0
	}
	return slices.Clone(list[:names.MaxNamed]), len(list) - names.MaxNamed
}

// EditedAt returns when the first of the edits was made that a restart is for, as far as a watch showed them; the zero value
// if it showed none. It also reports whether a watch showed all of them; the others may be earlier.
func EditedAt(v *catalog.View, d *Decision) (first time.Time, knowsAll bool) {
	knowsAll = len(d.Causes) > 0 && d.MoreCauses == 0
	for i := range d.Causes {
		config := v.Configs[d.Causes[i].Config]
		for _, moment := range d.Causes[i].Moments {
			at := config.EditedAt(moment)
			if knowsAll = knowsAll && !at.IsZero(); !at.IsZero() && (first.IsZero() || at.Before(first)) {
				first = at
			}
		}
	}
	return first, knowsAll
}

// EditedBefore returns when the first of the edits was made that a restart is for, of those from before the catalog watched that
// the API server dates after the record; zero if there is none, or the workload opted in later.
func EditedBefore(v *catalog.View, d *Decision) (first time.Time) {
	written := v.Workload.Record.Written
	if written.IsZero() || v.Workload.EnabledAfter > 0 {
		return first
	}
	for i := range d.Causes {
		config := v.Configs[d.Causes[i].Config]
		if config == nil || !slices.Contains(d.Causes[i].Moments, 0) {
			continue
		}
		selected := content.Selections(v.Workload.ReferencesTo(d.Causes[i].Config))
		for _, edit := range config.Edits {
			isFirst := edit.Seen == 0 && edit.At.After(written) && (first.IsZero() || edit.At.Before(first))
			if isFirst && config.IsSeen(edit, selected) {
				first = edit.At
			}
		}
	}
	return first
}

// interruptedCauses returns what that restart was for. No watch of this process need have shown it.
func interruptedCauses(w *workload.Workload) []Cause {
	causes := LastCauses(&w.Record)
	for i := range causes {
		causes[i].Moments, causes[i].Unnamed = []names.Sequence{0}, len(causes[i].Keys) == 0
	}
	return causes
}

// MomentsUntil returns the moments of the edits of keys of a config that are no later than a time, sorted
// and each once: a record that was made at that time includes them. No keys means any, and a moment of 0
// stands for edits that no watch showed.
func MomentsUntil(c *catalog.Catalog, ref names.ConfigRef, keys []string, until time.Time) []names.Sequence {
	config := c.Config(ref)
	var cause Cause
	if config != nil {
		for _, edit := range config.Edits {
			if content.IsAmong(edit, keys) && !edit.Earliest().After(until) {
				cause.addMoment(edit.Seen)
			}
		}
	}
	cause.tidyMoments()
	return cause.Moments
}

// RestartedFor returns what a restart is for: the named causes.
func (d *Decision) RestartedFor() []record.Restarted {
	var restarted []record.Restarted
	for i := range d.Causes {
		entry := record.Restarted{Config: d.Causes[i].Config}
		if !entry.Config.Kind.IsSecret() {
			entry.Keys = d.Causes[i].AllKeys()
		}
		restarted = append(restarted, entry)
	}
	return restarted
}

// LastCauses are the causes of the last restart, as the record names them.
func LastCauses(r *record.Record) []Cause {
	var causes []Cause
	for _, restarted := range r.RestartedFor {
		causes = append(causes, Cause{Config: restarted.Config, Keys: restarted.Keys})
	}
	return causes
}
