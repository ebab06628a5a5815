package catalog

import (
	"slices"
	"time"
	"unique"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
)

// The Secrets Store CSI driver mounts what a SecretProviderClass names as files. For each pod and class it writes a
// SecretProviderClassPodStatus, with the versions of the objects that it has mounted. When it rotates them, it replaces
// the files of one pod after the other, and the versions in their statuses. So there is no content that all pods share,
// and nothing to compare with a record: a pod is stale if its own status says something else than when the pod started.

// How the pod template refers to such a class.
const (
	secretsStoreDriver = "secrets-store.csi.k8s.io"
	classAttribute     = "secretProviderClass"
)

// Mount is what the catalog keeps of a SecretProviderClassPodStatus: which class is mounted in which pod, and which
// versions of its objects, as a checksum.
type Mount struct {
	Class ConfigRef
	// Name is the name of the status itself, in the namespace of the class.
	Name string
	// Pod is empty if the status does not say which pod or class it is about.
	Pod types.UID
	// Content is the checksum of the objects and their versions, 0 if the status has none.
	Content Checksum
	// Rewritten is when the status was written again after its creation, by the API server's clock, in seconds of Unix
	// time; 0 if it was not, or if that is not known.
	Rewritten uint32
}

// MountedObject is an object of a class with its version, as a status has it.
type MountedObject struct {
	ID      string `json:"id"`
	Version string `json:"version"`
}

// NewMount reduces a status of a class with these objects.
func NewMount(meta *metav1.ObjectMeta, class string, objects []MountedObject) Mount {
	m := Mount{Class: ConfigRef{Kind: SecretProviderClass, Namespace: unique.Make(meta.Namespace).Value()}, Name: meta.Name}
	if !isClassName(class) { // anyone may have written it
		return m
	}
	m.Class.Name = unique.Make(class).Value()
	m.Pod, m.Content, m.Rewritten = ownerPod(meta), mountedContent(objects), rewrittenAt(meta)
	return m
}

// isClassName reports whether a SecretProviderClass can have the name. Nobody checks names in statuses and volumes.
func isClassName(name string) bool { return len(validation.IsDNS1123Subdomain(name)) == 0 }

// mountedContent returns the checksum of objects in any order.
func mountedContent(objects []MountedObject) Checksum {
	var sum Checksum
	for _, object := range objects {
		sum += keyChecksum(object.ID, object.Version)
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

// rewrittenAt returns [Mount.Rewritten]. The status is no subresource, so each write of it makes a generation.
func rewrittenAt(meta *metav1.ObjectMeta) uint32 {
	if meta.Generation <= 1 {
		return 0
	}
	last := meta.CreationTimestamp.Time
	for i := range meta.ManagedFields {
		entry := &meta.ManagedFields[i]
		if entry.Time != nil && entry.Time.After(last) && mentionsField(entry, "status") {
			last = entry.Time.Time
		}
	}
	if !last.After(meta.CreationTimestamp.Time) {
		return 0
	}
	return unixSeconds(last)
}

// mount is a [Mount] with what is known of its past. It is never modified.
type mount struct {
	Mount
	// first is the content with which the pod began, 0 if that is not known.
	first Checksum
	// rotated is when other content last replaced what was there; zero if the pod always had the first one. shown is the
	// moment at which a watch showed it, 0 if no watch did.
	rotated time.Time
	shown   Sequence
	// left is when the first content was last replaced. returned is when it came back, zero if the pod has other content.
	left, returned time.Time
}

// newMount returns a mount of which nothing was known. If only a list shows it, its files may have changed before.
func newMount(m Mount, at time.Time, isListed bool) *mount {
	if !isListed || m.Rewritten == 0 {
		return &mount{Mount: m, first: m.Content}
	}
	return &mount{Mount: m, rotated: earlierOf(time.Unix(int64(m.Rewritten), 0).UTC(), at)}
}

// then returns the mount as a watch shows it later, at a moment, and when its files changed, zero if they did not. A
// status without objects says nothing.
func (m *mount) then(present Mount, at time.Time, isListed bool, moment Sequence) (next *mount, changed time.Time) {
	next = new(*m)
	switch {
	case present.Content == 0 || present.Content == m.Content:
		return next, time.Time{}
	case m.Content == 0 && m.rotated.IsZero():
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
	next.rotated, next.returned, next.shown = changed, time.Time{}, moment
	return next, changed
}

func earlierOf(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

// isMissedBy reports whether a container of the pod that started at one of these times has other content than the pod now:
// the files changed after the first one started, or one started before they changed back. If a watch showed the change, a
// pod is stale if in doubt. If not, the driver may have written the status when it mounted the volume, just before the
// container started: a pod of a StatefulSet that comes back has the status of its predecessor.
func (m *mount) isMissedBy(starts []time.Time) bool {
	if m.returned.IsZero() {
		return m.isAfter(m.rotated, slices.MinFunc(starts, time.Time.Compare))
	}
	return slices.ContainsFunc(starts, func(start time.Time) bool { return m.isAfter(start, m.left) && m.isAfter(m.returned, start) })
}

// isAfter reports whether one of two events came after the other, or might have if a watch showed the change.
func (m *mount) isAfter(event, other time.Time) bool {
	late := event.Sub(other)
	if m.shown > 0 {
		return late >= -clockTolerance
	}
	return late > clockTolerance
}
