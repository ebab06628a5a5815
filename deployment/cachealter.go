package deployment

import "kubernetes-deployment-restart-controller/deployment/digest"

// The time to pack or unpack a value, and to find its groups, grows with the size of the
// object, which its author chooses. So all of that happens before the cache is locked,
// because others wait for the lock.

// newcomer is a value on its way into a cache.
type newcomer[T cached, P packed[T]] struct {
	value  T
	packed P
	key    digest.Digest
	groups []digest.Digest
}

func (c *cache[T, P]) newcomerOf(value T, packed P) newcomer[T, P] {
	return newcomer[T, P]{value, packed, keyDigest(value.Identity()), c.groupsOf(value)}
}

// known is what a cache has of an object. Its value is nil if the cache does not have the
// object.
type known[T cached] struct {
	value    T
	key      digest.Digest
	groups   []digest.Digest
	number   uint64 // 0 if the cache does not have the object
	answered bool
}

func (k *known[T]) version() string { return k.value.Identity().ResourceVersion }

// alter calls a function, with the cache locked, with what the cache knows about an object.
// It prepares that before it locks the cache, and again if the object has changed in the
// meantime.
func (c *cache[T, P]) alter(key digest.Digest, change func(present known[T])) {
	for !c.alterIfSame(c.known(key), change) {
	}
}

func (c *cache[T, P]) known(key digest.Digest) known[T] {
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

// alterIfSame returns false if the object has changed since present was read.
func (c *cache[T, P]) alterIfSame(present known[T], change func(present known[T])) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.entries[present.key].number != present.number {
		return false
	}
	change(present)
	return true
}

// replace puts a value in place of the present one, if any.
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
