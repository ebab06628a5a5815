package deployment

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"kubernetes-deployment-restart-controller/deployment/digest"
	"kubernetes-deployment-restart-controller/deployment/rollout"
)

// thing is what the caches of these tests hold.
type thing struct {
	rollout.Meta
	owner string
}

func (t *thing) groups() (groups []digest.Digest) {
	for owner := range strings.FieldsSeq(t.owner) {
		groups = append(groups, digest.Of(owner))
	}
	return groups
}

// packedThing is a thing as it is.
type packedThing struct{ *thing }

func packThing(t *thing) packedThing    { return packedThing{t} }
func (p packedThing) unpack() *thing    { return p.thing }
func (p packedThing) namespace() string { return p.Namespace }

func (p packedThing) key() types.NamespacedName { return p.Key() }

func newThings(changed func(before, after *thing)) *cache[*thing, packedThing] {
	return newCache(packThing, (*thing).groups, changed)
}
func packedThings(things ...*thing) (packed []packedThing) {
	for _, t := range things {
		packed = append(packed, packThing(t))
	}
	return packed
}

// version is a version of the object "a" in a namespace. Its UID is that of its
// creation.
func version(number int, options ...func(*thing)) *thing {
	t := &thing{Meta: rollout.Meta{Namespace: "ns", Name: "a", UID: "first", ResourceVersion: strconv.Itoa(number)}, owner: "x"}
	for _, option := range options {
		option(t)
	}
	return t
}

func again(t *thing)                       { t.UID = "second" }
func in(namespace string) func(*thing)     { return func(t *thing) { t.Namespace = namespace } }
func ownedBy(owner string) func(*thing)    { return func(t *thing) { t.owner = owner } }
func (t *thing) String() string            { return t.Namespace + "/" + t.Name + "@" + t.ResourceVersion }
func notified(before, after *thing) string { return fmt.Sprint(before, " -> ", after) }
func keyOf(t *thing) types.NamespacedName  { return t.Key() }

func TestACacheHoldsTheNewestThatIsKnown(t *testing.T) {
	type step func(feed[*thing, packedThing])
	observe := func(v *thing) step { return func(f feed[*thing, packedThing]) { f.Observe(packThing(v)) } }
	forget := func(v *thing) step { return func(f feed[*thing, packedThing]) { f.Forget(packThing(v)) } }
	answer := func(v *thing) step { return func(f feed[*thing, packedThing]) { f.answer(v) } }
	gone := func(v *thing) step { return func(f feed[*thing, packedThing]) { f.answerGone(&v.Meta) } }
	list := func(version string, all ...*thing) step {
		return func(f feed[*thing, packedThing]) { f.Replace(packedThings(all...), version) }
	}
	listing := func(f feed[*thing, packedThing]) { f.listing() }
	none := (*thing)(nil)
	v1, v2, v3, v4 := version(101), version(102), version(103), version(104)
	same2, again5 := version(102), version(105, again)
	for name, test := range map[string]struct {
		steps    []step
		want     *thing
		notified []string
	}{
		"nothing":                            {nil, nil, nil},
		"what the watch shows":               {[]step{observe(v1), observe(v2)}, v2, []string{notified(none, v1), notified(v1, v2)}},
		"what was answered":                  {[]step{observe(v1), answer(v2)}, v2, []string{notified(none, v1)}},
		"the watch shows what was answered":  {[]step{observe(v1), answer(v2), observe(same2)}, same2, []string{notified(none, v1)}},
		"the watch is behind":                {[]step{observe(v1), answer(v3), observe(v2)}, v3, []string{notified(none, v1)}},
		"a list of before the answer":        {[]step{observe(v1), listing, answer(v3), list("102", v2)}, v3, []string{notified(none, v1)}},
		"a list of an older backup":          {[]step{observe(v1), answer(v3), listing, list("102", v2)}, v2, []string{notified(none, v1), notified(v3, v2)}},
		"a backup without the object":        {[]step{observe(v1), answer(v3), listing, list("102")}, none, []string{notified(none, v1), notified(v3, none)}},
		"the watch gets ahead":               {[]step{observe(v1), answer(v2), observe(v3)}, v3, []string{notified(none, v1), notified(v2, v3)}},
		"the watch was faster":               {[]step{observe(v1), observe(v3), answer(v2)}, v3, []string{notified(none, v1), notified(v1, v3)}},
		"two answers, the first comes late":  {[]step{observe(v1), answer(v3), answer(v2)}, v3, []string{notified(none, v1)}},
		"deleted":                            {[]step{observe(v1), forget(v2)}, nil, []string{notified(none, v1), notified(v1, none)}},
		"deleted twice":                      {[]step{observe(v1), forget(v2), forget(v2)}, nil, []string{notified(none, v1), notified(v1, none)}},
		"deleted before the answer came":     {[]step{observe(v1), forget(v3), answer(v2)}, nil, []string{notified(none, v1), notified(v1, none)}},
		"deleted by us":                      {[]step{observe(v1), gone(v1)}, nil, []string{notified(none, v1)}},
		"deleted by us, the watch is behind": {[]step{observe(v1), gone(v1), observe(v2)}, v2, []string{notified(none, v1), notified(none, v2)}},
		"deleted by us, and made again":      {[]step{observe(v1), observe(again5), gone(v1)}, again5, []string{notified(none, v1), notified(v1, again5)}},
		"made again before the deletion":     {[]step{observe(v1), answer(again5), forget(v2)}, again5, []string{notified(none, v1)}},
		"created by us":                      {[]step{list("100"), answer(v1)}, v1, nil},
		"created by us, and listed":          {[]step{list("100"), answer(v1), list("103", v2)}, v2, []string{notified(v1, v2)}},
		"created by us after the list":       {[]step{list("100"), answer(v4), list("103")}, v4, nil},
		"created by us, gone in the list":    {[]step{list("100"), answer(v1), list("103")}, nil, []string{notified(v1, none)}},
		"gone in the list":                   {[]step{observe(v1), list("103")}, nil, []string{notified(none, v1), notified(v1, none)}},
		"answered, and older in the list":    {[]step{observe(v1), answer(v3), list("102", v2)}, v3, []string{notified(none, v1)}},
	} {
		t.Run(name, func(t *testing.T) {
			var changes []string
			c := newThings(func(before, after *thing) { changes = append(changes, notified(before, after)) })
			for _, step := range test.steps {
				step(c.feed(""))
			}
			if got := c.get(keyOf(v1)); got != test.want {
				t.Errorf("%s, want %s", got, test.want)
			}
			expect(t, "changes", test.notified, changes)
		})
	}
}

// A list takes a while to take in. What is read meanwhile must not be lost until it is there.
func TestAnAnswerCountsUntilTheWatchHasShownAsMuch(t *testing.T) {
	named := func(name string) func(*thing) { return func(t *thing) { t.Name = name } }
	answered := version(95, named("b"))
	var c *cache[*thing, packedThing]
	c = newThings(func(_, after *thing) {
		if after.Name != "a" {
			return
		}
		c.answer(answered)
		if got := c.get(keyOf(answered)); got != answered {
			t.Errorf("after %s: %s", after, got)
		}
	})
	f := c.feed("")
	f.Replace(nil, "80")
	f.Replace(packedThings(version(90), version(95, named("b"))), "100")
	c.answer(version(94, named("b")))
	if got := c.get(keyOf(answered)); got.ResourceVersion != "95" {
		t.Errorf("after the list: %s", got)
	}
}

func TestAValueIsFoundByItsGroupOnly(t *testing.T) {
	c := newThings(func(_, _ *thing) {})
	f := c.feed("")
	find := func(group string) int { return len(c.find(noLimit, digest.Of(group))) }
	f.Observe(packThing(version(101, ownedBy("x"))))
	f.Observe(packThing(version(102, ownedBy("x"), in("other"))))
	if find("x") != 2 || find("y") != 0 {
		t.Errorf("%d of x, %d of y", find("x"), find("y"))
	}
	f.Observe(packThing(version(103, ownedBy("y"))))
	if find("x") != 1 || find("y") != 1 {
		t.Errorf("%d of x, %d of y", find("x"), find("y"))
	}
	f.Observe(packThing(version(104, ownedBy(""))))
	if find("y") != 0 || find("") != 0 || c.get(keyOf(version(0))) == nil {
		t.Errorf("%d of y, %d of none", find("y"), find(""))
	}
	f.Forget(packThing(version(105, in("other"))))
	if len(c.groups) != 0 {
		t.Errorf("groups that are empty are kept: %v", c.groups)
	}
}

func TestValuesAreCountedByTheirGroups(t *testing.T) {
	named := func(name string, owner string) packedThing {
		return packThing(version(101, ownedBy(owner), func(t *thing) { t.Name = name }))
	}
	c := newThings(func(_, _ *thing) {})
	f := c.feed("")
	f.Replace([]packedThing{named("a", "x"), named("b", "x y"), named("c", ""), named("d", "y z")}, "101")
	requireCounts := func(want ...int) {
		t.Helper()
		expect(t, "counts", want, []int{c.count(digest.Of("x")), c.count(digest.Of("y")), c.count(digest.Of("z"))})
	}
	requireCounts(2, 2, 1)
	f.Observe(named("a", "z"))
	f.Forget(named("b", ""))
	requireCounts(0, 1, 2)
	f.Replace(nil, "200")
	requireCounts(0, 0, 0)
}

func TestValuesOfSeveralGroupsAreFound(t *testing.T) {
	c := newThings(func(_, _ *thing) {})
	f := c.feed("")
	for number, owner := range []string{"x", "x v", "y", "z", "z w"} {
		f.Observe(packThing(version(101+number, ownedBy(owner), func(t *thing) { t.Name = owner })))
	}
	find := func(limit int, groups ...string) (names []string) {
		var digests []digest.Digest
		for _, group := range groups {
			digests = append(digests, digest.Of(group))
		}
		for _, t := range c.find(limit, digests...) {
			names = append(names, t.Name)
		}
		return names
	}
	expect(t, "of two groups", []string{"x", "x v", "y"}, find(noLimit, "x", "y"))
	for limit := range 6 {
		digests := []digest.Digest{digest.Of("x"), digest.Of("y"), digest.Of("z")}
		if keys, found := c.keys(limit, digests...), find(limit, "x", "y", "z"); len(keys) != limit || len(found) != limit {
			t.Errorf("%d keys and %d values of %d", len(keys), len(found), limit)
		}
	}
	if smallest := c.smallest([]digest.Digest{digest.Of("x"), digest.Of("y"), digest.Of("z")}); smallest != digest.Of("y") {
		t.Error("y has the fewest members")
	}
	if smallest := c.smallest([]digest.Digest{digest.Of("x"), digest.Of("none")}); smallest != digest.Of("none") {
		t.Error("a group of nobody has fewer")
	}
}

func TestTheOldestOfAGroupHasBeenThereForTheLongestTime(t *testing.T) {
	named := func(name string) func(*thing) { return func(t *thing) { t.Name = name } }
	c := newThings(func(_, _ *thing) {})
	f := c.feed("")
	expect(t, "of none", []*thing{}, c.find(noLimit, digest.Of("x")), cmp.AllowUnexported(thing{}))
	for number, name := range []string{"a", "b", "c"} {
		f.Observe(packThing(version(110+number, named(name))))
	}
	f.Observe(packThing(version(101, named("d"), ownedBy("y"))))
	requireOldest := func(name string) {
		t.Helper()
		if oldest := c.find(noLimit, digest.Of("x"))[0]; oldest.Name != name {
			t.Errorf("the oldest is %s, want %s", oldest, name)
		}
	}
	requireOldest("a")
	c.answer(version(110, named("a"))) // looked at again
	requireOldest("b")
	f.Forget(packThing(version(120, named("b"))))
	requireOldest("c")
}

func TestAListOfANamespaceSaysNothingOfOthers(t *testing.T) {
	c := newThings(func(_, _ *thing) {})
	one, other := c.feed("one"), c.feed("other")
	one.Replace(packedThings(version(101, in("one"))), "110")
	other.Replace(packedThings(version(102, in("other"))), "120")
	one.Replace(nil, "130")
	if c.get(types.NamespacedName{Namespace: "one", Name: "a"}) != nil || c.get(types.NamespacedName{Namespace: "other", Name: "a"}) == nil {
		t.Error("the wrong one is gone")
	}
	// A watch that is ahead in one namespace says nothing of answers in another.
	c.answer(version(125, in("other")))
	if got := c.get(types.NamespacedName{Namespace: "other", Name: "a"}); got.ResourceVersion != "125" {
		t.Errorf("the answer is lost: %s", got)
	}
}

// countedThing counts what a cache does with it.
type countedThing struct {
	packedThing
	unpacked, looked *int
}

func (c countedThing) unpack() *thing {
	*c.unpacked++
	return c.thing
}

func (c countedThing) namespace() string {
	*c.looked++
	return c.Namespace
}

// With many namespaces to watch, each list would unpack what all of them have.
func TestAListOfANamespaceDoesNotLookIntoOthers(t *testing.T) {
	const namespaces, each = 20, 50
	unpacked, looked := 0, 0
	pack := func(t *thing) countedThing { return countedThing{packThing(t), &unpacked, &looked} }
	c := newCache(pack, (*thing).groups, func(_, _ *thing) {})
	list := func(version string) {
		for number := range namespaces {
			namespace := fmt.Sprint("ns-", number)
			var all []countedThing
			for name := range each {
				all = append(all, pack(&thing{Meta: rollout.Meta{Namespace: namespace, Name: fmt.Sprint(name), ResourceVersion: version}}))
			}
			c.feed(namespace).Replace(all, version)
		}
	}
	list("100")
	if unpacked != namespaces*each || looked != 0 {
		t.Errorf("first lists: %d are unpacked and %d looked at", unpacked, looked)
	}
	unpacked = 0
	list("200")
	if present := namespaces * each; unpacked != 2*present || looked != namespaces*present {
		t.Errorf("further lists: %d are unpacked and %d looked at", unpacked, looked)
	}
}

// A model of the truth: objects are created, changed and deleted, by us or by
// others; the watch shows it all in order, and late. What the cache holds is never
// older than what the watch has shown or the last answer, and in the end it is
// the truth.
func TestACacheIsNeverBehindItsAnswers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		names := []string{"a", "b", "c"}
		truth, last := map[string]*thing{}, 100
		var shown int
		type event struct {
			value   *thing
			deleted bool
		}
		var events []event
		answered := map[string]int{}
		c := newThings(func(_, _ *thing) {})
		f := c.feed("")
		f.Replace(nil, "100")
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			name := rapid.SampledFrom(names).Draw(t, "name")
			switch present := truth[name]; rapid.IntRange(0, 4).Draw(t, "what") {
			case 0, 1: // a write
				last++
				written := &thing{Meta: rollout.Meta{Namespace: "ns", Name: name, UID: types.UID(fmt.Sprint(last)), ResourceVersion: strconv.Itoa(last)}, owner: rapid.SampledFrom(names).Draw(t, "owner")}
				if present != nil {
					written.UID = present.UID
				}
				truth[name] = written
				events = append(events, event{value: written})
				if rapid.Bool().Draw(t, "by us") {
					c.answer(written)
					answered[name] = last
				}
			case 2: // a deletion
				if present == nil {
					continue
				}
				last++
				deleted := *present
				deleted.ResourceVersion = strconv.Itoa(last)
				delete(truth, name)
				events = append(events, event{value: &deleted, deleted: true})
				delete(answered, name)
			case 3: // the watch shows something
				if shown < len(events) {
					if e := events[shown]; e.deleted {
						f.Forget(packThing(e.value))
					} else {
						f.Observe(packThing(e.value))
					}
					shown++
				}
			case 4: // the watch lists again
				f.Replace(packedThings(slices.Collect(maps.Values(truth))...), strconv.Itoa(last))
				shown = len(events)
			}
			for name, least := range answered {
				got := c.get(types.NamespacedName{Namespace: "ns", Name: name})
				if got == nil {
					t.Fatalf("%s is lost, answered in %d", name, least)
				}
				if number, _ := strconv.Atoi(got.ResourceVersion); number < least {
					t.Fatalf("%s is %d, answered was %d", name, number, least)
				}
			}
		}
		for ; shown < len(events); shown++ {
			if e := events[shown]; e.deleted {
				f.Forget(packThing(e.value))
			} else {
				f.Observe(packThing(e.value))
			}
		}
		groups := map[string]int{}
		for _, name := range names {
			if got := c.get(types.NamespacedName{Namespace: "ns", Name: name}); got != truth[name] {
				t.Fatalf("%s is %s in the end, want %s", name, got, truth[name])
			}
			if truth[name] != nil {
				groups[truth[name].owner]++
			}
		}
		for _, owner := range names {
			if len(c.find(noLimit, digest.Of(owner))) != groups[owner] {
				t.Fatalf("%d of %s, want %d", len(c.find(noLimit, digest.Of(owner))), owner, groups[owner])
			}
		}
	})
}
