package deployment

// To pack a value, to unpack it and to find its groups takes as long as the object is large,
// whoever wrote that. So all of it is done before a cache is locked, for which others wait.

// newcomer is a value on its way into a cache.
type newcomer[T cached, P packed[T]] struct {
	value  T
	packed P
	key    digest
	groups []digest
}

func (c *cache[T, P]) newcomerOf(value T, packed P) newcomer[T, P] {
	return newcomer[T, P]{value, packed, keyDigest(value.Identity()), c.groupsOf(value)}
}

// known is what a cache has of an object: nil if nothing.
type known[T cached] struct {
	value    T
	key      digest
	groups   []digest
	number   uint64 // 0 if there is nothing
	answered bool
}

func (k *known[T]) version() string { return k.value.Identity().ResourceVersion }

// alter calls a function, with the cache locked, with what is known of an object. That is
// prepared before, and once more if it has changed meanwhile.
func (c *cache[T, P]) alter(key digest, change func(present known[T])) {
	for !c.alterIfSame(c.known(key), change) {
	}
}

func (c *cache[T, P]) known(key digest) known[T] {
	c.mu.RLock()
	e, found := c.entries[key]
	c.mu.RUnlock()
	k := known[T]{key: key, number: e.number, answered: e.answered}
	if found {
		k.value = e.packed.unpack()
		k.groups = c.groupsOf(k.value)
	}
	return k
}

// alterIfSame returns false if the object is not what was known of it any more.
func (c *cache[T, P]) alterIfSame(present known[T], change func(present known[T])) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.entries[present.key].number != present.number {
		return false
	}
	change(present)
	return true
}

// replace puts a value in the place of the present one, if there is one.
func (c *cache[T, P]) replace(present known[T], with newcomer[T, P], answered bool) {
	c.remove(present)
	c.puts++
	c.entries[with.key] = entry[P]{packed: with.packed, number: c.puts, answered: answered}
	c.groups.add(with.key, with.groups)
}

func (c *cache[T, P]) remove(present known[T]) {
	c.groups.remove(present.key, present.groups)
	delete(c.entries, present.key)
}
