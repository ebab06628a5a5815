package parity

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
)

// scenario is a script that is played on both sides.
type scenario struct {
	name string // a sentence
	play func(*scene)
}

// scenarios are all those that are written down, by theme.
func scenarios() []scenario {
	return slices.Concat(
		creationScenarios,
		rollingScenarios,
		surgeScenarios(),
		recreateScenarios,
		scalingScenarios,
		pauseScenarios,
		rollbackScenarios,
		historyScenarios,
		ownershipScenarios,
		failureScenarios,
		kubectlScenarios,
	)
}

func TestScenarios(t *testing.T) {
	t.Run("all", func(t *testing.T) { // ends when its parallel parts have ended
		for _, sc := range scenarios() {
			t.Run(sc.name, func(t *testing.T) { openScene(t).playThrough(sc.play) })
		}
	})
	t.Run("nothing was written after the end", func(t *testing.T) { resting.check(t) })
}

// playThrough plays a scenario, whose last step is to be a checkpoint.
func (s *scene) playThrough(play func(*scene)) {
	play(s)
	if s.checkpoints == 0 {
		s.Fatal("the scenario compares nothing")
	}
	if !s.restless {
		resting.add(s)
	}
}

// resting are the scenes that have come to their end, with the versions of their
// objects at that time.
var resting restingScenes

type restingScenes struct {
	mu   sync.Mutex
	seen []restingScene
}

type restingScene struct {
	scene    *scene
	versions []map[string]string // by side
}

func (r *restingScenes) add(s *scene) {
	versions := make([]map[string]string, len(s.sides))
	for i, on := range s.sides {
		versions[i] = on.mirror.view(s.namespace).versions()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.seen = append(r.seen, restingScene{s, versions})
}

// versions are those of all Deployments and ReplicaSets.
func (v *view) versions() map[string]string {
	all := map[string]string{}
	for _, d := range v.deployments {
		all["Deployment "+d.Name] = d.ResourceVersion
	}
	for _, rs := range v.replicaSets {
		all["ReplicaSet "+rs.Name] = rs.ResourceVersion
	}
	return all
}

// check fails for every object that was written after its scene's end.
func (r *restingScenes) check(t *testing.T) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, rest := range r.seen {
		for i, on := range rest.scene.sides {
			now := on.mirror.view(rest.scene.namespace).versions()
			if !maps.Equal(now, rest.versions[i]) {
				t.Errorf("%s, on the side of %s: %s", rest.scene.Name(), on.name, changes(rest.versions[i], now))
			}
		}
	}
}

func changes(before, after map[string]string) string {
	var texts []string
	for _, name := range slices.Sorted(maps.Keys(before)) {
		if after[name] != before[name] {
			texts = append(texts, fmt.Sprintf("%s had version %s and has %q", name, before[name], after[name]))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(after)) {
		if _, known := before[name]; !known {
			texts = append(texts, name+" is new")
		}
	}
	return strings.Join(texts, "; ")
}
