package decide

import (
	"flag"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"
)

// playHistories plays more histories than there are checks of other properties, unless the
// command line says how many: they take little time, and some mistakes show in few of them.
func playHistories(t *testing.T, count string) {
	t.Helper()
	if isRaced {
		return
	}
	checks := flag.Lookup("rapid.checks")
	if usual := checks.Value.String(); usual == checks.DefValue {
		t.Cleanup(func() { _ = checks.Value.Set(usual) })
		if err := checks.Value.Set(count); err != nil {
			t.Fatal(err)
		}
	}
}

// The promise of the controller: a restart for each content that pods have not
// seen, and none for anything else, whatever happens in whatever order.
func TestPodsRestartIfAndOnlyIfTheyHaveNotSeenTheContent(t *testing.T) {
	playHistories(t, "2000")
	excused := 0
	rapid.Check(t, func(t *rapid.T) { drawHistory(t, &excused).play(t) })
	t.Logf("%d needless restarts, each explained by a limit that docs/design.md describes", excused)
}

func drawHistory(t *rapid.T, excused *int) *world {
	return newWorld(t, excused, rapid.Bool().Draw(t, "optional"), rapid.SampledFrom([]string{"with a config", "without", "out"}).Draw(t, "begins"))
}

func (w *world) play(t *rapid.T) {
	w.repeat(t, 3, map[string]func(*rapid.T){
		"edit": w.edit, "take back": w.takeBack, "come back": w.comeBack, "label": w.label, "remove": w.remove, "create": w.create,
		"release": w.releaseImage, "rewind": w.rewind, "drop the basis": w.dropTheBasis, "roll on": w.rollOut, "opt in": w.optIn, "show another": w.showAnother, "replace a pod": w.replaceAPod, "scale": w.toggleScale, "end pods": w.endPods,
		"stop controller": w.stopController, "start controller": w.startController, "take over behind": w.takeOverBehind,
		"decide": w.decideAndAct,
	}, "decide")
	w.optIn(t)
	w.startController(t)
	w.inTheEnd = true
	w.decideAndAct(t)
	if w.stale() {
		w.fail("In the end, pods run with another content")
	}
}

// A failure can be read and played as a story. What it decides is what was decided in the simulation.
func TestAHistoryOfASimulationIsAStoryWithTheSameDecisions(t *testing.T) {
	for name, begins := range map[string]func(*rapid.T) (*stage, func(*rapid.T)){
		"one config": func(t *rapid.T) (*stage, func(*rapid.T)) { w := drawHistory(t, new(int)); return w.stage, w.play },
		"filters":    func(t *rapid.T) (*stage, func(*rapid.T)) { w := newFilteredWorld(t, new(int)); return w.stage, w.play },
		"gone":       func(t *rapid.T) (*stage, func(*rapid.T)) { w := newHidingWorld(t); return w.stage, w.play },
		"late":       func(t *rapid.T) (*stage, func(*rapid.T)) { w := newLateWorld(t, &tally{}); return w.stage, w.play },
	} {
		t.Run(name, func(t *testing.T) {
			decided := 0
			for seed := range 20 {
				rapid.Custom(func(rt *rapid.T) int {
					s, plays := begins(rt)
					s.check = func(pods []*corev1.Pod, meaning string) {
						decided++
						if story := play(t, s.draw("Drawn.", pods)); !strings.HasSuffix(story, " = "+meaning) {
							t.Errorf("with seed %d, it was decided to %s, not\n%s", seed, meaning, story)
						}
					}
					plays(rt)
					return decided
				}).Example(seed)
			}
			if decided < 50 {
				t.Errorf("%d decisions", decided)
			}
		})
	}
}
