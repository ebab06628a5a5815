package statuspage

import (
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"net/http"
	"slices"
	"sync"
	"time"
)

const (
	// maxStreams is how many streams there may be at the same time. Another one ends the oldest.
	maxStreams = 16
	// lookPeriod is how often a stream looks for changes. Its pause is at least lookShare times as long as its last look took, with the
	// time until it was its turn.
	lookPeriod = time.Second
	lookShare  = 10
	// longestSilence is after how long a stream reports a change in any case: pages say how long ago things
	// were.
	longestSilence = 10 * time.Second
	// writeLimit is how long the other side may take to accept an event.
	writeLimit = 10 * time.Second
)

// stream reports changes of what a path shows, until the client is gone.
func (h *handler) stream(w http.ResponseWriter, r *http.Request, look look) {
	if r.Method == http.MethodHead {
		return
	}
	ctx, end := context.WithCancel(r.Context())
	defer end()
	defer h.streams.begin(end)()
	s := &stream{writer: w, control: http.NewResponseController(w)}
	w.Header().Set("Content-Type", "text/event-stream")
	w.WriteHeader(http.StatusOK)
	for r = r.WithContext(ctx); ; {
		began := time.Now()
		v := look(r)
		pause := max(lookPeriod, lookShare*time.Since(began))
		if ctx.Err() != nil || s.show(v, time.Now()) != nil {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}
	}
}

// streams are how the open ones end, the oldest first.
type streams struct {
	mu   sync.Mutex
	open []*context.CancelFunc
}

// begin adds a stream, and returns how to remove it. So nobody can lock others out by opening streams.
func (s *streams) begin(end context.CancelFunc) (remove func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.open) == maxStreams {
		(*s.open[0])()
		s.open = slices.Delete(s.open, 0, 1)
	}
	s.open = append(s.open, &end)
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.open = slices.DeleteFunc(s.open, func(other *context.CancelFunc) bool { return other == &end })
	}
}

type stream struct {
	writer  http.ResponseWriter
	control *http.ResponseController
	shown   uint64 // identifies what was shown last
	at      time.Time
}

// show reports a change, if there is one.
func (s *stream) show(v view, now time.Time) error {
	shown, err := identify(v)
	if err != nil || shown == s.shown && now.Sub(s.at) < longestSilence {
		return err
	}
	s.shown, s.at = shown, now
	_ = s.control.SetWriteDeadline(now.Add(writeLimit)) // not all writers have one
	if _, err := fmt.Fprintf(s.writer, "event: change\ndata: %x\n\n", shown); err != nil {
		return err
	}
	return s.control.Flush()
}

// identify returns a number that differs for what differs, apart from when it was looked at.
func identify(v view) (uint64, error) {
	body, err := json.Marshal(withoutTime(v.data))
	if err != nil {
		return 0, err
	}
	sum := fnv.New64a()
	_, _ = fmt.Fprintln(sum, v.code)
	_, _ = sum.Write(body) // a hash never fails to write
	return sum.Sum64(), nil
}
