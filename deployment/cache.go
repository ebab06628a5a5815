package deployment

import (
	"cmp"
	"math"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"

	"kubernetes-deployment-restart-controller/deployment/digest"
	"kubernetes-deployment-restart-controller/deployment/rollout"
)

// cached is an immutable value made from an API object, or nil if there is no object.
type cached interface {
	comparable
	Identity() *rollout.Meta
}

// packed is a value in the form in which a cache holds it. The cost of unpacking grows with
// the size of the object, which its author chooses; reading the key costs little, and
// reading the namespace less.
type packed[T any] interface {
	unpack() T
	key() types.NamespacedName
	// namespace returns a text that shares the packed one.
	namespace() string
}

// cache holds the newest known version of each object of a resource. Watches feed it, and so
// do the API server's answers to this process' own writes, so that no plan is based on a
// state from before the last write. It may be used concurrently.
type cache[T cached, P packed[T]] struct {
	pack func(T) P
	// groupsOf returns the groups by which a value is looked up and counted, besides its
	// name.
	groupsOf func(T) []digest.Digest
	// changed is called after the watch has changed something, with nil for an object that
	// did not exist or no longer exists. It is not called for answers, which their requester
	// knows.
	changed func(before, after T)

	mu      sync.RWMutex
	entries map[digest.Digest]entry[P]
	groups  index
	puts    uint64 // how many values the cache has received
	// seen holds, by namespace, the version up to which each watch has shown everything.
	seen map[string]string
	// asked holds, by namespace, how many values the cache had received when each watch asked for its last list.
	asked map[string]uint64
}

// entry is a value, and whether it comes from an answer that the watch has not shown yet.
type entry[P any] struct {
	packed   P
	number   uint64 // in the order in which the cache received the values
	answered bool
}

// caches holds what the engine knows about the cluster.
type caches struct {
	deployments *cache[*rollout.Deployment, packedDeployment]
	replicaSets *cache[*rollout.ReplicaSet, packedReplicaSet]
	pods        *podTable
	isBackup    bool // see [rollout.State]
}

// noLimit is a limit that nothing exceeds.
const noLimit = math.MaxInt

func newCache[T cached, P packed[T]](pack func(T) P, groupsOf func(T) []digest.Digest, changed func(before, after T)) *cache[T, P] {
	return &cache[T, P]{
		pack:     pack,
		groupsOf: groupsOf,
		changed:  changed,
		entries:  map[digest.Digest]entry[P]{},
		groups:   index{},
		seen:     map[string]string{},
		asked:    map[string]uint64{},
	}
}

// keyDigest returns the digest of the namespace and name of an object.
func keyDigest(of *rollout.Meta) digest.Digest { return digest.Of(of.Namespace, of.Name) }

// get returns nil if there is no such object.
func (c *cache[T, P]) get(key types.NamespacedName) (value T) {
	if e, found := c.entry(key); found {
		value = e.packed.unpack()
	}
	return value
}

func (c *cache[T, P]) entry(key types.NamespacedName) (e entry[P], found bool) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	e, found = c.entries[digest.Of(key.Namespace, key.Name)]
	return e, found
}

// has reports whether there is such an object.
func (c *cache[T, P]) has(key types.NamespacedName) bool {
	_, found := c.entry(key)
	return found
}

// find returns the values of groups that have no members in common, starting with those that
// have been in the cache for the longest time. If there are more than the limit, it returns
// arbitrary ones.
func (c *cache[T, P]) find(limit int, groups ...digest.Digest) []T {
	entries := c.members(limit, groups)
	slices.SortFunc(entries, func(a, b entry[P]) int { return cmp.Compare(a.number, b.number) })
	found := make([]T, 0, len(entries))
	for i := range entries {
		found = append(found, entries[i].packed.unpack())
	}
	return found
}

// keys returns the keys of the values of groups that have no members in common, in any
// order. If there are more than the limit, it returns arbitrary ones.
func (c *cache[T, P]) keys(limit int, groups ...digest.Digest) []types.NamespacedName {
	entries := c.members(limit, groups)
	keys := make([]types.NamespacedName, 0, len(entries))
	for i := range entries {
		keys = append(keys, entries[i].packed.key())
	}
	return keys
}

// members returns the members of groups that have no members in common. If there are more
// than the limit, it returns arbitrary ones.
func (c *cache[T, P]) members(limit int, groups []digest.Digest) (entries []entry[P]) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	for _, group := range groups {
		for member := range c.groups[group] {
			if len(entries) == limit {
				return entries
			}
			entries = append(entries, c.entries[member])
		}
	}
	return entries
}

// count returns how many values are in a group.
func (c *cache[T, P]) count(group digest.Digest) int {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return len(c.groups[group])
}

// smallest returns the group that has the fewest members.
func (c *cache[T, P]) smallest(groups []digest.Digest) digest.Digest {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return slices.MinFunc(groups, func(a, b digest.Digest) int { return cmp.Compare(len(c.groups[a]), len(c.groups[b])) })
}

// answer takes in an object from an answer of the API server, unless the watch was faster.
// The watch shows all changes, including deletions, in the order of their versions, so an
// answer that it has passed is outdated.
func (c *cache[T, P]) answer(value T) {
	answered := c.newcomerOf(value, c.pack(value))
	version := value.Identity().ResourceVersion
	c.alter(answered.key, func(present known[T]) {
		isKnown := !isNil(present.value)
		switch {
		case isKnown && version == present.version():
			c.replace(present, answered, present.answered) // it may still differ, because another API server has other defaults
		case isNewer(version, c.seenIn(value.Identity().Namespace)) && (!isKnown || isNewer(version, present.version())):
			c.replace(present, answered, true)
		}
	})
}

// answerGone takes in that the API server deleted an object or does not know it.
func (c *cache[T, P]) answerGone(gone *rollout.Meta) {
	c.alter(keyDigest(gone), func(present known[T]) {
		if !isNil(present.value) && present.value.Identity().UID == gone.UID {
			c.remove(present)
		}
	})
}

// seenIn returns the version up to which a watch has shown a namespace.
func (c *cache[T, P]) seenIn(namespace string) string {
	if version, found := c.seen[""]; found {
		return version
	}
	return c.seen[namespace]
}

func isNil[T comparable](value T) bool {
	var none T
	return value == none
}

// isNewer reports whether a version of a resource is newer than another. It returns false
// for versions that cannot be compared, so that only the watch counts.
func isNewer(version, than string) bool {
	order, err := resourceversion.CompareResourceVersion(version, than)
	return err == nil && order > 0
}
