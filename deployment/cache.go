package deployment

import (
	"cmp"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
)

// cached is what a cache holds: an immutable value made from an API object.
type cached interface {
	comparable
	meta() *Meta
	// group is what the value is looked up by, besides its name; empty for nothing.
	group() string
}

// cache holds the newest version that is known of each object of a resource. It
// is fed by a watch, and by the API server's answers to this process' own writes:
// so no plan is made on a state from before the last write. It may be used
// concurrently.
type cache[T cached] struct {
	// changed is called after the watch has changed something, with the zero value
	// for what was not or is no longer there. What was answered is known to whoever
	// asked.
	changed func(before, after T)

	mu      sync.RWMutex
	entries map[types.NamespacedName]entry[T]
	groups  map[string]map[types.NamespacedName]struct{}
	puts    uint64 // how many values it has been given
	// seen is up to which version each watch, by its namespace, has shown everything.
	seen map[string]string
}

// entry is a value, and whether an answer brought it that the watch has not shown
// yet.
type entry[T cached] struct {
	value    T
	answered bool
	number   uint64 // of those that the cache has been given
}

func newCache[T cached](changed func(before, after T)) *cache[T] {
	return &cache[T]{
		changed: changed,
		entries: map[types.NamespacedName]entry[T]{},
		groups:  map[string]map[types.NamespacedName]struct{}{},
		seen:    map[string]string{},
	}
}

func (m *Meta) meta() *Meta { return m }

func (m *Meta) key() types.NamespacedName {
	return types.NamespacedName{Namespace: m.Namespace, Name: m.Name}
}

// get returns the zero value if there is no such object.
func (c *cache[T]) get(key types.NamespacedName) T {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.entries[key].value
}

// find returns the values of a group, in any order.
func (c *cache[T]) find(group string) []T {
	c.mu.RLock()
	defer c.mu.RUnlock()
	var found []T
	for key := range c.groups[group] {
		found = append(found, c.entries[key].value)
	}
	return found
}

// findOldestFirst returns the values of a group, those first that have been in the cache for
// the longest time.
func (c *cache[T]) findOldestFirst(group string) []T {
	c.mu.RLock()
	defer c.mu.RUnlock()
	var entries []entry[T]
	for key := range c.groups[group] {
		entries = append(entries, c.entries[key])
	}
	slices.SortFunc(entries, func(a, b entry[T]) int { return cmp.Compare(a.number, b.number) })
	found := make([]T, 0, len(entries))
	for _, e := range entries {
		found = append(found, e.value)
	}
	return found
}

// each calls a function, which must not use the cache, for all values.
func (c *cache[T]) each(visit func(T)) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	for _, e := range c.entries {
		visit(e.value)
	}
}

// answer takes in what the API server answered, unless the watch was faster: it
// shows all changes in the order of their versions, deletions included, so that
// what it has passed is outdated.
func (c *cache[T]) answer(value T) {
	c.mu.Lock()
	defer c.mu.Unlock()
	version := value.meta().ResourceVersion
	present := c.entries[value.meta().key()]
	isKnown := !isZero(present.value)
	switch {
	case isKnown && version == present.value.meta().ResourceVersion:
		c.put(value, present.answered) // it may differ all the same: another API server has other defaults
	case isNewer(version, c.seenIn(value.meta().Namespace)) && (!isKnown || isNewer(version, present.value.meta().ResourceVersion)):
		c.put(value, true)
	}
}

// answerGone takes in that the API server deleted an object or does not know it.
func (c *cache[T]) answerGone(gone *Meta) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if present := c.entries[gone.key()].value; !isZero(present) && present.meta().UID == gone.UID {
		c.remove(gone.key())
	}
}

// seenIn returns the version up to which a watch has shown a namespace.
func (c *cache[T]) seenIn(namespace string) string {
	if version, found := c.seen[""]; found {
		return version
	}
	return c.seen[namespace]
}

// feed takes what a watch of one namespace, or of all if that is empty, shows into
// a cache. It implements watch.Observer.
type feed[T cached] struct {
	*cache[T]
	namespace string
}

// Observe implements watch.Observer.
func (f feed[T]) Observe(value T) {
	f.tell(f.observe(value))
	f.saw(value.meta().ResourceVersion)
}

// Forget implements watch.Observer.
func (f feed[T]) Forget(value T) {
	f.saw(value.meta().ResourceVersion) // first, so that no answer brings it back
	f.tell(f.forget(value))
}

// Replace implements watch.Observer.
func (f feed[T]) Replace(all []T, version string) {
	listed := make(map[types.NamespacedName]struct{}, len(all))
	for _, value := range all {
		listed[value.meta().key()] = struct{}{}
		f.tell(f.observe(value))
	}
	f.saw(version) // not before it is there: an answer that is no newer is dropped from now on
	for _, value := range f.missing(listed, version) {
		f.tell(f.forget(value))
	}
}

func (f feed[T]) saw(version string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.seen[f.namespace] = version
}

func (f feed[T]) tell(before, after T) {
	if before != after {
		f.changed(before, after)
	}
}

// observe takes in what the watch shows, unless an answer was ahead of it. It
// returns what there was and what there is now.
func (c *cache[T]) observe(value T) (before, after T) {
	c.mu.Lock()
	defer c.mu.Unlock()
	present := c.entries[value.meta().key()]
	if present.answered && isNewer(present.value.meta().ResourceVersion, value.meta().ResourceVersion) {
		return present.value, present.value
	}
	c.put(value, false)
	if present.answered && present.value.meta().ResourceVersion == value.meta().ResourceVersion {
		return value, value // known
	}
	return present.value, value
}

// forget takes in that an object is gone, unless it was made anew.
func (c *cache[T]) forget(value T) (before, after T) {
	c.mu.Lock()
	defer c.mu.Unlock()
	present := c.entries[value.meta().key()].value
	if isZero(present) || present.meta().UID != value.meta().UID {
		return present, present
	}
	c.remove(value.meta().key())
	return present, after
}

// missing returns the values that a list of a version does not have although it
// would, if they were still there.
func (f feed[T]) missing(listed map[types.NamespacedName]struct{}, version string) []T {
	f.mu.RLock()
	defer f.mu.RUnlock()
	var gone []T
	for key, e := range f.entries {
		_, found := listed[key]
		isOthers := f.namespace != "" && f.namespace != key.Namespace
		isLater := e.answered && isNewer(e.value.meta().ResourceVersion, version)
		if !found && !isOthers && !isLater {
			gone = append(gone, e.value)
		}
	}
	return gone
}

func (c *cache[T]) put(value T, answered bool) {
	key := value.meta().key()
	c.remove(key)
	c.puts++
	c.entries[key] = entry[T]{value: value, answered: answered, number: c.puts}
	if group := value.group(); group != "" {
		if c.groups[group] == nil {
			c.groups[group] = map[types.NamespacedName]struct{}{}
		}
		c.groups[group][key] = struct{}{}
	}
}

func (c *cache[T]) remove(key types.NamespacedName) {
	e, found := c.entries[key]
	if !found {
		return
	}
	delete(c.entries, key)
	group := e.value.group()
	if delete(c.groups[group], key); len(c.groups[group]) == 0 {
		delete(c.groups, group)
	}
}

func isZero[T comparable](value T) bool {
	var none T
	return value == none
}

// isNewer compares two versions of one resource. Versions that cannot be compared
// are not newer: then only the watch counts.
func isNewer(version, than string) bool {
	order, err := resourceversion.CompareResourceVersion(version, than)
	return err == nil && order > 0
}
