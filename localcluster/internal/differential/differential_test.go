// Package differential plays random histories of a Deployment to two controllers: Kubernetes' own and the deployment
// engine. Each has an API server of its own, and the same things happen to both: users change the Deployment and meddle
// with its ReplicaSets, pods become ready late or never, fail and end. Whenever nothing is left to do at some moment, in
// the middle of a rollout or after it, both have to be in the same state: the Deployment with its status and conditions,
// the ReplicaSets, and the Events.
//
// Of Kubernetes' own, the sync, the event handlers and the constructor run as they are. Of the engine, its plans and its
// writes. The rest is played: API servers, the ReplicaSet controller, pods, the garbage collector, queues and time.
//
// Each difference that is meant is a rule of its own with its reason, see rules and ends.
package differential

import (
	"flag"
	"fmt"
	"runtime/debug"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
)

var (
	histories   = flag.Uint64("differential.histories", 2000, "the number of histories to play")
	seed        = flag.Uint64("differential.seed", 1, "the seed of the histories")
	onlyHistory = flag.Uint64("differential.history", 0, "the only history to play, with its story; 0 for all")
)

// parts are played at the same time.
const parts = 4

func TestHistoriesEndTheSameAsWithKubernetesOwnController(t *testing.T) {
	if *onlyHistory != 0 {
		logHistory(t)
		return
	}
	debug.SetGCPercent(400) // there is much garbage, and little else
	var mu sync.Mutex
	total := tally{meant: map[string]int{}}
	t.Cleanup(func() { t.Logf("seed %d: %+v", *seed, total) })
	for part := range uint64(parts) {
		t.Run(fmt.Sprintf("part %d of %d", part+1, parts), func(t *testing.T) {
			t.Parallel()
			for number := part + 1; number <= *histories && !t.Failed(); number += parts {
				played, difference := playHistory(t, number)
				mu.Lock()
				total.add(&played)
				mu.Unlock()
				if difference != "" {
					t.Errorf("%s\nto see the story: go test -C localcluster ./internal/differential -v -differential.seed %d -differential.history %d", difference, *seed, number)
				}
			}
		})
	}
}

func playHistory(t *testing.T, number uint64) (played tally, difference string) {
	synctest.Test(t, func(t *testing.T) {
		h := newHistory(*seed, number)
		difference = h.play(t.Context())
		played = h.tally
	})
	return played, difference
}

// logHistory plays one history and prints all that happens in it.
func logHistory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHistory(*seed, *onlyHistory)
		h.isLoud = true
		difference := h.play(t.Context())
		t.Log(strings.Join(h.story, "\n"))
		if difference != "" {
			t.Fatal(difference)
		}
	})
}
