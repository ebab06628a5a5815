package logging

import (
	"cmp"
	"context"
	"log/slog"
	"strings"
	"sync"
	"time"

	"kubernetes-deployment-restart-controller/catalog/names"
)

// Of each message, the log has so many lines about a namespace at once, and then one in each interval. Whoever may edit
// workloads and configs can cause most messages in a loop. The restarts of a large fan-out still have a line each.
const (
	linesAtOnce  = 1000
	lineInterval = time.Second
	// maxLineCounts is how many pairs of a namespace and a message are remembered; if there are more, counting begins anew.
	maxLineCounts = 10_000
)

// throttledHandler leaves out lines about a namespace if there are too many with one message. The next line that
// is not left out says how many were.
type throttledHandler struct {
	slog.Handler
	counts *lineCounts
}

type lineCounts struct {
	mu sync.Mutex
	of map[lineKind]*lineCount
}

type lineKind struct{ namespace, message string }

// lineCount is when as many lines could be written at once again as at first, and how many were left out.
type lineCount struct {
	free    time.Time
	leftOut int
}

func newThrottledHandler(inner slog.Handler) slog.Handler {
	return throttledHandler{inner, &lineCounts{of: make(map[lineKind]*lineCount)}}
}

// Handle writes a line, or leaves it out.
func (h throttledHandler) Handle(ctx context.Context, record slog.Record) error {
	namespace := namespaceOf(record)
	if record.Level < slog.LevelInfo || namespace == "" {
		return h.Handler.Handle(ctx, record)
	}
	leftOut, passes := h.counts.take(lineKind{namespace, record.Message}, record.Time)
	if !passes {
		return nil
	}
	if leftOut > 0 {
		record = record.Clone()
		record.Add("left_out", leftOut)
	}
	return h.Handler.Handle(ctx, record)
}

// take reports whether a line may be written at a time, and how many were left out before it.
func (c *lineCounts) take(kind lineKind, now time.Time) (leftOut int, passes bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	count := c.of[kind]
	if count == nil {
		if len(c.of) >= maxLineCounts {
			clear(c.of)
		}
		count = &lineCount{}
		c.of[kind] = count
	}
	if count.free.Before(now) {
		count.free = now
	}
	if count.free.Sub(now) > (linesAtOnce-1)*lineInterval {
		count.leftOut++
		return 0, false
	}
	count.free = count.free.Add(lineInterval)
	leftOut, count.leftOut = count.leftOut, 0
	return leftOut, true
}

// namespaceOf returns the namespace that a line is about, empty if it is about none.
func namespaceOf(record slog.Record) (namespace string) {
	record.Attrs(func(attr slog.Attr) bool {
		switch ref := attr.Value.Any().(type) {
		case names.WorkloadRef:
			namespace = ref.Namespace
		case names.ConfigRef:
			namespace = ref.Namespace
		case string:
			namespace = namespaceIn(attr.Key, ref)
		}
		return namespace == ""
	})
	return namespace
}

// namespaceIn returns the namespace in the text of an attribute: a Deployment is "namespace/name", an object that is left
// alone "kind/namespace/name", and a Namespace, which is in itself, "namespace//name".
func namespaceIn(key, text string) string {
	switch key {
	case "namespace":
		return text
	case "deployment":
		namespace, _, _ := strings.Cut(text, "/")
		return namespace
	case "object":
		_, name, _ := strings.Cut(text, "/")
		namespace, name, _ := strings.Cut(name, "/")
		return cmp.Or(namespace, name)
	}
	return ""
}

// WithAttrs returns a handler that adds attributes.
func (h throttledHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return throttledHandler{h.Handler.WithAttrs(attrs), h.counts}
}

// WithGroup returns a handler that adds a group.
func (h throttledHandler) WithGroup(name string) slog.Handler {
	return throttledHandler{h.Handler.WithGroup(name), h.counts}
}
