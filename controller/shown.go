package controller

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"kubernetes-deployment-restart-controller/internal/status"
)

// What the controller shows; see [show.Board].

// Leads reports whether this process acts.
func (c *Controller) Leads() bool { return c.board.Leads() }

// Ready reports whether all objects have been seen at least once, with a line for each watch.
func (c *Controller) Ready() (bool, string) { return c.board.Ready() }

// Overview returns what is under way in a namespace, or in all if it is empty. Its cost grows with what is under way,
// its size does not.
func (c *Controller) Overview(namespace string, now time.Time) *status.Overview {
	return c.board.Overview(namespace, now)
}

// Watches returns what the controller sees of a namespace, or of all if it is empty.
func (c *Controller) Watches(namespace string) *status.Shortlist[status.Watch] {
	return c.board.Watches(namespace)
}

// Gaps says which of its own objects the controller cannot use, and for which permissions workloads of a namespace, or of
// all if it is empty, wait.
func (c *Controller) Gaps(namespace string) []status.Gap { return c.board.Gaps(namespace) }

// ExplainWorkload explains what the controller knows of a workload with a name such as
// "deployment/namespace/name". It returns nil if the controller knows no enabled workload of that name.
func (c *Controller) ExplainWorkload(name string, now time.Time) *status.Workload {
	return c.board.ExplainWorkload(name, now)
}

// ExplainConfig explains what the controller knows of a config with a name such as "configmap/namespace/name". It
// returns nil if the controller does not know it.
func (c *Controller) ExplainConfig(name string, now time.Time) *status.Config {
	return c.board.ExplainConfig(name, now)
}

// MistakeOn returns what a person has got wrong on an object with a name such as "deployment/namespace/name", nil if nothing is
// known of it.
func (c *Controller) MistakeOn(name string) *status.Mistake {
	return c.intake.Mistakes.OnWorkload(name)
}

// Describe implements prometheus.Collector.
func (c *Controller) Describe(descs chan<- *prometheus.Desc) { c.board.Describe(descs) }

// Collect implements prometheus.Collector.
func (c *Controller) Collect(samples chan<- prometheus.Metric) { c.board.Collect(samples) }
