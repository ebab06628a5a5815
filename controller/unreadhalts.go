package controller

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"kubernetes-deployment-restart-controller/status"
)

// setUnread takes in which entries of the ConfigMap of halts cannot be read, and why, and logs those that are new. It keeps
// the map.
func (g *gatekeeper) setUnread(entries map[string]string, now time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for name, why := range entries {
		if g.unread[name] != why {
			g.log.Warn("cannot read an entry of the ConfigMap of halts, ignoring it", "entry", name, "error", why)
		}
	}
	switch {
	case len(entries) == 0:
		g.unreadSince = time.Time{}
	case len(g.unread) == 0:
		g.unreadSince = now
	}
	g.unread = entries
}

// unreadGap says what follows if somebody has written an entry of the ConfigMap of halts that cannot be read.
func (g *gatekeeper) unreadGap() (gap status.Gap, found bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.unread) == 0 {
		return status.Gap{}, false
	}
	name := slices.Min(slices.Collect(maps.Keys(g.unread)))
	return status.Gap{
		Text:      fmt.Sprintf("The ConfigMap of halts has an entry that cannot be read and is ignored: %q (such entries: %d)", name, len(g.unread)),
		Beginning: status.Beginning{Since: g.unreadSince.UTC(), AtLeast: true}, Why: g.unread[name],
		Remedy: fmt.Sprintf("An entry that holds all restarts must have the name %q. Otherwise remove the entry.", holdEntry),
	}, true
}
