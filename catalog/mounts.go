package catalog

import (
	"slices"
	"time"
)

// mountTable holds all mounts by namespace and name, and by class.
type mountTable struct {
	byName  map[string]map[string]*mount
	byClass map[ConfigRef]*mountedClass
	// listed is when the mounts of a namespace, or of all if it is empty, were first listed.
	listed map[string]time.Time
	// readSince holds the moments since which workloads read the classes that they reference.
	readSince map[WorkloadRef]map[ConfigRef]Sequence
}

// mountedClass holds the mounts of a class.
type mountedClass struct {
	count   int
	rotated map[string]*mount // by name; nil if there are none, since a class may have one pod only
	// changed is when the newest content of the class was rotated into a pod; zero if that is not known.
	changed time.Time
}

func newMountTable() mountTable {
	return mountTable{
		byName: make(map[string]map[string]*mount), byClass: make(map[ConfigRef]*mountedClass),
		listed: make(map[string]time.Time), readSince: make(map[WorkloadRef]map[ConfigRef]Sequence),
	}
}

// ObserveMount takes in a mount that the watch showed at the given time. It reports whether its files changed and a
// workload references its class.
func (c *Catalog) ObserveMount(m Mount, at time.Time) (isNews bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.moment++
	return c.putMount(m, at, false, c.moment)
}

// ForgetMount takes in that a mount is gone, as its pod is. That is no change: what it said concerned that pod only.
func (c *Catalog) ForgetMount(m Mount) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.moment++
	c.removeMount(c.mounts.byName[m.Class.Namespace][m.Name])
}

// ListMounts takes in all mounts of a namespace (empty: of all), as listed at the given time. It calls news with the class
// of each mount whose files have changed, unless no workload references it. The first list shows what was there before
// the catalog watched. It is news of every class that a workload references, because it shows since when rotations matter:
// if the driver is installed late, the workloads are known before.
func (c *Catalog) ListMounts(namespace string, all []*Mount, at time.Time, first bool, news func(ConfigRef)) {
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
			c.missMount(m)
		}
	}
}

type mountName struct{ namespace, name string }

// beginMounts returns the mounts that the catalog knows before it takes in a list of them.
func (c *Catalog) beginMounts(namespace string, at time.Time) []*mount {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.mounts.listed[namespace].IsZero() {
		c.mounts.listed[namespace] = at
	}
	if namespace != "" {
		return appendValues(nil, c.mounts.byName[namespace])
	}
	var before []*mount
	for _, mounts := range c.mounts.byName {
		before = appendValues(before, mounts)
	}
	return before
}

// referencedClasses returns the classes of a namespace (empty: of all) that workloads reference.
func (c *Catalog) referencedClasses(namespace string) (classes []ConfigRef) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	for ref := range c.referencing {
		if ref.Kind.IsPerPod() && (namespace == "" || namespace == ref.Namespace) {
			classes = append(classes, ref)
		}
	}
	return classes
}

func (c *Catalog) takeListedMount(m Mount, at time.Time, first bool) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.moment++
	moment := c.moment
	if first {
		moment = 0
	}
	return c.putMount(m, at, true, moment)
}

func (c *Catalog) missMount(m *mount) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.moment++
	if c.mounts.byName[m.Class.Namespace][m.Name] == m {
		c.removeMount(m)
	}
}

// putMount takes in a mount and reports whether that is news to a workload. The moment is 0 for what no watch showed.
func (c *Catalog) putMount(m Mount, at time.Time, isListed bool, moment Sequence) (isNews bool) {
	known := c.mounts.byName[m.Class.Namespace][m.Name]
	if m.Pod == "" {
		c.removeMount(known)
		return false
	}
	var present *mount
	var changed time.Time // when its files changed, zero if they did not
	if known != nil && known.Pod == m.Pod && known.Class == m.Class {
		present, changed = known.then(m, at, isListed, c.moment)
	} else {
		c.removeMount(known)
		present = newMount(m, at, isListed)
		changed = present.rotated
	}
	class := c.keepMount(present)
	c.keepClass(class, present, changed, moment)
	return !changed.IsZero() && c.isReferenced(m.Class)
}

// keepMount stores a mount.
func (c *Catalog) keepMount(m *mount) *mountedClass {
	named := c.mounts.byName[m.Class.Namespace]
	if named == nil {
		named = make(map[string]*mount)
		c.mounts.byName[m.Class.Namespace] = named
	}
	class := c.mounts.byClass[m.Class]
	if class == nil {
		class = &mountedClass{}
		c.mounts.byClass[m.Class] = class
	}
	if _, found := named[m.Name]; !found {
		class.count++
	}
	named[m.Name] = m
	class.keepRotated(m)
	return class
}

// keepRotated keeps a mount among the rotated ones if it is one.
func (c *mountedClass) keepRotated(m *mount) {
	if m.rotated.IsZero() {
		c.forgetRotated(m.Name)
		return
	}
	if c.rotated == nil {
		c.rotated = make(map[string]*mount)
	}
	c.rotated[m.Name] = m
}

func (c *mountedClass) forgetRotated(name string) {
	if delete(c.rotated, name); len(c.rotated) == 0 {
		c.rotated = nil
	}
}

// removeMount forgets a mount, unless it is nil.
func (c *Catalog) removeMount(m *mount) {
	if m == nil {
		return
	}
	named := c.mounts.byName[m.Class.Namespace]
	if delete(named, m.Name); len(named) == 0 {
		delete(c.mounts.byName, m.Class.Namespace)
	}
	class := c.mounts.byClass[m.Class]
	class.forgetRotated(m.Name)
	if class.count--; class.count == 0 {
		delete(c.mounts.byClass, m.Class)
		c.forgetUnmounted(m.Class)
	}
}

// mountedKey is the name of the key under which a class has the content of its newest rotation. Nobody sees it.
const mountedKey = "objects"

// keepClass keeps the class of a mount as a config, for those who follow how a change reaches the workloads. It has the
// content that was last rotated into a pod, and an edit when that is other content than before: the driver rotates the same
// into one pod after the other.
func (c *Catalog) keepClass(class *mountedClass, m *mount, changed time.Time, moment Sequence) {
	known := c.source(m.Class)
	if known == nil {
		known = &Config{Ref: m.Class}
		c.keepConfig(known)
	}
	keys := []Key{{Name: mountedKey, Checksum: m.Content}}
	if changed.IsZero() || changed.Before(class.changed) || slices.Equal(keys, known.Keys) {
		return
	}
	class.changed = changed
	c.keepConfig(&Config{Ref: m.Class, Keys: keys, Edits: []Edit{{Key: mountedKey, At: changed, Seen: moment}}})
}

// forgetUnmounted forgets a class that is neither mounted nor referenced.
func (c *Catalog) forgetUnmounted(class ConfigRef) {
	if class.Kind.IsPerPod() && c.mounts.byClass[class] == nil && !c.isReferenced(class) {
		c.dropConfig(class)
	}
}

// followMounts notes since when a workload reads its classes.
func (c *Catalog) followMounts(w *Workload) {
	former := c.mounts.readSince[w.Ref]
	if delete(c.mounts.readSince, w.Ref); !w.HasMounts() {
		return
	}
	since := make(map[ConfigRef]Sequence)
	for _, reference := range w.References {
		if ref := reference.Config; former[ref] > 0 {
			since[ref] = former[ref]
		} else if ref.Kind.IsPerPod() {
			since[ref] = c.moment
		}
	}
	c.mounts.readSince[w.Ref] = since
}
