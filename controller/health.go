package controller

import (
	"fmt"
	"strings"
	"time"
)

// Ready tells whether all objects have been seen at least once, with a line for
// each watch. A watch that breaks later does not make the controller unready: it
// goes on with what it knows, and its metrics must stay reachable.
func (c *Controller) Ready() (bool, string) {
	ready := true
	var detail strings.Builder
	for _, w := range c.watches {
		status := w.status()
		ready = ready && status.synced
		fmt.Fprintln(&detail, status)
	}
	return ready, detail.String()
}

// String describes the state of a watch in one line.
func (s watchStatus) String() string {
	var line strings.Builder
	mark, state := "[+]", "synced"
	if !s.synced {
		mark, state = "[-]", "not synced yet"
	}
	fmt.Fprintf(&line, "%s watch %s", mark, s.resource)
	if s.namespace != "" {
		fmt.Fprintf(&line, " in %s", s.namespace)
	}
	fmt.Fprintf(&line, ": %s", state)
	if !s.brokenSince.IsZero() {
		fmt.Fprintf(&line, ", broken since %s: %v", s.brokenSince.UTC().Format(time.RFC3339), s.problem)
	}
	return line.String()
}
