package content

import (
	"time"
	"unique"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"kubernetes-deployment-restart-controller/catalog/annotation"
	"kubernetes-deployment-restart-controller/catalog/names"
)

// CSIMount is what the catalog keeps of a SecretProviderClassPodStatus: which class is mounted in which pod, and which
// versions of its objects, as a checksum.
type CSIMount struct {
	Class names.ConfigRef
	// Name is the name of the status itself, in the namespace of the class.
	Name string
	// Pod is empty if the status does not say which pod or class it is about.
	Pod types.UID
	// Content is the checksum of the objects and their versions, 0 if the status has none.
	Content names.Checksum
	// Rewritten is when the status was written again after its creation, by the API server's clock, in seconds of Unix
	// time; 0 if it was not, or if that is not known.
	Rewritten uint32
}

// CSIObject is an object of a class with its version, as a status has it.
type CSIObject struct {
	ID      string `json:"id"`
	Version string `json:"version"`
}

// NewCSIMount reduces a status of a class with these objects.
func NewCSIMount(meta *metav1.ObjectMeta, class string, objects []CSIObject) CSIMount {
	m := CSIMount{Class: names.ConfigRef{Kind: names.SecretProviderClass, Namespace: unique.Make(meta.Namespace).Value()}, Name: meta.Name}
	if !names.IsClassName(class) { // anyone may have written it
		return m
	}
	m.Class.Name = unique.Make(class).Value()
	m.Pod, m.Content, m.Rewritten = ownerPod(meta), mountedContent(objects), rewrittenAt(meta)
	return m
}

// mountedContent returns the checksum of objects in any order.
func mountedContent(objects []CSIObject) names.Checksum {
	var sum names.Checksum
	for _, object := range objects {
		sum += KeyChecksum(object.ID, object.Version)
	}
	return sum
}

// longestUID is how long the UID of a pod may be. The API server makes UIDs of 36 bytes.
const longestUID = 64

// ownerPod returns the UID of the pod that a status is about, which owns it.
func ownerPod(meta *metav1.ObjectMeta) types.UID {
	for i := range meta.OwnerReferences {
		if owner := &meta.OwnerReferences[i]; owner.Kind == "Pod" && owner.APIVersion == "v1" && len(owner.UID) <= longestUID {
			return owner.UID
		}
	}
	return ""
}

// rewrittenAt returns [CSIMount.Rewritten]. The status is no subresource, so each write of it makes a generation.
func rewrittenAt(meta *metav1.ObjectMeta) uint32 {
	if meta.Generation <= 1 {
		return 0
	}
	last := meta.CreationTimestamp.Time
	for i := range meta.ManagedFields {
		entry := &meta.ManagedFields[i]
		if entry.Time != nil && entry.Time.After(last) && annotation.MentionsField(entry, "status") {
			last = entry.Time.Time
		}
	}
	if !last.After(meta.CreationTimestamp.Time) {
		return 0
	}
	return names.UnixSeconds(last)
}

// CSIMountState is a [CSIMount] with what is known of its past. It is never modified.
type CSIMountState struct {
	CSIMount
	// first is the content with which the pod began, 0 if that is not known.
	first names.Checksum
	// Rotated is when other content last replaced what was there; zero if the pod always had the first one. Shown is the
	// moment at which a watch showed it, 0 if no watch did.
	Rotated time.Time
	Shown   names.Sequence
	// left is when the first content was last replaced. returned is when it came back, zero if the pod has other content.
	left, returned time.Time
}

// NewCSIMountState returns a mount of which nothing was known. If only a list shows it, its files may have changed before.
func NewCSIMountState(m CSIMount, at time.Time, isListed bool) *CSIMountState {
	if !isListed || m.Rewritten == 0 {
		return &CSIMountState{CSIMount: m, first: m.Content}
	}
	return &CSIMountState{CSIMount: m, Rotated: earlierOf(time.Unix(int64(m.Rewritten), 0).UTC(), at)}
}

// Then returns the mount as a watch shows it later, at a moment, and when its files changed, zero if they did not. A
// status without objects says nothing.
func (m *CSIMountState) Then(present CSIMount, at time.Time, isListed bool, moment names.Sequence) (next *CSIMountState, changed time.Time) {
	next = new(*m)
	switch {
	case present.Content == 0 || present.Content == m.Content:
		return next, time.Time{}
	case m.Content == 0 && m.Rotated.IsZero():
		next.Content, next.first = present.Content, present.Content
		return next, time.Time{}
	}
	changed = at
	if isListed && present.Rewritten > 0 {
		changed = earlierOf(time.Unix(int64(present.Rewritten), 0).UTC(), at)
	}
	if next.Content = present.Content; next.Content == next.first {
		next.returned = changed
		return next, changed
	}
	if m.Content == m.first {
		next.left = changed
	}
	next.Rotated, next.returned, next.Shown = changed, time.Time{}, moment
	return next, changed
}

func earlierOf(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

// Missed returns when a container of the pod started that has other content than the pod now: before the files changed or, if
// they have changed back, in between. If a watch showed the change, a pod is stale if in doubt. If not, the driver may have
// written the status when it mounted the volume, just before the container started: a pod of a StatefulSet that comes back has
// the status of its predecessor.
func (m *CSIMountState) Missed() names.Interval {
	isShown := m.Shown > 0
	if m.returned.IsZero() {
		return names.Before(m.Rotated, isShown)
	}
	return names.Before(m.returned, isShown).After(m.left, isShown)
}

// CSIClassMounts is what a [catalog.View] shows of the mounts of a class.
type CSIClassMounts struct {
	// Rotated are the mounts whose files have changed, in no order.
	Rotated []*CSIMountState
	// Since is what to record in place of a checksum: since when rotations matter to the workload, in seconds of Unix time.
	// It is zero if the mounts have not been listed.
	Since names.Checksum
	// ReadSince is the moment since which the workload reads the class.
	ReadSince names.Sequence
}
