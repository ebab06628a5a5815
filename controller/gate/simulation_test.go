package gate

import (
	"flag"
	"slices"
	"sort"
	"strings"
	"testing"
	"time"
)

var (
	simulatedFleets = flag.Int("simulation.fleets", defaultFleets, "the number of fleets to simulate")
	simulationSeed  = flag.Uint64("simulation.seed", 1, "the seed of the simulation")
	simulatedFleet  = flag.Uint64("simulation.fleet", 0, "the only fleet to simulate, with its story; 0 for all")
)

// The promise of the gate, whatever happens in whatever order: the limit and the slow start are kept, nobody
// restarts for content that is halted, nobody waits for nothing, and in the end everything is delivered
// or waits for a reason that is visible.
func TestFleetsRestartGraduallyAndCompletelyWhateverHappens(t *testing.T) {
	if only := *simulatedFleet; only != 0 {
		f := newFleet(*simulationSeed, only)
		f.isLoud = true
		f.play()
		t.Log("\n" + strings.Join(f.story, "\n"))
		if f.problem != "" {
			t.Fatal(f.problem)
		}
		return
	}
	total := tally{}
	for number := range uint64(*simulatedFleets) {
		f := newFleet(*simulationSeed, number+1)
		f.play()
		if total.add(&f.tally); f.problem == "" {
			continue
		}
		again := newFleet(*simulationSeed, number+1)
		again.isLoud = true
		again.play()
		t.Fatalf("%s\n%s\nto see this alone: go test ./controller/gate -run TestFleets -simulation.seed %d -simulation.fleet %d",
			strings.Join(again.story, "\n"), f.problem, *simulationSeed, number+1)
	}
	t.Logf("%+v", total)
	for what, count := range map[string]int{
		"restarts": total.restarts, "deliveries": total.deliveries, "failures": total.failures, "halts": total.halts,
		"leaders": total.leaders, "lost answers": total.lost, "waits": total.waits, "ends with halts": total.haltedEnds,
		"lost pods": total.outages,
	} {
		if *simulatedFleets >= 1000 && count < *simulatedFleets/20 {
			t.Errorf("only %d %s", count, what)
		}
	}
}

// tally counts what has happened.
type tally struct {
	steps, restarts, deliveries, failures, halts, leaders, lost, waits, haltedEnds, outages int
}

func (t *tally) add(other *tally) {
	t.steps += other.steps
	t.restarts += other.restarts
	t.deliveries += other.deliveries
	t.failures += other.failures
	t.halts += other.halts
	t.leaders += other.leaders
	t.lost += other.lost
	t.waits += other.waits
	t.haltedEnds += other.haltedEnds
	t.outages += other.outages
}

// play lets things happen for some minutes, calms down, fixes what is broken, and judges.
func (f *fleet) play() {
	f.lead()
	for range 5 + f.random.IntN(40) {
		f.after(f.upTo(15*time.Minute), f.happen)
	}
	f.run()
	f.calmDown()
	f.run()
	f.checkSettled()
	f.fixEverything()
	f.run()
	f.checkDelivered()
}

// run lets time pass until nothing more is going to happen.
func (f *fleet) run() {
	for f.problem == "" && len(f.events) > 0 {
		next := f.events[0]
		f.events = f.events[1:]
		f.now = next.at
		next.do()
		f.steps++
		f.checkIdle()
	}
}

// timeline has what is going to happen, in that order, and drives the time.
type timeline struct {
	now    time.Time
	events []event
}

type event struct {
	at time.Time
	do func()
}

func (t *timeline) after(d time.Duration, do func()) {
	at := t.now.Add(d)
	later := sort.Search(len(t.events), func(i int) bool { return t.events[i].at.After(at) })
	t.events = slices.Insert(t.events, later, event{at, do})
}
