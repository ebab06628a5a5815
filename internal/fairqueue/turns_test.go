package fairqueue

import (
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// newTestQueue returns a queue of names such as "a/1", of namespace a.
func newTestQueue(workers int) *Queue[string, string] {
	return New[string, string](Options[string]{Namespace: namespaceOf, Workers: workers, Backoff: testBackoff})
}

func namespaceOf(item string) string {
	namespace, _, _ := strings.Cut(item, "/")
	return namespace
}

// getAll hands out all that wait, without an end of the work.
func getAll(q *Queue[string, string]) (items []string) {
	for item, found := q.Get(); found; item, found = q.Get() {
		items = append(items, item)
	}
	return items
}

func names(namespace string, count int) (items []string) {
	for i := range count {
		items = append(items, fmt.Sprintf("%s/%d", namespace, i))
	}
	return items
}

func expect(t *testing.T, want, got any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestBehindManyItemsOfOneNamespaceThatOfAnotherIsSecond(t *testing.T) {
	q := newTestQueue(1)
	for _, item := range names("crowded", 5000) {
		q.Add(item, "")
	}
	q.Add("other/0", "")
	first, _ := q.Get()
	q.Done(first)
	second, _ := q.Get()
	expect(t, []string{"crowded/0", "other/0"}, []string{first, second})
}

func TestNamespacesTakeTurnsAndWithinOneItsFlows(t *testing.T) {
	q := newTestQueue(100)
	for _, item := range names("a", 3) {
		q.Add(item, "shared")
	}
	q.Add("a/alone", "single")
	q.Add("b/0", "shared")
	q.Add("b/1", "shared")
	q.Add("c/0", "")
	expect(t, []string{"a/0", "b/0", "c/0", "a/alone", "b/1", "a/1", "a/2"}, getAll(q))
}

func TestAnItemThatWaitsMovesToAShorterFlowOnly(t *testing.T) {
	q := newTestQueue(100)
	for _, item := range names("a", 3) {
		q.Add(item, "shared")
	}
	q.Add("a/2", "single")
	q.Add("a/2", "shared")
	q.Add("a/1", "single") // now as long as the other
	if q.Len() != 3 {
		t.Errorf("%d wait", q.Len())
	}
	expect(t, []string{"a/0", "a/2", "a/1"}, getAll(q))
}

// A flow that is new is the last of its namespace: an item that moves each time before its
// turn would never have one.
func TestAnItemThatIsAddedToOtherFlowsAllTheTimeGetsItsTurn(t *testing.T) {
	q := newTestQueue(100)
	for _, item := range names("a", 10) {
		q.Add(item, "shared")
	}
	var got []string
	for i := range 4 {
		q.Add("a/alone", fmt.Sprint(i))
		item, _ := q.Get()
		got = append(got, item)
	}
	expect(t, []string{"a/0", "a/alone"}, got[:2])
}

// An attacker may let items flap between flows.
func TestMovingBetweenFlowsLeavesNothingBehind(t *testing.T) {
	q := newTestQueue(100)
	for i := range 1000 {
		q.Add("a/0", fmt.Sprint(i%2))
		q.Add("a/1", fmt.Sprint(i%2))
		q.Add("a/2", fmt.Sprint(i%3))
	}
	ns := q.namespaces["a"]
	total := 0
	for _, l := range ns.flows {
		total += l.entries.Len()
	}
	if total != 3 || len(ns.flows) != ns.order.Len() {
		t.Errorf("%d places for 3 items; %d flows, of which %d take turns", total, len(ns.flows), ns.order.Len())
	}
	if got := getAll(q); len(got) != 3 {
		t.Errorf("handed out %v", got)
	}
}

func TestWhatIsDoneLeavesNothingBehind(t *testing.T) {
	q := newTestQueue(100)
	for i := range 100 {
		q.Add(fmt.Sprintf("%d/%d", i%7, i), fmt.Sprint(i%3))
	}
	for _, item := range getAll(q) {
		q.Done(item)
	}
	if len(q.entries)+len(q.namespaces)+q.turns.order.Len()+q.delayed.Len() != 0 {
		t.Errorf("left: %d items, %d namespaces, %d turns, %d delayed", len(q.entries), len(q.namespaces), q.turns.order.Len(), q.delayed.Len())
	}
}

// The promise, whatever is added, moved and worked on: no item is lost, duplicated or
// under way twice, and while a namespace, or a flow of it, waits, no other one is served
// twice. All items cost the same: in a bubble no time passes.
func TestTurnsAreFairWhateverIsAdded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { rapid.Check(bubble{t}, checkTurns) })
}

// bubble hides the deadline of a test, which must not be read in a synctest bubble.
type bubble struct{ rapid.TB }

func checkTurns(t *rapid.T) {
	m := model{
		q:       newTestQueue(1000),
		waiting: map[string]bool{}, underWay: map[string]bool{}, again: map[string]bool{}, served: map[string]map[string]bool{},
	}
	item := rapid.Custom(func(t *rapid.T) string {
		return fmt.Sprintf("%c/%d", rapid.RuneFrom([]rune("abc")).Draw(t, "namespace"), rapid.IntRange(0, 5).Draw(t, "number"))
	})
	t.Repeat(map[string]func(*rapid.T){
		"add": func(t *rapid.T) {
			m.add(item.Draw(t, "item"), rapid.SampledFrom([]string{"", "x", "y"}).Draw(t, "flow"))
		},
		"get": m.get,
		"done": func(t *rapid.T) {
			if len(m.underWay) == 0 {
				t.Skip("none is under way")
			}
			m.done(rapid.SampledFrom(slices.Sorted(maps.Keys(m.underWay))).Draw(t, "item"))
		},
		"": func(t *rapid.T) {
			if m.q.Len() != len(m.waiting) {
				t.Fatalf("%d wait, want %d", m.q.Len(), len(m.waiting))
			}
			m.attend()
		},
	})
}

// model is what a queue must do, as slow and obvious as can be.
type model struct {
	q                        *Queue[string, string]
	waiting, underWay, again map[string]bool
	// served is what was served while each namespace waited, and each flow.
	served map[string]map[string]bool
}

func (m *model) add(item, flow string) {
	m.q.Add(item, flow)
	if m.underWay[item] {
		m.again[item] = true
	} else {
		m.waiting[item] = true
	}
}

func (m *model) done(item string) {
	m.q.Done(item)
	delete(m.underWay, item)
	if m.again[item] {
		delete(m.again, item)
		m.waiting[item] = true
	}
}

func (m *model) get(t *rapid.T) {
	item, found := m.q.Get()
	if found != (len(m.waiting) > 0) || found && !m.waiting[item] || m.underWay[item] {
		t.Fatalf("handed out %q, found %t, while %v wait and %v are under way", item, found, m.waiting, m.underWay)
	}
	if !found {
		return
	}
	delete(m.waiting, item)
	m.underWay[item] = true
	namespace, flow := m.placeOf(item)
	delete(m.served, namespace)
	delete(m.served, flow)
	m.attend()
	for waiting, served := range m.served {
		for _, place := range []string{namespace, flow} {
			// Flows of different namespaces have nothing to do with each other.
			if strings.Contains(waiting, "/") && place != flow || namespaceOf(waiting) != namespace && place == flow {
				continue
			}
			if served[place] && place != waiting {
				t.Fatalf("%s waits while %s is served twice", waiting, place)
			}
			served[place] = true
		}
	}
}

func (m *model) placeOf(item string) (namespace, flow string) {
	return namespaceOf(item), namespaceOf(item) + "/" + m.q.entries[item].flow
}

// attend notes which namespaces and flows wait, and forgets the others.
func (m *model) attend() {
	served := map[string]map[string]bool{}
	for item := range m.waiting {
		namespace, flow := m.placeOf(item)
		for _, place := range []string{namespace, flow} {
			if served[place] = m.served[place]; served[place] == nil {
				served[place] = map[string]bool{}
			}
		}
	}
	m.served = served
}

func TestAQueueThatIsEmptyAgainKeepsNoMemoryOfItsItems(t *testing.T) {
	inUse := func() int64 {
		runtime.GC()
		var stats runtime.MemStats
		runtime.ReadMemStats(&stats)
		return int64(stats.HeapAlloc)
	}
	q, before := newTestQueue(8), inUse()
	for i := range 10_000 {
		q.Add("a/"+strconv.Itoa(i), "")
	}
	for item, found := q.Get(); found; item, found = q.Get() {
		q.Done(item)
	}
	if kept := inUse() - before; kept > 64<<10 {
		t.Errorf("%d KiB are kept", kept>>10)
	}
	runtime.KeepAlive(q)
}
