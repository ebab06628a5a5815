package deployment

import "kubernetes-deployment-restart-controller/deployment/digest"

// feed passes what a watch of one namespace, or of all namespaces if that is empty, shows
// into a cache. It implements watch.Observer.
type feed[T cached, P packed[T]] struct {
	*cache[T, P]
	namespace string
}

// feed returns the feed of a watch.
func (c *cache[T, P]) feed(namespace string) feed[T, P] { return feed[T, P]{c, namespace} }

// Observe implements watch.Observer.
func (f feed[T, P]) Observe(shown P) { f.show(shown.unpack(), shown) }

// show takes in what the watch shows, unpacked and packed.
func (f feed[T, P]) show(value T, shown P) {
	f.notify(f.observe(value, shown, 0))
	f.saw(value.Identity().ResourceVersion)
}

// Forget implements watch.Observer.
func (f feed[T, P]) Forget(shown P) {
	value := shown.unpack()
	f.saw(value.Identity().ResourceVersion) // first, so that no answer can bring it back
	f.notify(f.forget(value))
}

// listing takes in that the watch is about to ask for a list.
func (f feed[T, P]) listing() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.asked[f.namespace] = f.puts
}

// askedAfter returns how many values the cache had received when the last list was asked for. None of their answers is
// newer than the list, whatever the versions are: if etcd was restored from a backup, what was answered before is lost.
func (f feed[T, P]) askedAfter() uint64 {
	f.mu.RLock()
	defer f.mu.RUnlock()
	return f.asked[f.namespace]
}

// Replace implements watch.Observer.
func (f feed[T, P]) Replace(all []P, version string) {
	listed, asked := make(map[digest.Digest]struct{}, len(all)), f.askedAfter()
	for _, shown := range all {
		value := shown.unpack()
		listed[keyDigest(value.Identity())] = struct{}{}
		f.notify(f.observe(value, shown, asked))
	}
	if !f.saw(version) { // only after the values are stored: answers that are not newer are dropped from now on
		return // the cache held nothing of this namespace before
	}
	for _, value := range f.missing(listed, version, asked) {
		f.notify(f.forget(value))
	}
}

// saw takes in the version up to which the watch has shown everything. It reports whether
// the watch had shown anything before; until then, the cache does not take in answers
// either.
func (f feed[T, P]) saw(version string) (before bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	_, before = f.seen[f.namespace]
	f.seen[f.namespace] = version
	return before
}

func (f feed[T, P]) notify(before, after T, isNews bool) {
	if isNews {
		f.changed(before, after)
	}
}

// observe takes in what the watch shows, unless an answer was ahead of it, which none of the first values can be. It
// returns the previous value, the present value, and whether the present value is news.
func (c *cache[T, P]) observe(value T, packed P, first uint64) (before, after T, isNews bool) {
	shown := c.newcomerOf(value, packed)
	c.alter(shown.key, func(present known[T]) {
		before, after = present.value, present.value
		if present.answered && present.number > first && isNewer(present.version(), value.Identity().ResourceVersion) {
			return
		}
		c.replace(present, shown, false)
		after, isNews = value, !present.answered || present.version() != value.Identity().ResourceVersion
	})
	return before, after, isNews
}

// forget takes in that an object is gone, unless it was created again.
func (c *cache[T, P]) forget(value T) (before, after T, isNews bool) {
	c.alter(keyDigest(value.Identity()), func(present known[T]) {
		before, after = present.value, present.value
		if isNil(present.value) || present.value.Identity().UID != value.Identity().UID {
			return
		}
		c.remove(present)
		var none T
		after, isNews = none, true
	})
	return before, after, isNews
}

// missing returns the values that a list of the given version would contain if they still
// existed, but does not. None of the first values is later than the list.
func (f feed[T, P]) missing(listed map[digest.Digest]struct{}, version string, first uint64) (gone []T) {
	for _, e := range f.unlisted(listed) {
		value := e.packed.unpack()
		if isLater := e.answered && e.number > first && isNewer(value.Identity().ResourceVersion, version); !isLater {
			gone = append(gone, value)
		}
	}
	return gone
}

func (f feed[T, P]) unlisted(listed map[digest.Digest]struct{}) (entries []entry[P]) {
	f.mu.RLock()
	defer f.mu.RUnlock()
	for key, e := range f.entries {
		if f.namespace != "" && f.namespace != e.packed.namespace() {
			continue
		}
		if _, found := listed[key]; !found {
			entries = append(entries, e)
		}
	}
	return entries
}
