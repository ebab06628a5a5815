package kinds

import (
	"testing"

	"kubernetes-deployment-restart-controller/controller/delivery"
)

func TestOnlyPodsOfTheRestartCount(t *testing.T) {
	all := sights{worst: make(map[Origin]delivery.Sight), count: make(map[Origin]delivery.Tally)}
	present, former := Origin{Revision: "present"}, Origin{Revision: "former"}
	ready, down := delivery.Tally{Ready: 1}, delivery.Tally{Down: 1}
	all.add(delivery.Sight{Tally: ready}, present, false)
	all.add(delivery.Sight{Condition: delivery.Hanging, Pod: "hangs", Tally: down}, present, false)
	all.add(delivery.Sight{Condition: delivery.Broken, Pod: "crashes", Tally: down}, present, false)
	all.add(delivery.Sight{Tally: ready}, present, true) // from before a restart by eviction
	all.add(delivery.Sight{Condition: delivery.Broken, Pod: "crashed before", Tally: down}, former, false)
	got := all.of(func(from Origin) bool { return from == present })
	if want := (delivery.Sight{Condition: delivery.Broken, Pod: "crashes", Tally: delivery.Tally{Down: 2, Ready: 1}}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}
