package harness

import (
	"bytes"
	"context"
	"io"
	"strings"
	"sync"
)

// Output keeps what a process writes, line by line. It is safe for concurrent
// use.
type Output struct {
	echo io.Writer // receives whole lines; nil for no echo

	mu      sync.Mutex
	lines   []string
	partial []byte
	changed chan struct{} // closed at the next whole line
}

func newOutput(echo io.Writer) *Output {
	return &Output{echo: echo, changed: make(chan struct{})}
}

// Write takes the next bytes of the process; it never fails.
func (o *Output) Write(data []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.partial = append(o.partial, data...)
	for {
		line, rest, whole := bytes.Cut(o.partial, []byte("\n"))
		if !whole {
			return len(data), nil
		}
		o.append(string(line))
		o.partial = bytes.Clone(rest)
	}
}

func (o *Output) append(line string) {
	o.lines = append(o.lines, line)
	if o.echo != nil {
		_, _ = io.WriteString(o.echo, line+"\n") // an echo that fails must not stop the process
	}
	close(o.changed)
	o.changed = make(chan struct{})
}

// Lines returns the lines so far, the last one also where its end is missing.
func (o *Output) Lines() []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	lines := append([]string(nil), o.lines...)
	if len(o.partial) > 0 {
		lines = append(lines, string(o.partial))
	}
	return lines
}

// String returns all that was written.
func (o *Output) String() string { return strings.Join(o.Lines(), "\n") }

// Tail returns the last lines, at most count.
func (o *Output) Tail(count int) string {
	lines := o.Lines()
	return strings.Join(lines[max(0, len(lines)-count):], "\n")
}

// Containing returns the lines that contain every one of the parts.
func (o *Output) Containing(parts ...string) []string {
	var found []string
	for _, line := range o.Lines() {
		if containsAll(line, parts) {
			found = append(found, line)
		}
	}
	return found
}

func containsAll(line string, parts []string) bool {
	for _, part := range parts {
		if !strings.Contains(line, part) {
			return false
		}
	}
	return true
}

// AwaitLine returns the first line, written before or after the call, that
// matches. It ends with the error of ctx.
func (o *Output) AwaitLine(ctx context.Context, matches func(line string) bool) (string, error) {
	for seen := 0; ; {
		o.mu.Lock()
		fresh, changed := o.lines[seen:], o.changed
		o.mu.Unlock()
		for _, line := range fresh {
			if matches(line) {
				return line, nil
			}
		}
		seen += len(fresh)
		select {
		case <-ctx.Done():
			return "", context.Cause(ctx)
		case <-changed:
		}
	}
}
