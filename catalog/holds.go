package catalog

import "fmt"

// HoldNote is a workload or a config whose annotation holds restarts, and why.
type HoldNote struct {
	On        fmt.Stringer // a [WorkloadRef] or a [ConfigRef]
	Namespace string
	Text      string
}

// holdIndex finds the holds without a search through all objects.
type holdIndex map[fmt.Stringer]HoldNote

// note takes in why an object holds restarts, empty if it does not.
func (x holdIndex) note(on fmt.Stringer, namespace, text string) {
	if text == "" {
		delete(x, on)
		return
	}
	x[on] = HoldNote{on, namespace, text}
}

// Holds calls a function with the hold of each workload and config that has one, whether or not anything is due. The
// function must not use the catalog.
func (c *Catalog) Holds(do func(HoldNote)) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	for _, hold := range c.held {
		do(hold)
	}
}

func (w *Workload) holdText() string {
	if w.Policy == nil {
		return ""
	}
	return w.Policy.Hold
}

func (c *Config) holdText() string {
	if c.Policy == nil || c.Deleted {
		return ""
	}
	return c.Policy.Hold
}
