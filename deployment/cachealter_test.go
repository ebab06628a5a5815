package deployment

import (
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"kubernetes-deployment-restart-controller/deployment/digest"
	"kubernetes-deployment-restart-controller/deployment/rollout"
)

// guarded is a thing that wants no cache to be locked while something costs as much as it is
// large.
type guarded struct {
	thing
	expectUnlocked func(step string)
}

type packedGuarded struct{ *guarded }

func (g *guarded) groups() []digest.Digest {
	g.expectUnlocked("find the groups")
	return g.thing.groups()
}

func (p packedGuarded) unpack() *guarded {
	p.expectUnlocked("unpack")
	return p.guarded
}

func (p packedGuarded) key() types.NamespacedName { return p.Key() }

func (p packedGuarded) namespace() string { return p.Namespace }

func TestOthersDoNotWaitWhileACacheWorksOnALargeObject(t *testing.T) {
	steps := 0
	var c *cache[*guarded, packedGuarded]
	expectUnlocked := func(step string) {
		steps++
		if !c.mu.TryLock() {
			t.Errorf("the cache is locked to %s", step)
			return
		}
		c.mu.Unlock()
	}
	c = newCache(func(g *guarded) packedGuarded {
		expectUnlocked("pack")
		return packedGuarded{g}
	}, (*guarded).groups, func(_, _ *guarded) {})
	at := func(number int) *guarded { return &guarded{*version(number), expectUnlocked} }
	f := c.feed("")
	f.Replace([]packedGuarded{{at(100)}}, "100")
	f.Observe(packedGuarded{at(101)})
	c.answer(at(102))
	c.find(noLimit, digest.Of("x"))
	c.get(at(0).Key())
	f.Forget(packedGuarded{at(103)})
	f.Observe(packedGuarded{at(104)})
	c.answerGone(&at(104).Meta)
	f.Observe(packedGuarded{at(105)})
	f.Replace(nil, "106")
	if c.has(at(0).Key()) || steps < 20 {
		t.Errorf("after a list without it: there %t, in %d steps", c.has(at(0).Key()), steps)
	}
}

// What was known of an object when its successor was prepared may be something else when the
// cache is locked.
func TestWhatComesMeanwhileIsTakenInOnce(t *testing.T) {
	c := newThings(func(_, _ *thing) {})
	f := c.feed("")
	f.Observe(packThing(version(100, ownedBy("x"))))
	stale := c.known(keyDigest(&version(0).Meta))
	f.Observe(packThing(version(101, ownedBy("y"))))
	if c.alterIfSame(stale, func(known[*thing]) { t.Error("it is altered as it was before") }) {
		t.Error("it counts as the same")
	}
	f.Forget(packThing(version(102)))
	if len(c.groups) > 0 {
		t.Errorf("%d groups are left when nothing is there", len(c.groups))
	}
}

func BenchmarkAReplicaSetOf60000Labels(b *testing.B) {
	labels := map[string]string{}
	for i := range 60000 {
		labels[fmt.Sprintf("%05x", i)] = "value"
	}
	c := newCache(packReplicaSet, groupsOfReplicaSet, func(_, _ *rollout.ReplicaSet) {})
	rs := &rollout.ReplicaSet{Meta: rollout.Meta{Namespace: "ns", Name: "web-1", UID: "1", ResourceVersion: "5"}}
	rs.SetLabels(labels)
	packed := packReplicaSet(rs)
	b.Run("taken in", func(b *testing.B) {
		for b.Loop() {
			c.feed("").Observe(packed)
		}
	})
	shown, present := c.newcomerOf(rs, packed), c.known(keyDigest(&rs.Meta))
	b.Run("under the lock", func(b *testing.B) {
		for b.Loop() {
			c.alterIfSame(present, func(present known[*rollout.ReplicaSet]) { c.replace(present, shown, false) })
			present.number = c.puts
		}
	})
}
