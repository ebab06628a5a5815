package main

import (
	"context"
	"fmt"
	"strconv"
)

const (
	fleetReplicas = 3
	fleetShare    = 0.85 // of upstream's CPU time
)

// rounds are what several rollouts of a fleet took under one driver.
type rounds struct{ seconds, cpu, manager samples }

func (r *rounds) add(taken round) {
	r.seconds.add(taken.seconds)
	r.cpu.add(taken.used.total())
	r.manager.add(taken.used.manager)
}

// measureEngineRollouts rolls out many Deployments at once, by upstream and by the
// engine in turns.
func (b *bench) measureEngineRollouts(ctx context.Context) ([]row, error) {
	taken := map[string]*rounds{upstream.name: {}, ours.name: {}}
	err := b.onFleet(ctx, func(f *fleet) error {
		return f.inTurns(ctx, b.fleetRounds, []driver{upstream, ours}, func(number int, s *shift) error {
			one, err := f.replaceAll(ctx, s, number)
			taken[s.name].add(one)
			return err
		})
	})
	if err != nil {
		return nil, err
	}
	theirs, own := taken[upstream.name], taken[ours.name]
	what := fmt.Sprintf("%d Deployments × %d pods, all templates changed at once: ", b.fleet, fleetReplicas)
	return append([]row{
		notAbove(what+"all complete", "%.1f", "s", own.seconds, theirs.seconds),
		beside("the same with upstream", theirs.seconds, "%.1f", "s"),
	}, cpuRows(what, fleetShare, own, theirs)...), nil
}

// onFleet runs an act with the Deployments of this measurement, rolled out once.
func (b *bench) onFleet(ctx context.Context, act func(*fleet) error) error {
	return b.onArena(ctx, func(a *arena) error {
		f, err := a.newFleet(ctx, "fleet", 1, b.fleet, fleetReplicas)
		if err != nil {
			return err
		}
		if err := f.prepare(ctx); err != nil {
			return err
		}
		return act(f)
	})
}

// replaceAll rolls out a new image everywhere, and removes the ReplicaSets of the
// one before.
func (f *fleet) replaceAll(ctx context.Context, s *shift, number int) (round, error) {
	taken, err := f.rollOut(ctx, s, imageOf(number))
	if err != nil {
		return round{}, err
	}
	return taken, f.forget(ctx, imageOf(number-1))
}

// notAbove makes a row whose median is to be at most that of the other samples.
func notAbove(what, format, unit string, measured, limit samples) row {
	return row{
		what:     what,
		target:   fmt.Sprintf("≤ upstream's "+format+" %s", limit.median(), unit),
		measured: measured.spread(format, unit),
		missed:   measured.median() > limit.median(),
	}
}

// cpuRows compare CPU times: the manager without its deployment controller and the
// engine are to need at most a share of what the whole manager needs; 0 for no
// target.
func cpuRows(what string, share float64, own, theirs *rounds) []row {
	limit := share * theirs.cpu.median()
	compared := row{
		what:     what + "CPU time of the manager without its controller, and of the engine",
		measured: fmt.Sprintf("%s, %.2f of upstream's", own.cpu.spread("%.2f", "CPU-s"), own.cpu.median()/theirs.cpu.median()),
		noTarget: share == 0,
	}
	if share > 0 {
		compared.target = fmt.Sprintf("≤ %.2f of upstream's: %.2f CPU-s", share, limit)
		compared.missed = own.cpu.median() > limit
	}
	return []row{
		compared,
		beside("of it the manager without its controller", own.manager, "%.2f", "CPU-s"),
		beside("the same with upstream, the whole manager", theirs.cpu, "%.2f", "CPU-s"),
	}
}

// workerCounts are tried for the default of --deployment-workers.
var workerCounts = []int{5, 10, 20, 40}

// measureWorkers compares numbers of workers.
func (b *bench) measureWorkers(ctx context.Context) ([]row, error) {
	var drivers []driver
	fleets, crowds := map[string]*rounds{}, map[string]*rounds{}
	for _, count := range workerCounts {
		d := ours
		d.name = fmt.Sprintf("%d workers", count)
		d.flags = append([]string{"--deployment-workers=" + strconv.Itoa(count)}, engineFlags...)
		drivers = append(drivers, d)
		fleets[d.name], crowds[d.name] = &rounds{}, &rounds{}
	}
	err := b.onFleet(ctx, func(f *fleet) error {
		return f.inTurns(ctx, b.workerRounds, drivers, func(number int, s *shift) error {
			one, err := f.replaceAll(ctx, s, number)
			fleets[s.name].add(one)
			return err
		})
	})
	if err == nil {
		err = b.onHistory(ctx, 1, func(f *fleet) error {
			return f.inTurns(ctx, b.workerRounds, drivers, func(number int, s *shift) error {
				one, err := f.replaceAndForget(ctx, s, number)
				crowds[s.name].add(one)
				return err
			})
		})
	}
	if err != nil {
		return nil, err
	}
	var rows []row
	for _, d := range drivers {
		for what, taken := range map[string]*rounds{
			fmt.Sprintf("%s, %d Deployments × %d pods: ", d.name, b.fleet, fleetReplicas): fleets[d.name],
			fmt.Sprintf("%s, %d Deployments without pods: ", d.name, b.history):           crowds[d.name],
		} {
			rows = append(rows,
				beside(what+"all complete", taken.seconds, "%.1f", "s"),
				beside(what+"CPU time", taken.cpu, "%.2f", "CPU-s"))
		}
	}
	return rows, nil
}
