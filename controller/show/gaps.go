package show

import (
	"kubernetes-deployment-restart-controller/internal/quarantine"
	"kubernetes-deployment-restart-controller/internal/status"
)

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
	return append(gaps, LostPermissions(namespace, b.Table)...)
}
