package harness

import (
	"errors"
	"slices"
	"sync"
)

// Cleanups are the steps that end what was begun: clusters, and what runs on them. The
// zero value is ready for use, by several goroutines at once.
type Cleanups struct {
	mu    sync.Mutex
	steps []func() error
}

// Add adds a step.
func (c *Cleanups) Add(step func() error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.steps = append(c.steps, step)
}

// Run takes the steps in the opposite order of their addition. All are taken, and the
// errors joined.
func (c *Cleanups) Run() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	var errs []error
	for _, step := range slices.Backward(c.steps) {
		errs = append(errs, step())
	}
	return errors.Join(errs...)
}
