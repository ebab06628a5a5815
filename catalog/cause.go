package catalog

import (
	"slices"
	"time"
)

// named is how many configs, keys and writers a decision names at most: a decision is told
// to people, and kept while its restart is put off or not answered. Which keys a config
// has, and who writes it, is up to its owner.
const named = 10

// Cause is a config that changed.
type Cause struct {
	Config ConfigRef
	// Keys are the changed keys that the workload sees, sorted; empty if it happened
	// while nobody watched. Only the first ones are named, and MoreKeys are not.
	Keys     []string
	MoreKeys int
	// Writers are the field managers that changed them, sorted, as far as known. Only
	// the first ones are named, and MoreWriters are not.
	Writers     []string
	MoreWriters int
}

// add adds the key and the writer of an edit, as far as they are known. The cause is to be
// tidied up when all are added.
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

// addSince adds an edit that came after the record. Of one that nobody saw only the
// writer is told: its time is that of the writer's last write, of whichever key.
func (c *Cause) addSince(record *AppliedState, seen Sequence, edit Edit) {
	switch {
	case edit.Seen > seen:
		c.add(edit)
	case edit.Seen == 0 && !edit.At.Before(record.Written.Truncate(time.Second)):
		c.addWriter(edit)
	}
}

// tidy sorts what was added, and leaves out what is there twice or too much.
func (c *Cause) tidy() {
	slices.Sort(c.Keys)
	slices.Sort(c.Writers)
	c.Keys, c.MoreKeys = firstNamed(slices.Compact(c.Keys))
	c.Writers, c.MoreWriters = firstNamed(slices.Compact(c.Writers))
}

// firstNamed returns the first of a list, so that nothing keeps the others, and how many there
// are more.
func firstNamed[T any](list []T) ([]T, int) {
	if len(list) <= named {
		return list, 0
	}
	return slices.Clone(list[:named]), len(list) - named
}
