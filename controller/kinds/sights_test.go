package kinds

import (
	"testing"

	"kubernetes-deployment-restart-controller/internal/podsight"
)

func TestOnlyPodsOfTheRestartCount(t *testing.T) {
	all := sights{worst: make(map[Origin]podsight.Sight), count: make(map[Origin]podsight.Tally)}
	present, former := Origin{Revision: "present"}, Origin{Revision: "former"}
	ready, down := podsight.Tally{Ready: 1}, podsight.Tally{Down: 1}
	all.add(podsight.Sight{Tally: ready}, present, false)
	all.add(podsight.Sight{Condition: podsight.Hanging, Pod: "hangs", Tally: down}, present, false)
	all.add(podsight.Sight{Condition: podsight.Broken, Pod: "crashes", Tally: down}, present, false)
	all.add(podsight.Sight{Tally: ready}, present, true) // from before a restart by eviction
	all.add(podsight.Sight{Condition: podsight.Broken, Pod: "crashed before", Tally: down}, former, false)
	got := all.of(func(from Origin) bool { return from == present })
	if want := (podsight.Sight{Condition: podsight.Broken, Pod: "crashes", Tally: podsight.Tally{Down: 2, Ready: 1}}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}
