package fairqueue

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// keepBusy lets a namespace have 20 items that are added again whenever they end, and 1,000
// of another one that take 10 ms each. It returns how long these took altogether.
func keepBusy(t *testing.T, busy int, takes func() time.Duration) time.Duration {
	q := newTestQueue(8)
	ctx, stop := context.WithCancel(t.Context())
	done, ended := make(chan struct{}, 1000), make(chan struct{})
	go func() {
		defer close(ended)
		q.Run(ctx, func(_ context.Context, item string) {
			if namespaceOf(item) != "other" {
				time.Sleep(takes())
				q.Add(item, "")
				return
			}
			time.Sleep(10 * time.Millisecond)
			done <- struct{}{}
		})
	}()
	for i := range busy {
		for _, item := range names(fmt.Sprint("busy-", i), 20) {
			q.Add(item, "")
		}
	}
	time.Sleep(2 * time.Second)
	begun := time.Now()
	for _, item := range names("other", 1000) {
		q.Add(item, "")
	}
	for range 1000 {
		<-done
	}
	took := time.Since(begun)
	stop()
	<-ended
	return took
}

// An admission webhook may answer just before an item is slow. Turns by items would let
// 1,000 items wait for 2 minutes.
func TestNamespacesShareTheWorkersByTime(t *testing.T) {
	const alone = 1250 * time.Millisecond // 1,000 items, 10 ms, 8 workers
	for _, takes := range []time.Duration{100 * time.Millisecond, 950 * time.Millisecond} {
		for _, busy := range []int{0, 1, 8} {
			synctest.Test(t, func(t *testing.T) {
				took := keepBusy(t, busy, func() time.Duration { return takes })
				// Before, all workers may have begun something, and they may at the end.
				if limit := time.Duration(busy+1)*alone + 2*takes; took > limit {
					t.Errorf("beside %d namespaces of items of %s: %s, want no more than %s", busy, takes, took, limit)
				}
			})
		}
	}
}

func TestANamespaceWithItemsOfUnequalDurationPaysForAllOfThem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var count atomic.Int32
		took := keepBusy(t, 1, func() time.Duration {
			if count.Add(1)%2 == 0 {
				return time.Millisecond
			}
			return 950 * time.Millisecond
		})
		if took > 5*time.Second {
			t.Errorf("%s", took)
		}
	})
}

// Otherwise the namespace that waits longest would get all workers for as long as it has waited.
func TestANamespaceThatHadNothingToDoHasSavedUpNoTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newTestQueue(1)
		q.AddAfter("idle/last", time.Hour) // so that the queue remembers the namespace
		for _, item := range names("busy", 100) {
			q.Add(item, "")
		}
		for range 10 {
			item, _ := q.Get()
			time.Sleep(time.Second / 2)
			q.Done(item)
		}
		for _, item := range names("idle", 100) {
			q.Add(item, "")
		}
		served := map[string]int{}
		for range 20 {
			item, _ := q.Get()
			time.Sleep(time.Second / 2)
			q.Done(item)
			served[namespaceOf(item)]++
		}
		expect(t, map[string]int{"busy": 10, "idle": 10}, served)
	})
}
