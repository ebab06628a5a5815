package gatekeeper

import (
	"sync"
	"time"

	"kubernetes-deployment-restart-controller/catalog/policy"
	"kubernetes-deployment-restart-controller/controller/window"
)

// maxWindows is how many different windows are remembered. Each takes some KiB with its time zone.
const maxWindows = 256

// windowCache remembers windows by their texts, because many workloads share one and reading it takes
// longer than a decision. The zero value is empty. Its methods may be called by several goroutines at
// once.
type windowCache struct {
	mu    sync.Mutex
	known map[string]readWindow
}

type readWindow struct {
	window window.Window
	err    error
}

// read returns the window with this text.
func (c *windowCache) read(text string) (window.Window, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	known, found := c.known[text]
	if !found {
		known.window, known.err = window.Parse(text)
		if c.known == nil || len(c.known) >= maxWindows {
			c.known = make(map[string]readWindow)
		}
		c.known[text] = known
	}
	return known.window, known.err
}

// closedBy reports whether a window is closed, when it opens, and why it cannot be read; see [window.IsClosed].
func (c *windowCache) closedBy(text string, now time.Time) (isClosed bool, opens time.Time, err error) {
	w, err := c.read(text)
	isClosed, opens = window.IsClosed(w, err, now)
	return isClosed, opens, err
}

// problem describes what is wrong with a window, and what that means; empty if nothing is.
func (c *windowCache) problem(text string) string {
	if text == "" {
		return ""
	}
	if _, err := c.read(text); err != nil {
		return policy.WindowProblem(err)
	}
	return ""
}
