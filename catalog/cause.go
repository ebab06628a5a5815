package catalog

import (
	"slices"
	"time"
)

// maxNamed is the highest number of configs, keys and writers that a decision names. Decisions
// appear in logs and Events, and stay in memory while a restart is put off or unanswered;
// nothing limits the number of a config's keys and writers.
const maxNamed = 10

// Cause is a config that changed.
type Cause struct {
	Config ConfigRef
	// Keys are the changed keys that the workload sees, sorted; empty if the change happened
	// while no controller watched. Only the first keys are named; MoreKeys is the number of
	// the others.
	Keys     []string
	MoreKeys int
	// Writers are the known field managers that changed the keys, sorted. Only the first
	// writers are named; MoreWriters is the number of the others.
	Writers     []string
	MoreWriters int
}

// add adds the key and the writer of an edit if they are known. Call tidy after adding all
// edits.
func (c *Cause) add(edit Edit) {
	if edit.Key != "" {
		c.Keys = append(c.Keys, edit.Key)
	}
	c.addWriter(edit)
}

func (c *Cause) addWriter(edit Edit) {
	if edit.Writer != "" {
		c.Writers = append(c.Writers, edit.Writer)
	}
}

// addSince adds an edit that came after the record. If no watch showed the edit, it adds only
// the writer, since the edit's time is that of the writer's last write, whichever key that
// changed.
func (c *Cause) addSince(record *AppliedState, seen Sequence, edit Edit) {
	switch {
	case edit.Seen > seen:
		c.add(edit)
	case edit.Seen == 0 && !edit.At.Before(record.Written.Truncate(time.Second)):
		c.addWriter(edit)
	}
}

// tidy sorts the keys and writers, and removes duplicates and those beyond the limit.
func (c *Cause) tidy() {
	slices.Sort(c.Keys)
	slices.Sort(c.Writers)
	c.Keys, c.MoreKeys = firstNamed(slices.Compact(c.Keys))
	c.Writers, c.MoreWriters = firstNamed(slices.Compact(c.Writers))
}

// firstNamed returns a copy of the first elements of a list, so that the others can be freed,
// and the number of the others.
func firstNamed[T any](list []T) ([]T, int) {
	if len(list) <= maxNamed {
		return list, 0
	}
	return slices.Clone(list[:maxNamed]), len(list) - maxNamed
}
