package fairqueue

import (
	"context"
	"sync"
	"time"
)

// stopwatch measures for how long an item is under way, pauses not counted.
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

// Pause says that the item on which a context works, see [Queue.Run], waits for something
// that neither it nor its namespace is to blame for: that time does not make it slow. It
// returns how to say that the wait is over. Other contexts may be given, without effect.
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

// elapsed returns what has been counted.
func (w *stopwatch) elapsed() time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.pauses > 0 {
		return w.counted
	}
	return w.counted + time.Since(w.since)
}

func (w *stopwatch) stop() { w.timer.Stop() }
