package harness

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"sync"
	"testing"
)

// Cleanups collects what ends together with a test binary: clusters, and what runs
// on them. The zero value is ready for use, by several goroutines at once.
type Cleanups struct {
	mu    sync.Mutex
	steps []func() error
}

// Add adds a step. The steps are taken in reverse order.
func (c *Cleanups) Add(step func() error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.steps = append(c.steps, step)
}

// RunTests runs the tests of a binary, then takes the steps, and returns the exit
// code. So many tests run in parallel unless the command line tells otherwise: they
// wait most of the time.
func (c *Cleanups) RunTests(m *testing.M, parallel string) int {
	flag.Parse()
	if !isSet("test.parallel") {
		if err := flag.Set("test.parallel", parallel); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}
	code := m.Run()
	if err := c.takeAll(); err != nil {
		fmt.Fprintf(os.Stderr, "clean up after the tests: %v\n", err)
		code = max(code, 1)
	}
	return code
}

func (c *Cleanups) takeAll() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	var errs []error
	for _, step := range slices.Backward(c.steps) {
		errs = append(errs, step())
	}
	return errors.Join(errs...)
}

func isSet(name string) (set bool) {
	flag.Visit(func(f *flag.Flag) { set = set || f.Name == name })
	return set
}
