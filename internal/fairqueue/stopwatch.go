package fairqueue

import (
	"context"
	"sync"
	"time"
)

// stopwatch measures how long an item is under way, not counting pauses.
type stopwatch struct {
	mu      sync.Mutex
	counted time.Duration // before since
	since   time.Time     // when it was last started
	pauses  int           // how many hold it
	timer   *time.Timer   // calls when slowAfter has been counted
}

// start starts the stopwatch, which calls a function once it has counted slowAfter.
func (w *stopwatch) start(overdue func()) {
	w.since = time.Now()
	w.timer = time.AfterFunc(slowAfter, overdue)
}

type watchKey struct{}

// Pause notes that the item of a context (see [Queue.Run]) waits for something that
// neither the item nor its namespace has caused, so that the wait does not make it slow.
// The caller calls the returned function when the wait is over. Pause has no effect for
// other contexts.
func Pause(ctx context.Context) (resume func()) {
	watch, found := ctx.Value(watchKey{}).(*stopwatch)
	if !found {
		return func() {}
	}
	watch.pause()
	return watch.resume
}

func (w *stopwatch) pause() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.pauses++; w.pauses == 1 {
		w.timer.Stop()
		w.counted += time.Since(w.since)
	}
}

func (w *stopwatch) resume() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.pauses--; w.pauses == 0 {
		w.since = time.Now()
		if w.counted < slowAfter {
			w.timer.Reset(slowAfter - w.counted)
		}
	}
}

// elapsed returns the counted time.
func (w *stopwatch) elapsed() time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.pauses > 0 {
		return w.counted
	}
	return w.counted + time.Since(w.since)
}

func (w *stopwatch) stop() { w.timer.Stop() }
