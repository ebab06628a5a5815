package main

import (
	"context"
	"fmt"
	"time"

	"kubernetes-deployment-restart-controller/test/harness"
)

// footprint is what a process takes at rest: the least of several looks, since garbage
// comes and goes.
type footprint struct {
	resident, heap, goroutines float64
	age                        time.Duration // of the process
}

func (f footprint) String() string {
	return fmt.Sprintf("%.0f MiB resident, %.0f MiB of heap, %.0f goroutines, %s old",
		f.resident/mebi, f.heap/mebi, f.goroutines, f.age.Round(time.Second))
}

const (
	mebi  = 1 << 20
	looks = 12
)

// mostResident is two thirds of the limit of a controller's container in the manifest, in bytes.
const mostResident = 256 * mebi

// followMemory keeps the most that any controller has in RAM, of those that are killed, too, until the context ends.
func (s *soak) followMemory(ctx context.Context) {
	for ; ctx.Err() == nil; pause(ctx, time.Second) {
		for _, c := range s.replicas.all() {
			if _, most, err := harness.Resident(c.PID()); err == nil { // it may have ended
				s.most.Store(max(s.most.Load(), most))
			}
		}
	}
}

// measure returns the largest footprint of the controllers, and the age of the older
// one.
func measure(ctx context.Context, controllers []*harness.Controller) (largest footprint, err error) {
	for _, c := range controllers {
		least, err := weigh(ctx, c)
		if err != nil {
			return largest, err
		}
		for range looks - 1 {
			pause(ctx, 250*time.Millisecond)
			now, err := weigh(ctx, c)
			if err != nil {
				return largest, err
			}
			least = footprint{min(least.resident, now.resident), min(least.heap, now.heap), min(least.goroutines, now.goroutines), now.age}
		}
		largest = footprint{
			max(largest.resident, least.resident), max(largest.heap, least.heap), max(largest.goroutines, least.goroutines),
			max(largest.age, least.age),
		}
	}
	return largest, nil
}

// weigh returns what a controller takes at the moment.
func weigh(ctx context.Context, c *harness.Controller) (now footprint, err error) {
	metrics, err := c.Metrics(ctx)
	if err != nil {
		return now, err
	}
	var started float64
	for name, value := range map[string]*float64{
		"process_resident_memory_bytes": &now.resident, "go_memstats_heap_alloc_bytes": &now.heap,
		"go_goroutines": &now.goroutines, "process_start_time_seconds": &started,
	} {
		if *value, err = metrics.Value(name, nil); err != nil {
			return now, err
		}
	}
	now.age = time.Since(time.UnixMilli(int64(started * 1000)))
	return now, nil
}

// leaked compares the end with the start. The margins are for garbage, for old
// ReplicaSets, which there are only at the end, and for the connections of retries.
func leaked(start, end footprint) error {
	switch {
	case end.resident > 1.5*start.resident+48*mebi, end.heap > 2*start.heap+32*mebi:
		return fmt.Errorf("memory has grown: %s at the start, %s at the end", start, end)
	case end.goroutines > start.goroutines+40:
		return fmt.Errorf("goroutines have leaked: %s at the start, %s at the end", start, end)
	}
	return nil
}
