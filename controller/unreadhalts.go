package controller

import (
	"fmt"
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"

	"kubernetes-deployment-restart-controller/controller/gate"
	"kubernetes-deployment-restart-controller/internal/status"
)

// setUnread takes in which entries of the ConfigMap of halts cannot be read, and why, and logs those that are new. It keeps
// the map, and reports whether other entries cannot be read than before.
func (g *gatekeeper) setUnread(entries map[string]string, now time.Time) (isNews bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for name, why := range entries {
		if g.unread[name] != why {
			g.log.Warn("cannot read an entry of the ConfigMap of halts, ignoring it", "entry", name, "error", why, "remedy", status.UnreadRemedy(gate.HoldEntry))
		}
	}
	for name := range g.unread {
		if _, isUnread := entries[name]; !isUnread {
			g.log.Info("an entry of the ConfigMap of halts is corrected or gone", "entry", name)
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

// isUnread reports whether an entry could not be read the last time.
func (g *gatekeeper) isUnread(entry string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	_, is := g.unread[entry]
	return is
}

// eventUnread reports on the ConfigMap of halts, where those look who write there, which entries cannot be read.
func (k *haltKeeper) eventUnread(object *corev1.ConfigMap) {
	gap, areUnread := k.gate.unreadGap()
	if !areUnread {
		k.events.Event(object, corev1.EventTypeNormal, reasonEntryNotRead, "all entries can be read again")
		return
	}
	k.events.Event(object, corev1.EventTypeWarning, reasonEntryNotRead, fmt.Sprintf("%s: %s. %s", gap.Text, gap.Why, gap.Remedy))
}

// unreadGap says what follows if somebody has written an entry of the ConfigMap of halts that cannot be read.
func (g *gatekeeper) unreadGap() (gap status.Gap, found bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.unread) == 0 {
		return status.Gap{}, false
	}
	return status.UnreadEntries(g.unread, gate.HoldEntry, status.Beginning{Since: g.unreadSince.UTC(), AtLeast: true}), true
}
