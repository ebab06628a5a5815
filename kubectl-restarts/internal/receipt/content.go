package receipt

import (
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"kubernetes-deployment-restart-controller/catalog/annotation"
	"kubernetes-deployment-restart-controller/catalog/content"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/template"
)

// Content is what a config had when it was read. It has the checksums of the keys, and no data.
type Content struct {
	content.Config
	UID types.UID
	// Undated means that nothing says when the keys were edited, because the managedFields are gone or were never there.
	Undated bool
	// Immutable means that a node may go on with an earlier config of the same name as long as one of its pods refers to it.
	Immutable bool
}

// NewContent returns the content of a config that was reduced from an object.
func NewContent(config content.Config, object metav1.Object, isImmutable bool) Content {
	return Content{config, object.GetUID(), !annotation.DatesKeys(object.GetManagedFields(), slices.Collect(config.Keys.All())), isImmutable}
}

// in returns under which name the readers of a namespace read the config.
func (c *Content) in(namespace string) names.ConfigRef {
	if c.Ref.Namespace == namespace {
		return c.Ref
	}
	return c.Ref.SharedIn(namespace)
}

// Name names the config as kubectl does.
func (c *Content) Name() string { return c.Ref.NameWithin() }

// Edited returns when the config was last edited or created, and which field manager did that, empty if it is not known.
func (c *Content) Edited() (at time.Time, by string) {
	at = c.Creation().At
	for _, edit := range c.Edits {
		if edit.At.After(at) {
			at, by = edit.At, edit.Writer
		}
	}
	return at.UTC(), by
}

// IsSame reports whether a later reading shows the same content.
func (c *Content) IsSame(later *Content) bool {
	return c.UID == later.UID && c.Keys.Equal(later.Keys)
}

// isAfter reports whether this content may be later than what a pod read of some keys at a time. Within the same second, it may.
func (c *Content) isAfter(pod *Pod, read time.Time, keys template.Selection) bool {
	return c.replaces(read) || slices.ContainsFunc(c.Edits, func(edit annotation.Edit) bool { return c.misses(pod, read, keys, edit) })
}

// replaces reports whether the config was created after a time: what was read then was deleted, or there was none.
func (c *Content) replaces(read time.Time) bool {
	return names.IsAfter(c.Creation().At, read, false)
}

// misses reports whether a pod that read some keys at a time may have missed an edit of them.
func (c *Content) misses(pod *Pod, read time.Time, keys template.Selection, edit annotation.Edit) bool {
	// The API server dates the pod and the edit, and the node when a container has started.
	isRead := pod.Created.After(edit.At) || names.IsAfter(read, edit.At, false)
	return c.IsVisible(edit, keys) && !isRead
}
