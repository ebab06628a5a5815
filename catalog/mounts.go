package catalog

import (
	"maps"
	"slices"
	"time"

	"kubernetes-deployment-restart-controller/catalog/annotation"
	"kubernetes-deployment-restart-controller/catalog/content"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/template"
	"kubernetes-deployment-restart-controller/catalog/workload"
)

// ObserveMount takes in a mount that the watch showed at the given time. It reports whether its files changed and a
// workload references its class.
func (c *Catalog) ObserveMount(m content.Mount, at time.Time) (isNews bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.moment++
	return c.putMount(m, at, false, c.moment)
}

// ForgetMount takes in that a mount is gone, as its pod is. That is no change: what it said concerned that pod only.
func (c *Catalog) ForgetMount(m content.Mount) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.moment++
	c.removeMount(c.Mounts.ByName[m.Class.Namespace][m.Name])
}

// ListMounts takes in all mounts of a namespace (empty: of all), as listed at the given time. It calls news with the class
// of each mount whose files have changed, unless no workload references it. The first list shows what was there before
// the catalog watched. It is news of every class that a workload references, because it shows since when rotations matter:
// if the driver is installed late, the workloads are known before.
func (c *Catalog) ListMounts(namespace string, all []*content.Mount, at time.Time, first bool, news func(names.ConfigRef)) {
	before := c.beginMounts(namespace, at)
	listed := make(map[content.MountName]struct{}, len(all))
	if first {
		defer func() {
			for _, class := range c.referencedClasses(namespace) {
				news(class)
			}
		}()
	}
	for _, m := range all {
		listed[content.MountName{Namespace: m.Class.Namespace, Name: m.Name}] = struct{}{}
		if c.takeListedMount(*m, at, first) {
			news(m.Class)
		}
	}
	for _, m := range before {
		if _, found := listed[content.MountName{Namespace: m.Class.Namespace, Name: m.Name}]; !found {
			c.missMount(m)
		}
	}
}

// beginMounts returns the mounts that the catalog knows before it takes in a list of them.
func (c *Catalog) beginMounts(namespace string, at time.Time) []*content.MountState {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.Mounts.Listed[namespace].IsZero() {
		c.Mounts.Listed[namespace] = at
	}
	if namespace != "" {
		return appendValues(nil, c.Mounts.ByName[namespace])
	}
	var before []*content.MountState
	for _, mounts := range c.Mounts.ByName {
		before = appendValues(before, mounts)
	}
	return before
}

// referencedClasses returns the classes of a namespace (empty: of all) that workloads reference.
func (c *Catalog) referencedClasses(namespace string) (classes []names.ConfigRef) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	for ref := range c.Referencing {
		if ref.Kind.IsPerPod() && (namespace == "" || namespace == ref.Namespace) {
			classes = append(classes, ref)
		}
	}
	return classes
}

func (c *Catalog) takeListedMount(m content.Mount, at time.Time, first bool) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.moment++
	moment := c.moment
	if first {
		moment = 0
	}
	return c.putMount(m, at, true, moment)
}

func (c *Catalog) missMount(m *content.MountState) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.moment++
	if c.Mounts.ByName[m.Class.Namespace][m.Name] == m {
		c.removeMount(m)
	}
}

// putMount takes in a mount and reports whether that is news to a workload. The moment is 0 for what no watch showed.
func (c *Catalog) putMount(m content.Mount, at time.Time, isListed bool, moment names.Sequence) (isNews bool) {
	known := c.Mounts.ByName[m.Class.Namespace][m.Name]
	if m.Pod == "" {
		c.removeMount(known)
		return false
	}
	var present *content.MountState
	var changed time.Time // when its files changed, zero if they did not
	if known != nil && known.Pod == m.Pod && known.Class == m.Class {
		present, changed = known.Then(m, at, isListed, c.moment)
	} else {
		c.removeMount(known)
		present = content.NewMountState(m, at, isListed)
		changed = present.Rotated
	}
	class := c.keepMount(present)
	c.keepClass(class, present, changed, moment)
	return !changed.IsZero() && c.isReferenced(m.Class)
}

// keepMount stores a mount.
func (c *Catalog) keepMount(m *content.MountState) *content.MountedClass {
	named := c.Mounts.ByName[m.Class.Namespace]
	if named == nil {
		named = make(map[string]*content.MountState)
		c.Mounts.ByName[m.Class.Namespace] = named
	}
	class := c.Mounts.ByClass[m.Class]
	if class == nil {
		class = &content.MountedClass{}
		c.Mounts.ByClass[m.Class] = class
	}
	if _, found := named[m.Name]; !found {
		class.Count++
	}
	named[m.Name] = m
	class.KeepRotated(m)
	return class
}

// removeMount forgets a mount, unless it is nil.
func (c *Catalog) removeMount(m *content.MountState) {
	if m == nil {
		return
	}
	named := c.Mounts.ByName[m.Class.Namespace]
	if delete(named, m.Name); len(named) == 0 {
		delete(c.Mounts.ByName, m.Class.Namespace)
	}
	class := c.Mounts.ByClass[m.Class]
	class.ForgetRotated(m.Name)
	if class.Count--; class.Count == 0 {
		delete(c.Mounts.ByClass, m.Class)
		c.forgetUnmounted(m.Class)
	}
}

// keepClass keeps the class of a mount as a config, for those who follow how a change reaches the workloads. It has the
// content that was last rotated into a pod, and an edit when that is other content than before: the driver rotates the same
// into one pod after the other.
func (c *Catalog) keepClass(class *content.MountedClass, m *content.MountState, changed time.Time, moment names.Sequence) {
	known := c.source(m.Class)
	if known == nil {
		known = &content.Config{Ref: m.Class}
		c.KeepConfig(known)
	}
	keys := []names.Key{{Name: content.MountedKey, Checksum: m.Content}}
	if changed.IsZero() || changed.Before(class.Changed) || slices.Equal(keys, known.Keys) {
		return
	}
	class.Changed = changed
	c.KeepConfig(&content.Config{Ref: m.Class, Keys: keys, Edits: []annotation.Edit{{Key: content.MountedKey, At: changed, Seen: moment}}})
}

// forgetUnmounted forgets a class that is neither mounted nor referenced.
func (c *Catalog) forgetUnmounted(class names.ConfigRef) {
	if class.Kind.IsPerPod() && c.Mounts.ByClass[class] == nil && !c.isReferenced(class) {
		c.dropConfig(class)
	}
}

// followMounts notes since when a workload reads its classes.
func (c *Catalog) followMounts(w *workload.Workload) {
	former := c.Mounts.ReadSince[w.Ref]
	if delete(c.Mounts.ReadSince, w.Ref); !w.HasMounts() {
		return
	}
	since := make(map[names.ConfigRef]names.Sequence)
	for _, reference := range w.References {
		if ref := reference.Config; former[ref] > 0 {
			since[ref] = former[ref]
		} else if ref.Kind.IsPerPod() {
			since[ref] = c.moment
		}
	}
	c.Mounts.ReadSince[w.Ref] = since
}

// addMounts adds what is known of a reference to a class.
func (v *View) addMounts(c *Catalog, reference *template.Reference) {
	ref := reference.Config
	if !ref.Kind.IsPerPod() || reference.NeedsMark {
		return
	}
	seen := content.ClassMounts{ReadSince: c.Mounts.ReadSince[v.Workload.Ref][ref]}
	if class := c.Mounts.ByClass[ref]; class != nil && len(class.Rotated) > 0 {
		seen.Rotated = slices.Collect(maps.Values(class.Rotated))
	}
	listed := c.Mounts.Listed[ref.Namespace]
	if listed.IsZero() {
		listed = c.Mounts.Listed[""]
	}
	if !listed.IsZero() {
		seen.Since = content.SinceOf(listed, seen.Rotated)
	}
	if v.Mounts == nil {
		v.Mounts = make(map[names.ConfigRef]content.ClassMounts)
	}
	v.Mounts[ref] = seen
}
