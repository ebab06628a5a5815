package show

import (
	"fmt"
	"strings"

	"kubernetes-deployment-restart-controller/internal/quarantine"
	"kubernetes-deployment-restart-controller/internal/status"
)

// Ready reports whether all objects have been seen at least once, with a line for each watch. A kind that is not
// installed has a line, too, but nothing waits for it. A watch that breaks later does not make the controller unready:
// the controller continues with what it knows, and its metrics must stay reachable. Nor does an object that is left
// alone after an internal error, an object of its own that it cannot use, or a permission without which workloads do not
// restart; these also have a line.
func (b *Board) Ready() (bool, string) {
	ready := true
	var detail strings.Builder
	for _, w := range b.Watching.All {
		status := w.Status()
		ready = ready && (status.Synced || status.Missing)
		fmt.Fprintln(&detail, status)
	}
	for _, gap := range b.Gaps("") {
		fmt.Fprintln(&detail, gap.Line())
	}
	return ready, detail.String()
}

// quarantineGap names the objects of a namespace, or of all, that are left alone after an internal error.
func quarantineGap(namespace string, left *quarantine.Set) (gap status.Gap, found bool) {
	text, since := left.Describe(namespace)
	return status.Gap{
		Text: text, Beginning: status.Beginning{Since: since.UTC()},
		Remedy: "Changes of what is left alone may restart nothing. This is a bug: report the stack in the controller's log. To make the controller try again, set any annotation on the object.",
	}, text != ""
}

// Gaps says which of its own objects the controller cannot use, and for which permissions workloads of a namespace, or of
// all if it is empty, wait.
func (b *Board) Gaps(namespace string) (gaps []status.Gap) {
	if gap, found := b.Gate.HaltsGap(); found {
		gaps = append(gaps, gap)
	}
	if gap, found := b.Gate.UnreadGap(); found {
		gaps = append(gaps, gap)
	}
	if gap, found := b.KeyObject.Gap("The controller cannot load the key of Secrets' checksums, so workloads that read Secrets wait, or are judged by when their pods started"); found {
		gaps = append(gaps, gap)
	}
	if gap, found := quarantineGap(namespace, b.Quarantine); found {
		gaps = append(gaps, gap)
	}
	return append(gaps, LostPermissions(namespace, b.Restarter.Backlogs, b.Evictions)...)
}
