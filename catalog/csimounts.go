package catalog

import (
	"time"

	"kubernetes-deployment-restart-controller/catalog/annotation"
	"kubernetes-deployment-restart-controller/catalog/content"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/template"
)

// ObserveMount takes in a mount that the watch showed at the given time. It reports whether its files changed and a
// workload references its class.
func (c *Catalog) ObserveMount(m content.CSIMount, at time.Time) (isNews bool) {
	return c.step(func() bool { return c.putMount(m, at, false, c.moment) })
}

// ForgetMount takes in that a mount is gone, as its pod is. That is no change: what it said concerned that pod only.
func (c *Catalog) ForgetMount(m content.CSIMount) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.moment++
	c.removeMount(c.mounts.get(m.Class.Namespace, m.Name))
}

// mountName names a class and a pod that mounts it.
type mountName struct{ namespace, name string }

// ListMounts takes in all mounts of a namespace (empty: of all), as listed at the given time. It calls news with the class
// of each mount whose files have changed, unless no workload references it. The first list shows what was there before
// the catalog watched. It is news of every class that a workload references, because it shows since when rotations matter:
// if the driver is installed late, the workloads are known before.
func (c *Catalog) ListMounts(namespace string, all []*content.CSIMount, at time.Time, first bool, news func(names.ConfigRef)) {
	before := c.beginMounts(namespace, at)
	listed := make(map[mountName]struct{}, len(all))
	if first {
		defer func() {
			for _, class := range c.referencedClasses(namespace) {
				news(class)
			}
		}()
	}
	for _, m := range all {
		listed[mountName{m.Class.Namespace, m.Name}] = struct{}{}
		if c.takeListedMount(*m, at, first) {
			news(m.Class)
		}
	}
	for _, m := range before {
		if _, found := listed[mountName{m.Class.Namespace, m.Name}]; !found {
			c.step(func() bool {
				if c.mounts.get(m.Class.Namespace, m.Name) == m {
					c.removeMount(m)
				}
				return false
			})
		}
	}
}

// beginMounts returns the mounts that the catalog knows before it takes in a list of them.
func (c *Catalog) beginMounts(namespace string, at time.Time) []*content.CSIMountState {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.mounts.listed[namespace].IsZero() {
		c.mounts.listed[namespace] = at
	}
	return c.mounts.of(namespace)
}

// referencedClasses returns the classes of a namespace (empty: of all) that workloads reference.
func (l *Lookup) referencedClasses(namespace string) (classes []names.ConfigRef) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	for ref := range l.references.Configs() {
		if ref.Kind.IsPerPod() && (namespace == "" || namespace == ref.Namespace) {
			classes = append(classes, ref)
		}
	}
	return classes
}

func (c *Catalog) takeListedMount(m content.CSIMount, at time.Time, first bool) bool {
	return c.step(func() bool {
		moment := c.moment
		if first {
			moment = 0
		}
		return c.putMount(m, at, true, moment)
	})
}

// putMount takes in a mount and reports whether that is news to a workload. The moment is 0 for what no watch showed.
func (s *store) putMount(m content.CSIMount, at time.Time, isListed bool, moment names.Sequence) (isNews bool) {
	known := s.mounts.get(m.Class.Namespace, m.Name)
	if m.Pod == "" {
		s.removeMount(known)
		return false
	}
	var present *content.CSIMountState
	var changed time.Time // when its files changed, zero if they did not
	if known != nil && known.Pod == m.Pod && known.Class == m.Class {
		present, changed = known.Then(m, at, isListed, s.moment)
	} else {
		s.removeMount(known)
		present = content.NewCSIMountState(m, at, isListed)
		changed = present.Rotated
	}
	class := s.mounts.keep(present)
	s.keepClass(class, present, changed, moment)
	return !changed.IsZero() && s.isReferenced(m.Class)
}

// removeMount forgets a mount, unless it is nil.
func (s *store) removeMount(m *content.CSIMountState) {
	if m != nil {
		s.mounts.remove(m)
		s.forgetUnmounted(m.Class)
	}
}

// mountedKey is the name of the key under which a class has the content of its newest rotation. Nobody sees it.
const mountedKey = "objects"

// keepClass keeps the class of a mount as a config, for those who follow how a change reaches the workloads. It has the
// content that was last rotated into a pod, and an edit when that is other content than before: the driver rotates the same
// into one pod after the other.
func (s *store) keepClass(class *mountedClass, m *content.CSIMountState, changed time.Time, moment names.Sequence) {
	known := s.source(m.Class)
	if known == nil {
		known = &content.Config{Ref: m.Class}
		s.keepConfig(known)
	}
	keys := names.NewKeys([]names.Key{{Name: mountedKey, Checksum: m.Content}})
	if changed.IsZero() || changed.Before(class.changed) || keys.Equal(known.Keys) {
		return
	}
	class.changed = changed
	s.keepConfig(&content.Config{Ref: m.Class, Keys: keys, Edits: []annotation.Edit{{Key: mountedKey, At: changed, Seen: moment}}})
}

// forgetUnmounted forgets a class that is neither mounted nor referenced.
func (s *store) forgetUnmounted(class names.ConfigRef) {
	if class.Kind.IsPerPod() && s.mounts.byClass[class] == nil && !s.isReferenced(class) {
		s.dropConfig(class)
	}
}

// addMounts adds what is known of a reference to a class.
func (v *View) addMounts(s *store, reference *template.Reference) {
	ref := reference.Config
	if !ref.Kind.IsPerPod() || reference.NeedsMark {
		return
	}
	if v.Mounts == nil {
		v.Mounts = make(map[names.ConfigRef]content.CSIClassMounts)
	}
	v.Mounts[ref] = s.mounts.seenBy(v.Workload.Ref, ref)
}
