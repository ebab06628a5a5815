package series

import (
	"strings"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
)

// Counter counts by one label whose values others choose, such as the name of a field
// manager. The first values get a series each; all later values count as [Other]. A
// value keeps its series as long as the process runs, because a counter that vanishes
// looks like a restart of the process. It implements [prometheus.Collector], and may be
// used concurrently.
type Counter struct {
	vec   *prometheus.CounterVec
	limit int

	mu     sync.Mutex
	values map[string]struct{}
}

// NewCounter returns a counter that names up to limit values. The known values are
// among them, and start at zero, so that their first increase is visible as an
// increase.
func NewCounter(opts prometheus.CounterOpts, label string, limit int, known ...string) *Counter {
	c := &Counter{vec: prometheus.NewCounterVec(opts, []string{label}), limit: limit, values: make(map[string]struct{})}
	for _, value := range known {
		c.Of(value)
	}
	return c
}

// Inc increments the counter of the value.
func (c *Counter) Inc(value string) { c.Of(value).Inc() }

// Of returns the counter of the value.
func (c *Counter) Of(value string) prometheus.Counter {
	return c.vec.WithLabelValues(c.named(strings.ToValidUTF8(value, "�"))) // WithLabelValues panics otherwise
}

func (c *Counter) named(value string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, found := c.values[value]; found {
		return value
	}
	if len(c.values) >= c.limit {
		return Other
	}
	c.values[value] = struct{}{}
	return value
}

// Describe implements [prometheus.Collector].
func (c *Counter) Describe(descs chan<- *prometheus.Desc) { c.vec.Describe(descs) }

// Collect implements [prometheus.Collector].
func (c *Counter) Collect(samples chan<- prometheus.Metric) { c.vec.Collect(samples) }
