package fairqueue

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// worked notes when items started.
type worked struct {
	mu      sync.Mutex
	started map[string]time.Time
	// current is how many items of each namespace are under way, and of all under the empty
	// name; most is the greatest that has been.
	current, most map[string]int
}

// run lets items be worked on until the test ends; each takes as long as given.
func run(t *testing.T, q *Queue[string, string], takes func(item string) time.Duration) *worked {
	w := &worked{started: map[string]time.Time{}, current: map[string]int{}, most: map[string]int{}}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		q.Run(ctx, func(_ context.Context, item string) {
			w.begin(item)
			time.Sleep(takes(item))
			w.end(item)
		})
	}()
	t.Cleanup(func() {
		stop()
		<-ended
	})
	return w
}

func (w *worked) begin(item string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.started[item] = time.Now()
	for _, ns := range []string{namespaceOf(item), ""} {
		w.current[ns]++
		w.most[ns] = max(w.most[ns], w.current[ns])
	}
}

func (w *worked) end(item string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, ns := range []string{namespaceOf(item), ""} {
		w.current[ns]--
	}
}

func (w *worked) mostOf(namespace string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.most[namespace]
}

func (w *worked) count() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.started)
}

func (w *worked) startOf(item string) time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.started[item]
}

func hanging(namespaces string) func(string) time.Duration {
	return func(item string) time.Duration {
		if namespaceOf(item)[:1] == namespaces {
			return 30 * time.Second
		}
		return 10 * time.Millisecond
	}
}

func TestAnItemBehindManyThatHangStartsWithinASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newTestQueue(8)
		w := run(t, q, hanging("h"))
		for _, item := range names("hanging", 200) {
			q.Add(item, "")
		}
		synctest.Wait()
		begun := time.Now()
		q.Add("other/0", "")
		time.Sleep(2 * time.Second)
		if waited := w.startOf("other/0").Sub(begun); waited < 0 || waited > time.Second {
			t.Errorf("started after %s", waited)
		}
		if slow := q.Slow(); slow != 8 {
			t.Errorf("%d are slow, want the first 8", slow)
		}
		time.Sleep(35 * time.Second) // these have ended
		if slow := q.Slow(); slow != maxOfSlowNamespace {
			t.Errorf("then %d are slow, want %d", slow, maxOfSlowNamespace)
		}
		begun = time.Now()
		q.Add("other/1", "")
		synctest.Wait()
		if w.startOf("other/1") != begun {
			t.Errorf("now it waits although workers are free")
		}
	})
}

func TestANamespaceThatIsNoLongerSlowGetsAllWorkersAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newTestQueue(8)
		w := run(t, q, func(item string) time.Duration {
			if item == "a/slow" {
				return 5 * time.Second
			}
			return time.Second / 2
		})
		q.AddAfter("a/last", time.Hour) // so that the queue remembers the namespace
		q.Add("a/slow", "")
		time.Sleep(10 * time.Second)
		for _, item := range names("a", 20) {
			q.Add(item, "")
		}
		time.Sleep(time.Minute)
		expect(t, maxOfSlowNamespace, w.mostOf("a"))
		time.Sleep(slowMemory)
		q.Add("a/first", "")
		time.Sleep(time.Second)
		for _, item := range names("a", 20) {
			q.Add(item, "")
		}
		time.Sleep(time.Minute)
		expect(t, 8, w.mostOf("a"))
	})
}

// Hundreds of namespaces whose requests all hang can neither pile them up nor stop the
// others.
func TestAtTheLimitOfSlowItemsOtherNamespacesHaveHalfOfTheWorkers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newTestQueue(8)
		w := run(t, q, hanging("h"))
		for i := range 300 {
			for _, item := range names(fmt.Sprint("hanging-", i), 50) {
				q.Add(item, "")
			}
		}
		time.Sleep(time.Hour) // by now all of them have been slow
		for _, item := range names("other", 100) {
			q.Add(item, "")
		}
		begun := time.Now()
		time.Sleep(time.Second)
		if waited := w.startOf("other/99").Sub(begun); waited < 0 || waited > time.Second {
			t.Errorf("started after %s", waited)
		}
		if most := w.mostOf("other"); most < 4 {
			t.Errorf("%d were under way at once, want half of the workers at least", most)
		}
		if most := w.mostOf(""); most > maxSlow+8 {
			t.Errorf("%d were under way at once, want no more than %d and the workers", most, maxSlow)
		}
	})
}

func TestAllThatWaitIsWorkedOnThoughNamespacesWereSlow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, workers := range []int{1, 2, 8} {
			q := newTestQueue(workers)
			w := run(t, q, func(string) time.Duration { return 3 * time.Second })
			for i := range 100 {
				for _, item := range names(fmt.Sprint("hanging-", i), 5) {
					q.Add(item, "")
				}
			}
			time.Sleep(time.Hour)
			if started := w.count(); q.Len() != 0 || started != 500 {
				t.Errorf("with %d workers %d wait and %d have started", workers, q.Len(), started)
			}
		}
	})
}

func TestTimeThatIsNotTheItemsFaultDoesNotMakeItSlow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newTestQueue(1)
		waited := make(chan struct{})
		q.Add("a/0", "")
		go q.Run(t.Context(), func(ctx context.Context, _ string) {
			for range 10 {
				resume := Pause(ctx)
				again := Pause(ctx) // by another request of it
				time.Sleep(time.Second)
				again()
				resume()
				time.Sleep(time.Second / 20)
			}
			waited <- struct{}{}
			time.Sleep(time.Second) // and with this it is slow
			<-waited
		})
		<-waited
		if q.Slow() != 0 {
			t.Error("it is slow for its pauses")
		}
		time.Sleep(time.Second)
		synctest.Wait()
		if q.Slow() != 1 {
			t.Error("it is not slow")
		}
		waited <- struct{}{}
	})
}

func TestAContextOfNoItemCanBePaused(t *testing.T) { Pause(t.Context())() }

func TestRunReturnsWhenWhatIsUnderWayHasEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newTestQueue(1)
		q.Add("a/0", "")
		q.Add("a/1", "")
		ctx, stop := context.WithCancel(t.Context())
		begun := time.Now()
		var items []string
		q.Run(ctx, func(ctx context.Context, item string) {
			items = append(items, item)
			stop()
			<-ctx.Done()
			time.Sleep(time.Minute)
		})
		if took := time.Since(begun); took != time.Minute {
			t.Errorf("returned after %s", took)
		}
		expect(t, []string{"a/0"}, items)
	})
}

func TestWaitsAreMeasured(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var waits []time.Duration
		q := New[string, string](Options[string]{
			Namespace: namespaceOf, Workers: 1, Waited: func(wait time.Duration) { waits = append(waits, wait) },
		})
		q.Add("a/0", "")
		time.Sleep(time.Second)
		q.Add("a/0", "")
		q.Get()
		expect(t, []time.Duration{time.Second}, waits)
	})
}
