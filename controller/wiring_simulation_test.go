package controller

import (
	"context"
	"flag"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	appsv1 "k8s.io/api/apps/v1"

	"kubernetes-deployment-restart-controller/catalog/annotation"
	"kubernetes-deployment-restart-controller/catalog/decide"
)

var (
	simulatedFleets = flag.Int("simulation.fleets", 80, "the number of fleets to simulate")
	simulationSeed  = flag.Uint64("simulation.seed", 1, "the seed of the simulation")
	simulatedFleet  = flag.Uint64("simulation.fleet", 0, "the only fleet to simulate, with its log; 0 for all")
)

// The gate has a simulation of its own. This one is about how the controller uses it, with answers that are late
// or lost and watches that lag: in the end nobody waits, nothing counts as under way, and all pods have the
// present content. A seed determines what happens, but not in which order goroutines of the same moment run.
func TestEverythingIsDeliveredInTheEndWhateverHappens(t *testing.T) {
	first, last := uint64(1), uint64(*simulatedFleets)
	if *simulatedFleet != 0 {
		first, last = *simulatedFleet, *simulatedFleet
	}
	counts := make(map[string]int)
	for number := first; number <= last; number++ {
		synctest.Test(t, func(t *testing.T) {
			f := newRealFleet(t, *simulationSeed, number)
			problems := f.play(t)
			for _, what := range []string{"msg=restarted", "restart is delivered", "restart failed", "halted the restarts", "restart is held", "trying again"} {
				counts[what] += strings.Count(f.logged.String(), what)
			}
			if *simulatedFleet != 0 {
				t.Logf("\n%s", &f.logged)
			}
			if len(problems) > 0 {
				t.Errorf("%s\nto see this alone: go test ./controller -run TestEverythingIsDelivered -simulation.seed %d -simulation.fleet %d",
					strings.Join(problems, "\n"), *simulationSeed, number)
			}
		})
	}
	t.Logf("%v", counts)
	for what, n := range counts {
		if *simulatedFleets >= 50 && *simulatedFleet == 0 && n < *simulatedFleets {
			t.Errorf("only %d times in the logs: %s", n, what)
		}
	}
}

// play lets things happen for some minutes, fixes what is broken, and judges hours later.
func (f *realFleet) play(t *testing.T) []string {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	var group sync.WaitGroup
	defer group.Wait()
	defer stop()
	group.Go(func() { f.watch(ctx) })
	f.locked(f.begin)
	group.Go(func() {
		if err := f.controller.Lead(ctx); err != nil {
			t.Error(err)
		}
	})
	time.Sleep(2 * time.Minute)
	for step := range 60 {
		f.locked(func() { f.happen(step) })
		longest := 2 * time.Second
		if step%4 == 3 {
			longest = 40 * time.Second
		}
		time.Sleep(f.upTo(longest))
	}
	f.locked(f.fixEverything)
	time.Sleep(5 * time.Hour)
	synctest.Wait()
	return f.problems()
}

// begin creates configs and workloads in two namespaces.
func (f *realFleet) begin() {
	for _, namespace := range []string{"a", "b"} {
		for i := range 3 {
			f.configs = append(f.configs, fmt.Sprintf("%s/c%d", namespace, i))
			f.edited(f.configs[len(f.configs)-1], "good")
		}
		for i := range 6 {
			f.names = append(f.names, fmt.Sprintf("%s/w%d", namespace, i))
			f.create(f.names[len(f.names)-1])
		}
	}
}

func (f *realFleet) create(name string) {
	configs := []string{fmt.Sprintf("c%d", f.random.IntN(3))}
	if f.chance(3) {
		configs = append(configs, fmt.Sprintf("c%d", f.random.IntN(3)))
	}
	d := f.deployment(name, configs...)
	wholeStatus(d)
	f.deployments[name] = d
	if f.usesWaves && f.chance(2) {
		f.setWave(d)
	}
	f.shown <- d
}

// happen lets one thing happen, to a config or to a workload.
func (f *realFleet) happen(step int) {
	config, name := f.configs[f.random.IntN(len(f.configs))], f.names[f.random.IntN(len(f.names))]
	switch what := f.random.IntN(16); {
	case what < 5:
		f.edited(config, fmt.Sprintf("good %d", step))
	case what < 7:
		f.edited(config, fmt.Sprintf("bad %d", step))
	case what == 7:
		f.annotate(config, annotation.HoldAnnotation, "an incident")
		f.show("configmaps", f.configMaps[config])
	case what == 8:
		f.faults = f.random.Float64() / 2
	case what == 9:
		f.faults = 0
	case f.deployments[name] == nil:
		f.create(name)
	default:
		f.happenTo(name)
	}
}

func (f *realFleet) happenTo(name string) {
	switch f.random.IntN(6) {
	case 0:
		f.remove(name)
	case 1:
		f.write(name, toggleOptIn)
	case 2:
		f.write(name, func(d *appsv1.Deployment) { d.Annotations[annotation.HoldAnnotation] = "not now" })
	case 3:
		f.write(name, func(d *appsv1.Deployment) {
			d.Spec.Replicas = new(int32(0))
			d.Status.Replicas, d.Status.AvailableReplicas, d.Status.UpdatedReplicas = 0, 0, 0
		})
	case 4:
		if f.usesWaves {
			f.write(name, f.setWave)
		}
	case 5:
		f.write(name, func(d *appsv1.Deployment) { d.Spec.Template.Annotations = nil }) // an undo
	}
}

func toggleOptIn(d *appsv1.Deployment) {
	if _, isEnabled := d.Annotations[annotation.EnabledAnnotation]; isEnabled {
		delete(d.Annotations, annotation.EnabledAnnotation)
	} else {
		d.Annotations[annotation.EnabledAnnotation] = annotation.Enabled
	}
}

func (f *realFleet) setWave(d *appsv1.Deployment) {
	d.Annotations[annotation.WaveAnnotation] = fmt.Sprint(f.random.IntN(3) - 1)
}

// fixEverything leaves no bad content, no hold and no fault.
func (f *realFleet) fixEverything() {
	f.faults = 0
	for _, config := range f.configs {
		f.edited(config, "good at last")
	}
	for _, name := range f.names {
		if f.deployments[name] != nil {
			f.write(name, func(d *appsv1.Deployment) { delete(d.Annotations, annotation.HoldAnnotation) })
		}
	}
}

// problems returns what is not as it must be in the end.
func (f *realFleet) problems() (all []string) {
	c := f.controller
	c.gate.Mu.Lock()
	defer c.gate.Mu.Unlock()
	ledger := c.gate.Ledger
	if n := ledger.UnderWay(); n != 0 {
		all = append(all, fmt.Sprintf("%d restarts are under way", n))
	}
	for reason, n := range ledger.Waiting() {
		if n != 0 {
			all = append(all, fmt.Sprintf("%d restarts wait: %s", n, reason))
		}
	}
	if p := slices.Collect(ledger.Progress()); len(p) > 0 {
		all = append(all, fmt.Sprintf("fan-outs are under way: %+v", p))
	}
	if n := ledger.ActiveHalts(); n != 0 {
		all = append(all, fmt.Sprintf("%d halts are left", n))
	}
	for _, ref := range c.catalog.WorkloadsIn("") {
		view, _ := c.catalog.View(ref)
		if d := decide.Decide(view); d.Outcome == decide.Restart {
			all = append(all, fmt.Sprintf("%s should restart: %s", ref, d.Reason))
		}
	}
	slices.Sort(all)
	return all
}
