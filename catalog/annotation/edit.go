package annotation

import (
	"time"

	"kubernetes-deployment-restart-controller/catalog/names"
)

// Edit is the last known change of one key's content.
type Edit struct {
	// Key is the name of the key, empty if the edit stands for several ones, of keys that are no longer known; see [content.FoldEdits].
	Key string
	// At is when the edit happened: the time at which the watch showed it or, if no
	// controller watched, the time in the config's managedFields, in whole seconds.
	At time.Time
	// Seen is the moment at which the watch showed it, and 0 if no controller watched.
	Seen names.Sequence
	// Writer is the field manager that made the edit, empty if it is not known.
	Writer string
	// Dated is when the API server dates an edit that a watch showed, in seconds of Unix time; 0
	// if it does not.
	Dated uint32
	// Binary means that the edit concerns only binaryData: the watch showed that the key was not in the data before or after,
	// nor did an edit of the key concern the data that this one replaces.
	Binary bool
	// Creation means that the edit is the creation of the whole config.
	Creation bool
	// OnlyLost means that an edit stands for several ones, of keys that the config no longer had.
	OnlyLost bool
}

// Join makes an edit of any key stand for one more. It is as late as the latest of them: a pod that has missed one of them
// has missed this one.
func (e *Edit) Join(edit Edit, isLost bool) {
	isFirst := e.At.IsZero()
	e.OnlyLost = e.OnlyLost && (isLost || edit.OnlyLost)
	e.Binary = edit.Binary && (isFirst || e.Binary)
	if edit.At.After(e.At) {
		e.At = edit.At
	}
	if e.Seen = max(e.Seen, edit.Seen); isFirst {
		e.Writer = edit.Writer
	} else if e.Writer != edit.Writer {
		e.Writer = ""
	}
}

// IsJoined reports whether the edit stands for several ones, of keys that are not known. All but one of them may have
// happened earlier.
func (e Edit) IsJoined() bool { return e.Key == "" && !e.Creation }

// Earliest returns when the edit happened, or an earlier time: when the watch showed it or, if the
// API server dates it earlier, that time.
func (e Edit) Earliest() time.Time {
	if dated := time.Unix(int64(e.Dated), 0); e.Dated > 0 && dated.Before(e.At) {
		return dated
	}
	return e.At
}
