package status

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// UnreadEntries says what follows if somebody has written entries of the ConfigMap of halts that cannot be read, as far as
// the first one shows. The map says why, by their names, and has at least one; holdEntry is the entry that holds all restarts.
func UnreadEntries(unread map[string]string, holdEntry string, began Beginning) Gap {
	name, effect := slices.Min(slices.Collect(maps.Keys(unread))), "so nothing is held by it"
	if isOfHalts := strings.Contains(name, "."); isOfHalts { // which the leader may know
		effect = "and is ignored"
	}
	return Gap{
		Text:      fmt.Sprintf("The ConfigMap of halts has an entry that cannot be read, %s: %q (such entries: %d)", effect, name, len(unread)),
		Beginning: began, Why: unread[name],
		Remedy: UnreadRemedy(holdEntry),
	}
}

// UnreadRemedy says what to do about such an entry.
func UnreadRemedy(holdEntry string) string {
	return fmt.Sprintf("An entry that holds all restarts must have the name %q. Otherwise remove the entry.", holdEntry)
}
