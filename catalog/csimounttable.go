package catalog

import (
	"maps"
	"slices"
	"time"

	"kubernetes-deployment-restart-controller/catalog/content"
	"kubernetes-deployment-restart-controller/catalog/index"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/workload"
)

// mountTable holds all mounts by namespace and name, and by class.
type mountTable struct {
	byName  map[string]map[string]*content.CSIMountState
	byClass map[names.ConfigRef]*mountedClass
	// listed is when the mounts of a namespace, or of all if it is empty, were first listed.
	listed map[string]time.Time
	// readSince holds the moments since which workloads read the classes that they reference.
	readSince map[names.WorkloadRef]map[names.ConfigRef]names.Sequence
}

// mountedClass holds the mounts of a class.
type mountedClass struct {
	count   int
	rotated map[string]*content.CSIMountState // by name; nil if there are none, since a class may have one pod only
	// changed is when the newest content of the class was rotated into a pod; zero if that is not known.
	changed time.Time
}

func newMountTable() mountTable {
	return mountTable{
		byName: make(map[string]map[string]*content.CSIMountState), byClass: make(map[names.ConfigRef]*mountedClass),
		listed: make(map[string]time.Time), readSince: make(map[names.WorkloadRef]map[names.ConfigRef]names.Sequence),
	}
}

// get returns the mount of a namespace with a name, nil if there is none.
func (t *mountTable) get(namespace, name string) *content.CSIMountState {
	return t.byName[namespace][name]
}

// of returns the mounts of a namespace, or of all if it is empty.
func (t *mountTable) of(namespace string) (all []*content.CSIMountState) {
	if namespace != "" {
		return index.AppendValues(nil, t.byName[namespace])
	}
	for _, mounts := range t.byName {
		all = index.AppendValues(all, mounts)
	}
	return all
}

// keep stores a mount, and returns its class.
func (t *mountTable) keep(m *content.CSIMountState) *mountedClass {
	named := t.byName[m.Class.Namespace]
	if named == nil {
		named = make(map[string]*content.CSIMountState)
		t.byName[m.Class.Namespace] = named
	}
	class := t.byClass[m.Class]
	if class == nil {
		class = &mountedClass{}
		t.byClass[m.Class] = class
	}
	if _, found := named[m.Name]; !found {
		class.count++
	}
	named[m.Name] = m
	class.keepRotated(m)
	return class
}

// remove forgets a mount.
func (t *mountTable) remove(m *content.CSIMountState) {
	named := t.byName[m.Class.Namespace]
	if delete(named, m.Name); len(named) == 0 {
		delete(t.byName, m.Class.Namespace)
	}
	class := t.byClass[m.Class]
	class.forgetRotated(m.Name)
	if class.count--; class.count == 0 {
		delete(t.byClass, m.Class)
	}
}

// follow notes since when a workload reads its classes.
func (t *mountTable) follow(w *workload.Workload, moment names.Sequence) {
	former := t.readSince[w.Ref]
	if delete(t.readSince, w.Ref); !w.HasMounts() {
		return
	}
	since := make(map[names.ConfigRef]names.Sequence)
	for _, reference := range w.References {
		if ref := reference.Config; former[ref] > 0 {
			since[ref] = former[ref]
		} else if ref.Kind.IsPerPod() {
			since[ref] = moment
		}
	}
	t.readSince[w.Ref] = since
}

// seenBy returns what a workload is shown of a class.
func (t *mountTable) seenBy(w names.WorkloadRef, class names.ConfigRef) content.CSIClassMounts {
	seen := content.CSIClassMounts{ReadSince: t.readSince[w][class]}
	if known := t.byClass[class]; known != nil && len(known.rotated) > 0 {
		seen.Rotated = slices.Collect(maps.Values(known.rotated))
	}
	listed := t.listed[class.Namespace]
	if listed.IsZero() {
		listed = t.listed[""]
	}
	if !listed.IsZero() {
		seen.Since = sinceOf(listed, seen.Rotated)
	}
	return seen
}

// keepRotated keeps a mount among the rotated ones if it is one.
func (c *mountedClass) keepRotated(m *content.CSIMountState) {
	if m.Rotated.IsZero() {
		c.forgetRotated(m.Name)
		return
	}
	if c.rotated == nil {
		c.rotated = make(map[string]*content.CSIMountState)
	}
	c.rotated[m.Name] = m
}

// forgetRotated forgets the rotations of a pod.
func (c *mountedClass) forgetRotated(name string) {
	if delete(c.rotated, name); len(c.rotated) == 0 {
		c.rotated = nil
	}
}

// sinceOf returns what to record of a class in place of a checksum: since when rotations matter to the workload, in seconds
// of Unix time. That is when its mounts were first listed, or later if files have changed since. What a record has stays
// in all that follow it. So rotations that no watch showed, from before a workload was first recorded, restart nothing.
func sinceOf(listed time.Time, rotated []*content.CSIMountState) names.Checksum {
	since := names.UnixSeconds(listed)
	for _, m := range rotated {
		since = max(since, names.UnixSeconds(m.Rotated.Add(time.Second-1)))
	}
	return names.Checksum(since)
}
