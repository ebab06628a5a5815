package decide

import (
	"flag"
	"maps"
	"slices"
	"testing"

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
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(rapid.Bool().Draw(t, "optional"))
		if rapid.Bool().Draw(t, "not opted in yet") {
			w = newWorldBeforeOptIn(w.optional)
		}
		actions := map[string]func(*rapid.T){
			"edit": w.edit, "take back": w.takeBack, "come back": w.comeBack, "label": w.label, "remove": w.remove, "create": w.create,
			"release": w.releaseImage, "rewind": w.rewind, "drop the basis": w.dropTheBasis, "roll on": w.rollOut, "opt in": w.optIn, "show another": w.showAnother, "replace a pod": w.replaceAPod, "scale": w.toggleScale, "end pods": w.endPods,
			"stop controller": w.stopController, "start controller": w.startController, "take over behind": w.takeOverBehind,
			"decide": w.decideAndAct,
		}
		// Few kinds of actions in a history bring those together that matter to each other.
		names := rapid.Permutation(slices.Sorted(maps.Keys(actions))).Draw(t, "actions")
		names = append(names[:rapid.IntRange(3, len(names)).Draw(t, "kinds")], "decide")
		for range rapid.IntRange(12, 60).Draw(t, "steps") {
			w.now += 10
			actions[rapid.SampledFrom(names).Draw(t, "action")](t)
		}
		w.now += 10
		w.optIn(t)
		w.startController(t)
		w.inTheEnd = true
		w.decideAndAct(t)
		if w.stale() {
			t.Fatal("in the end, pods run with another content")
		}
	})
}
