package gatekeeper

import (
	"maps"
	"time"

	"kubernetes-deployment-restart-controller/controller/gate"
	"kubernetes-deployment-restart-controller/internal/status"
)

// SetHaltsKnown notes that the halts of former leaders were read, or that restarts go on without them.
func (g *Gatekeeper) SetHaltsKnown(wereRead bool) {
	g.Mu.Lock()
	defer g.Mu.Unlock()
	g.knowsHalts, g.hasReadHalts = true, g.hasReadHalts || wereRead
}

// SetHaltsTried notes that it was tried to read what is kept for all leaders.
func (g *Gatekeeper) SetHaltsTried() {
	g.Mu.Lock()
	defer g.Mu.Unlock()
	g.hasTried = true
}

// KnowsOfHalts reports whether it was tried to read what is kept for all leaders, and whether the halts of
// former leaders are known.
func (g *Gatekeeper) KnowsOfHalts() (hasTried, knowsHalts bool) {
	g.Mu.Lock()
	defer g.Mu.Unlock()
	return g.hasTried, g.knowsHalts
}

// HaltsGap says what follows if the ConfigMap of halts cannot be used.
func (g *Gatekeeper) HaltsGap() (gap status.Gap, found bool) {
	g.Mu.Lock()
	text := "The next leader will not know of new halts, because this one cannot read or update the ConfigMap of halts"
	switch {
	case !g.knowsHalts:
		text = "Restarts wait for a minute, and then begin without the halts of former leaders, because the controller cannot read or update the ConfigMap of halts"
	case !g.hasReadHalts:
		text = "Halts of former leaders are ignored, if there are any, because the controller cannot read the ConfigMap of halts"
	}
	g.Mu.Unlock()
	return g.HaltsObject.Gap(text)
}

// SetUnread takes in which entries of the ConfigMap of halts cannot be read, and why, and logs those that are new. It keeps
// the map, and reports whether other entries cannot be read than before.
func (g *Gatekeeper) SetUnread(entries map[string]string, now time.Time) (isNews bool) {
	g.Mu.Lock()
	defer g.Mu.Unlock()
	for name, why := range entries {
		if g.unread[name] != why {
			g.Log.Warn("cannot read an entry of the ConfigMap of halts, ignoring it", "entry", name, "error", why, "remedy", status.UnreadRemedy(gate.HoldEntry))
		}
	}
	for name := range g.unread {
		if _, isUnread := entries[name]; !isUnread {
			g.Log.Info("an entry of the ConfigMap of halts is corrected or gone", "entry", name)
		}
	}
	switch {
	case len(entries) == 0:
		g.unreadSince = time.Time{}
	case len(g.unread) == 0:
		g.unreadSince = now
	}
	isNews = !maps.Equal(g.unread, entries)
	g.unread = entries
	return isNews
}

// IsUnread reports whether an entry could not be read the last time.
func (g *Gatekeeper) IsUnread(entry string) bool {
	g.Mu.Lock()
	defer g.Mu.Unlock()
	_, is := g.unread[entry]
	return is
}

// UnreadGap says what follows if somebody has written an entry of the ConfigMap of halts that cannot be read.
func (g *Gatekeeper) UnreadGap() (gap status.Gap, found bool) {
	g.Mu.Lock()
	defer g.Mu.Unlock()
	if len(g.unread) == 0 {
		return status.Gap{}, false
	}
	return status.UnreadEntries(g.unread, gate.HoldEntry, status.Beginning{Since: g.unreadSince.UTC(), AtLeast: true}), true
}
