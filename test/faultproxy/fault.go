package faultproxy

import (
	"maps"
	"math/rand/v2"
	"net/http"
	"sync"
	"time"
)

// Kind is a kind of fault.
type Kind string

// The faults of single requests. Watches can be refused like other requests, but
// are not reset as they open.
const (
	// Latency holds a request back for a moment.
	Latency Kind = "latency"
	// Conflict answers an update or a patch with 409, and does not carry it out.
	Conflict Kind = "conflict"
	// TooManyRequests answers with 429 and Retry-After, InternalError with 500 and
	// Unavailable with 503; no such request is carried out.
	TooManyRequests Kind = "too-many-requests"
	InternalError   Kind = "internal-error"
	Unavailable     Kind = "unavailable"
	// ResetBefore breaks the request off before it is carried out, ResetAfter in the
	// middle of the answer, when it has been. Clients cannot distinguish the one from the
	// other.
	ResetBefore Kind = "reset-before"
	ResetAfter  Kind = "reset-after"
	// Timeout answers a request that has been carried out with 504 a while later, as a gateway does.
	Timeout Kind = "timeout"
)

// The faults of watches. But for Expired and SlowList, a new mix concerns open
// watches as well as those to come.
const (
	// DropWatch breaks a watch off after a while, or ends it in good order, each half of
	// the times. A client may resume it only after the second.
	DropWatch Kind = "drop-watch"
	// StallWatch lets nothing pass after a while, and leaves the connection open.
	StallWatch Kind = "stall-watch"
	// Expired answers the resumption of a watch with 410.
	Expired Kind = "expired"
	// ExpiredInStream ends a watch after a while with an event that says 410.
	ExpiredInStream Kind = "expired-in-stream"
	// SlowList makes the objects of a streaming list trickle in.
	SlowList Kind = "slow-list"
)

// Kinds returns all kinds of faults.
func Kinds() []Kind {
	return []Kind{
		Latency, Conflict, TooManyRequests, InternalError, Unavailable, ResetBefore, ResetAfter, Timeout,
		DropWatch, StallWatch, Expired, ExpiredInStream, SlowList,
	}
}

// Mix says how probable faults are, from 0 to 1 each. What is missing does not
// happen.
type Mix map[Kind]float64

// Everything is a mix of all faults but stalls. One of refusals and resets strikes
// a request with about the given probability; watches live for seconds.
func Everything(probability float64) Mix {
	mix := Mix{Latency: 2 * probability, DropWatch: 0.5, Expired: 0.2, ExpiredInStream: 0.3, SlowList: 0.3}
	for _, kind := range []Kind{Conflict, TooManyRequests, InternalError, Unavailable, ResetBefore, ResetAfter, Timeout} {
		mix[kind] = probability / 7
	}
	return mix
}

// dice draws faults and counts them.
type dice struct {
	mu     sync.Mutex
	random *rand.Rand
	mix    Mix
	struck map[Kind]int
}

func newDice(seed uint64) *dice {
	return &dice{random: rand.New(rand.NewPCG(seed, seed)), struck: map[Kind]int{}}
}

func (d *dice) use(mix Mix) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.mix = maps.Clone(mix)
}

// roll returns the first of the kinds that strikes, or the empty string.
func (d *dice) roll(kinds ...Kind) Kind {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, kind := range kinds {
		if p := d.mix[kind]; p > 0 && d.random.Float64() < p {
			return kind
		}
	}
	return ""
}

// coin returns heads or tails.
func (d *dice) coin() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.random.IntN(2) == 0
}

// count notes that a fault has happened.
func (d *dice) count(kind Kind) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.struck[kind]++
}

func (d *dice) counts() map[Kind]int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return maps.Clone(d.struck)
}

// below returns a random duration between 0 and the limit.
func (d *dice) below(limit time.Duration) time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	return time.Duration(d.random.Float64() * float64(limit))
}

// refusals are the faults that answer a request in place of the API server.
func refusals(r *http.Request) []Kind {
	kinds := []Kind{TooManyRequests, InternalError, Unavailable}
	switch {
	case isResumption(r):
		kinds = append(kinds, Expired)
	case r.Method == http.MethodPut || r.Method == http.MethodPatch:
		kinds = append(kinds, Conflict)
	}
	return kinds
}

func isWatch(r *http.Request) bool {
	switch r.URL.Query().Get("watch") {
	case "true", "1":
		return true
	}
	return false
}

func isStreamingList(r *http.Request) bool {
	return isWatch(r) && r.URL.Query().Get("sendInitialEvents") == "true"
}

// isResumption reports whether a watch begins where another, or a list, has ended.
func isResumption(r *http.Request) bool {
	version := r.URL.Query().Get("resourceVersion")
	return isWatch(r) && !isStreamingList(r) && version != "" && version != "0"
}
