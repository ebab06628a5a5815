package facts

import (
	"fmt"
	"strings"
	"time"

	"kubernetes-deployment-restart-controller/internal/status"
)

// The reasons of Events that say why a restart does not follow.
const (
	RestartFailed  = "RestartFailed"
	RestartBackoff = "RestartBackoff"

	RestartNotDelivered = "RestartNotDelivered"
	RestartsResumed     = "RestartsResumed" // they do not say so any more

	TooManyReferences = "TooManyReferences"
	NotSupported      = "NotSupported"

	InvalidAnnotation = "InvalidAnnotation"
)

// Event is an Event of the controller.
type Event struct {
	At      time.Time `json:"at"`
	Type    string    `json:"type"`
	Reason  string    `json:"reason"`
	Message string    `json:"message"`
	// Namespace and On name the object that it is about.
	Namespace string `json:"-"`
	On        string `json:"-"`
	// Count is how often it happened, and First when for the first time, zero if that is not known.
	Count int32     `json:"count"`
	First time.Time `json:"first,omitzero"`
}

// FailureIn returns the error in the message of an Event about an attempt that failed, without what helps.
func FailureIn(message string) string {
	if _, failure, isOurs := strings.Cut(message, "trying again: "); isOurs {
		message = failure
	}
	return status.WithoutRemedy(message)
}

// EndsFailures reports whether an Event says that attempts which failed before are over: the end of a hold alone does not,
// and the next attempt may fail in the same second.
func (e *Event) EndsFailures() bool {
	isOfHold := strings.HasPrefix(e.Message, "restart is no longer held") && !strings.HasSuffix(e.Message, "None is due any more")
	return e.Reason == RestartsResumed && !isOfHold
}

// Dates returns since when what is wrong is there at least: since the Event told of it. It is zero if the Event, which may be
// nil, did not.
func (e *Event) Dates(problem string) status.Beginning {
	first, _, _ := strings.Cut(problem, "; ") // what is used instead is not always known here
	if e == nil || !strings.Contains(e.Message, first) {
		return status.Beginning{}
	}
	return status.Beginning{Since: e.At, AtLeast: true}
}

// String returns the Event in one line.
func (e *Event) String(now time.Time) string {
	times := ""
	if e.Count > 1 {
		times = fmt.Sprintf(" (%d times)", e.Count)
	}
	return fmt.Sprintf("%s ago  %s  %s%s", Age(now.Sub(e.At)), e.Reason, OwnCommands(e.Message), times)
}
