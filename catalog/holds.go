package catalog

import "fmt"

// HoldNote is a workload or a config whose annotation holds restarts, and why.
type HoldNote struct {
	On        fmt.Stringer // a [WorkloadRef] or a [ConfigRef]
	Namespace string
	Text      string
}

// holdIndex finds the holds without a search through all objects: why each of these holds restarts.
type holdIndex struct {
	workloads map[WorkloadRef]string
	configs   map[ConfigRef]string
}

func newHoldIndex() holdIndex {
	return holdIndex{make(map[WorkloadRef]string), make(map[ConfigRef]string)}
}

// noteHold takes in why an object holds restarts, empty if it does not.
func noteHold[R comparable](holds map[R]string, ref R, text string) {
	if text == "" {
		delete(holds, ref)
		return
	}
	holds[ref] = text
}

// Holds calls a function with the hold of each workload and config that has one, whether or not anything is due. The
// function must not use the catalog.
func (c *Catalog) Holds(do func(HoldNote)) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	for ref, text := range c.held.workloads {
		do(HoldNote{ref, ref.Namespace, text})
	}
	for ref, text := range c.held.configs {
		do(HoldNote{ref, ref.Namespace, text})
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
