package deployment

// feed takes what a watch of one namespace, or of all if that is empty, shows into
// a cache. It implements watch.Observer.
type feed[T cached, P packed[T]] struct {
	*cache[T, P]
	namespace string
}

// feed returns the feed of a watch.
func (c *cache[T, P]) feed(namespace string) feed[T, P] { return feed[T, P]{c, namespace} }

// Observe implements watch.Observer.
func (f feed[T, P]) Observe(shown P) { f.show(shown.unpack()) }

func (f feed[T, P]) show(value T) {
	f.tell(f.observe(value))
	f.saw(value.meta().ResourceVersion)
}

// Forget implements watch.Observer.
func (f feed[T, P]) Forget(shown P) {
	value := shown.unpack()
	f.saw(value.meta().ResourceVersion) // first, so that no answer brings it back
	f.tell(f.forget(value))
}

// Replace implements watch.Observer.
func (f feed[T, P]) Replace(all []P, version string) {
	listed := make(map[digest]struct{}, len(all))
	for _, shown := range all {
		value := shown.unpack()
		listed[value.meta().digest()] = struct{}{}
		f.tell(f.observe(value))
	}
	if !f.saw(version) { // not before it is there: an answer that is no newer is dropped from now on
		return // nothing of this namespace was there before
	}
	for _, value := range f.missing(listed, version) {
		f.tell(f.forget(value))
	}
}

// saw takes in up to which version the watch has shown everything. It reports whether it has
// shown anything before; until then no answer is taken in either.
func (f feed[T, P]) saw(version string) (before bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	_, before = f.seen[f.namespace]
	f.seen[f.namespace] = version
	return before
}

func (f feed[T, P]) tell(before, after T, isNews bool) {
	if isNews {
		f.changed(before, after)
	}
}

// observe takes in what the watch shows, unless an answer was ahead of it. It
// returns what there was and what there is now, and whether that was not known.
func (c *cache[T, P]) observe(value T) (before, after T, isNews bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	key := value.meta().digest()
	present, answered := c.present(key)
	if answered && isNewer(present.meta().ResourceVersion, value.meta().ResourceVersion) {
		return present, present, false
	}
	c.replace(key, present, value, false)
	return present, value, !answered || present.meta().ResourceVersion != value.meta().ResourceVersion
}

// forget takes in that an object is gone, unless it was made anew.
func (c *cache[T, P]) forget(value T) (before, after T, isNews bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	key := value.meta().digest()
	present, _ := c.present(key)
	if isNil(present) || present.meta().UID != value.meta().UID {
		return present, present, false
	}
	c.remove(key, present)
	return present, after, true
}

// missing returns the values that a list of a version does not have although it
// would, if they were still there.
func (f feed[T, P]) missing(listed map[digest]struct{}, version string) (gone []T) {
	f.mu.RLock()
	defer f.mu.RUnlock()
	for key, e := range f.entries {
		if f.namespace != "" && f.namespace != e.packed.namespace() {
			continue
		}
		if _, found := listed[key]; found {
			continue
		}
		value := e.packed.unpack()
		if isLater := e.answered && isNewer(value.meta().ResourceVersion, version); !isLater {
			gone = append(gone, value)
		}
	}
	return gone
}
