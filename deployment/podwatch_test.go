package deployment

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"kubernetes-deployment-restart-controller/internal/watch"
)

// podCluster is where pod watches are begun, each of which lists at once, or never.
type podCluster struct {
	*podWatches
	mu      sync.Mutex
	begun   map[string]int // how often
	going   map[string]bool
	needed  map[string]bool
	known   []string
	refused map[string]bool // those that do not list
}

// playedWatch is one of its watches.
type playedWatch struct {
	follower
	cluster   *podCluster
	namespace string
	synced    chan struct{}
}

func (w *playedWatch) Synced() <-chan struct{} { return w.synced }

func (w *playedWatch) Status() watch.Status {
	select {
	case <-w.synced:
		return watch.Status{Namespace: w.namespace, Synced: true}
	default:
		return watch.Status{Namespace: w.namespace}
	}
}

func (w *playedWatch) Run(ctx context.Context) {
	w.cluster.set(func() {
		w.cluster.begun[w.namespace]++
		w.cluster.going[w.namespace] = true
	})
	if !w.cluster.is(w.cluster.refused, w.namespace) {
		podFeed{w.cluster.table, w.namespace}.Replace(nil, "")
		close(w.synced)
	}
	<-ctx.Done()
	w.cluster.set(func() { delete(w.cluster.going, w.namespace) })
}

func (c *podCluster) set(change func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	change()
}

func (c *podCluster) is(of map[string]bool, namespace string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return of[namespace]
}

// noted returns what was noted until now.
func noted[V any](c *podCluster, notes map[string]V) map[string]V {
	c.mu.Lock()
	defer c.mu.Unlock()
	return maps.Clone(notes)
}

func withPodWatches(t *testing.T, test func(*podCluster)) {
	synctest.Test(t, func(t *testing.T) {
		c := &podCluster{begun: map[string]int{}, going: map[string]bool{}, needed: map[string]bool{}, refused: map[string]bool{}}
		c.podWatches = &podWatches{
			table: newTable().podTable,
			make: func(namespace string) follower {
				return &playedWatch{cluster: c, namespace: namespace, synced: make(chan struct{})}
			},
			mayWatchAll: true,
			isNeeded:    func(namespace string) bool { return c.is(c.needed, namespace) },
			woken:       make(chan struct{}, 1), wanted: map[string]struct{}{}, watches: map[string]*begunWatch{},
		}
		c.podWatches.known = func(namespace string) { c.set(func() { c.known = append(c.known, namespace) }) }
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			defer close(done)
			c.run(ctx)
		}()
		test(c)
		stop()
		<-done
		if len(c.going) > 0 {
			t.Errorf("watches of %v have not ended", c.going)
		}
	})
}

// needs makes a namespace one with a Recreate Deployment, whose sync wants pods.
func (c *podCluster) needs(namespace string) {
	c.set(func() { c.needed[namespace] = true })
	c.want(namespace)
	synctest.Wait()
}

func (c *podCluster) after(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func TestPodsAreWatchedWhereTheyAreWanted(t *testing.T) {
	withPodWatches(t, func(c *podCluster) {
		c.after(time.Hour)
		expect(t, "begun before", map[string]int{}, noted(c, c.begun))
		for range 3 {
			c.needs("a")
			c.needs("b")
		}
		c.after(time.Hour)
		expect(t, "begun", map[string]int{"a": 1, "b": 1}, noted(c, c.begun))
		expect(t, "known", []string{"a", "b"}, c.known)
		expect(t, "statuses", []watch.Status{{Namespace: "a", Synced: true}, {Namespace: "b", Synced: true}}, c.statuses())
	})
}

func TestPodsAreNotWatchedForLongWhereNobodyNeedsThem(t *testing.T) {
	withPodWatches(t, func(c *podCluster) {
		c.needs("a")
		c.needs("b")
		c.set(func() { delete(c.needed, "a") })
		c.after(podWatchLooks * podWatchPeriod)
		expect(t, "going", map[string]bool{"a": true, "b": true}, noted(c, c.going))
		c.after(podWatchPeriod)
		expect(t, "going later", map[string]bool{"b": true}, noted(c, c.going))
		if len(c.table.scopes) != 1 {
			t.Errorf("the pods of %d namespaces are kept", len(c.table.scopes))
		}
		c.needs("a")
		expect(t, "begun", map[string]int{"a": 2, "b": 1}, noted(c, c.begun))
	})
}

// Its user changes the strategy of a Deployment all the time.
func TestAStrategyThatChangesAllTheTimeCostsAListInTenMinutes(t *testing.T) {
	withPodWatches(t, func(c *podCluster) {
		begun := time.Now()
		for range 10_000 {
			c.needs("a")
			c.after(time.Second)
			c.set(func() { delete(c.needed, "a") })
			c.after(10 * time.Second)
		}
		if most := int(time.Since(begun) / (podWatchLooks * podWatchPeriod)); c.begun["a"] > most || c.begun["a"] == 0 {
			t.Errorf("%d lists, want %d at most", c.begun["a"], most)
		}
	})
}

// While a watch ends, a Deployment wants it again.
func TestAWatchThatIsWantedAsItEndsBeginsAgain(t *testing.T) {
	withPodWatches(t, func(c *podCluster) {
		c.needs("a")
		c.set(func() { delete(c.needed, "a") })
		watch := c.all()["a"]
		end := watch.stop
		c.set(func() {
			watch.stop = func() {
				end()
				c.set(func() { c.needed["a"] = true })
				c.want("a")
			}
		})
		c.after(time.Hour)
		expect(t, "begun", map[string]int{"a": 2}, noted(c, c.begun))
		expect(t, "going", map[string]bool{"a": true}, noted(c, c.going))
	})
}

func TestManyNamespacesHaveOneWatchOfAllPods(t *testing.T) {
	withPodWatches(t, func(c *podCluster) {
		c.set(func() { c.refused[""] = true }) // it is slow
		for i := range 2 * maxPodWatches {
			c.needs(fmt.Sprint("ns-", i))
		}
		c.after(time.Hour)
		if len(c.going) != maxPodWatches+1 {
			t.Errorf("%d watches are going, want those there were and the one of all", len(c.going))
		}
		c.set(func() { c.refused = map[string]bool{} })
		podFeed{c.table, ""}.Replace(nil, "")
		close(c.all()[""].follower.(*playedWatch).synced)
		c.after(time.Hour)
		expect(t, "going", []string{""}, slices.Collect(maps.Keys(c.going)))
		c.needs("ns-0")
		c.needs("another")
		expect(t, "going later", []string{""}, slices.Collect(maps.Keys(c.going)))
		if known := len(c.known); known != maxPodWatches+1 || c.known[known-1] != "" {
			t.Errorf("known: %v", c.known)
		}
		if len(c.table.scopes) != 1 {
			t.Errorf("%d scopes are left", len(c.table.scopes))
		}
	})
}

func TestAnEngineOfSomeNamespacesWatchesPodsOfNoOthers(t *testing.T) {
	withPodWatches(t, func(c *podCluster) {
		c.mayWatchAll = false
		for i := range 2 * maxPodWatches {
			c.needs(fmt.Sprint("ns-", i))
		}
		if len(c.going) != 2*maxPodWatches || c.going[""] {
			t.Errorf("%d watches are going", len(c.going))
		}
	})
}
