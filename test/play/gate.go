package main

import (
	"io"
	"sync"
)

// gate holds back what is written until it is opened: the controller's log must
// not run into the text above it.
type gate struct {
	out io.Writer

	mu     sync.Mutex
	opened bool
	held   []byte
}

func (g *gate) Write(data []byte) (int, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.opened {
		g.held = append(g.held, data...)
		return len(data), nil
	}
	return g.out.Write(data)
}

func (g *gate) open() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.opened = true
	_, _ = g.out.Write(g.held) // nothing can be done about a terminal that is gone
	g.held = nil
}
