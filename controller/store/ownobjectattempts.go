package store

import (
	"fmt"
	"sync"
	"time"

	"kubernetes-deployment-restart-controller/controller/failures"
	"kubernetes-deployment-restart-controller/internal/brief"
	"kubernetes-deployment-restart-controller/internal/status"
)

// OwnObject is how the attempts go to read and write an object in which the controller keeps what must outlive a process.
// The zero value and nil have seen none. Its methods may be called by several goroutines at once.
type OwnObject struct {
	mu sync.Mutex
	// since is since when all attempts have failed, zero if the last one did not; why is the error of the last one.
	since       time.Time
	why, remedy string
}

// longestOwnError is how many bytes of an error are kept, so that a text has room for what helps.
const longestOwnError = 600

// Note takes in how an attempt ended, and what helps if it is refused.
func (o *OwnObject) Note(err error, remedy string, now time.Time) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if err == nil {
		o.since, o.why, o.remedy = time.Time{}, "", ""
		return
	}
	if o.since.IsZero() {
		o.since = now
	}
	if o.why, o.remedy = brief.Within(longestOwnError, brief.Line(err.Error())), status.AwaitAPIServer; failures.IsPermanent(err) {
		o.remedy = remedy
	}
}

// Waits completes an error that says what is not known yet because of the object with why. The gap says what helps.
func (o *OwnObject) Waits(unknown error) error {
	if gap, found := o.Gap(""); found {
		return fmt.Errorf("%w: %s", unknown, gap.Why)
	}
	return unknown
}

// Gap describes since when and why the object cannot be used. The text says what, and what follows from that.
func (o *OwnObject) Gap(text string) (gap status.Gap, found bool) {
	if o == nil {
		return status.Gap{}, false
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	return status.Gap{Text: text, Beginning: status.Beginning{Since: o.since.UTC()}, Why: o.why, Remedy: o.remedy}, !o.since.IsZero()
}
