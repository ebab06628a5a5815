package main

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

const (
	// oldRevisions is how many old ReplicaSets each Deployment has.
	oldRevisions = 5
	historyShare = 1.0 / 3 // of upstream's CPU time

	// smallFleet is the size of the namespace that the large one is compared with.
	smallFleet  = 20
	touchers    = 4
	syncTarget  = 1.2 // times the CPU time of a sync in the small namespace
	memoryShare = 0.5 // of upstream's
	idleTime    = 10 * time.Second
)

// measureEngineHistory changes all templates of many Deployments without pods and
// with old ReplicaSets, in one namespace and, for comparison, in several: upstream's
// controller looks at all ReplicaSets of a namespace for each of its Deployments.
func (b *bench) measureEngineHistory(ctx context.Context) ([]row, error) {
	var rows []row
	for _, layout := range []struct {
		namespaces, rounds int
		share              float64
	}{{1, b.historyRounds, historyShare}, {namespaceCount, 1, 0}} {
		taken := map[string]*rounds{upstream.name: {}, ours.name: {}}
		err := b.onHistory(ctx, layout.namespaces, func(f *fleet) error {
			return f.inTurns(ctx, layout.rounds, []driver{upstream, ours}, func(number int, s *shift) error {
				one, err := f.replaceAndForget(ctx, s, number)
				taken[s.name].add(one)
				return err
			})
		})
		if err != nil {
			return rows, err
		}
		own, theirs := taken[ours.name], taken[upstream.name]
		what := fmt.Sprintf("%d Deployments without pods, %d old ReplicaSets each, in %s, all templates changed at once: ",
			b.history, oldRevisions, plural(layout.namespaces, "namespace"))
		rows = append(rows, cpuRows(what, layout.share, own, theirs)...)
		rows = append(rows,
			beside(what+"all complete", own.seconds, "%.1f", "s"),
			beside("the same with upstream", theirs.seconds, "%.1f", "s"))
	}
	return rows, nil
}

func plural(count int, noun string) string {
	if count == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", count, noun)
}

// onHistory runs an act with Deployments that have old ReplicaSets, rolled out
// once.
func (b *bench) onHistory(ctx context.Context, namespaces int, act func(*fleet) error) error {
	return b.onArena(ctx, func(a *arena) error {
		f, err := a.newHistory(ctx, "crowd", namespaces, b.history)
		if err != nil {
			return err
		}
		return act(f)
	})
}

// newHistory makes Deployments with old ReplicaSets.
func (a *arena) newHistory(ctx context.Context, name string, namespaces, size int) (*fleet, error) {
	f, err := a.newFleet(ctx, name, namespaces, size, 0)
	if err != nil {
		return nil, err
	}
	if err := f.addHistory(ctx, oldRevisions); err != nil {
		return nil, err
	}
	return f, f.prepare(ctx)
}

// replaceAndForget rolls out a new image everywhere, and undoes that
// afterwards, so that each round finds what the one before found.
func (f *fleet) replaceAndForget(ctx context.Context, s *shift, number int) (round, error) {
	taken, err := f.rollOut(ctx, s, imageOf(number))
	if err == nil {
		err = f.setAllImages(ctx, firstImage)
	}
	if err == nil {
		err = s.awaitCalm(ctx)
	}
	if err == nil {
		err = f.forget(ctx, imageOf(number))
	}
	return taken, err
}

// measureEngineSyncs measures what a sync costs that finds nothing to do, in a
// large namespace and in a small one.
func (b *bench) measureEngineSyncs(ctx context.Context) ([]row, error) {
	var large, small samples
	err := b.onHistory(ctx, 1, func(many *fleet) error {
		few, err := many.newHistory(ctx, "few", 1, smallFleet)
		if err != nil {
			return err
		}
		return many.drive(ctx, ours, func(s *shift) error {
			for range b.repetitions {
				for _, f := range []*fleet{many, few} {
					perSync, err := f.touchAll(ctx, s)
					if err != nil {
						return err
					}
					if f == many {
						large.add(perSync)
					} else {
						small.add(perSync)
					}
				}
			}
			return nil
		})
	})
	if err != nil {
		return nil, err
	}
	ratio := large.median() / small.median()
	return []row{
		{
			what:     fmt.Sprintf("CPU time of a sync in a namespace of %d Deployments with %d old ReplicaSets each, against one of %d", b.history, oldRevisions, smallFleet),
			target:   fmt.Sprintf("≤ %g times", syncTarget),
			measured: fmt.Sprintf("%.2f times", ratio),
			missed:   ratio > syncTarget,
		},
		beside("a sync in the large namespace", large, "%.0f", "µs"),
		beside("a sync in the small namespace", small, "%.0f", "µs"),
	}, nil
}

// touchAll changes a label of the Deployments many times, which makes the engine
// look at them and find nothing to do, and returns the CPU time of a sync in
// microseconds, less what the idle process uses.
func (f *fleet) touchAll(ctx context.Context, s *shift) (float64, error) {
	idle, err := s.engineWork(ctx, func() error { return pause(ctx, idleTime) })
	if err != nil {
		return 0, err
	}
	busy, err := s.engineWork(ctx, func() error {
		return inParallel(ctx, touchers, f.bench.touches, func(ctx context.Context, number int) error {
			body := fmt.Sprintf(`{"metadata":{"labels":{"touched":"%d"}}}`, time.Now().UnixNano())
			return f.patch(ctx, number%f.size, types.MergePatchType, body)
		})
	})
	if err != nil {
		return 0, err
	}
	if busy.syncs < float64(f.bench.touches)/2 {
		return 0, fmt.Errorf("%d touches led to %.0f syncs only", f.bench.touches, busy.syncs)
	}
	cpu := busy.cpu - idle.cpu/idle.seconds*busy.seconds
	perSync := cpu / busy.syncs * 1e6
	f.bench.progress.say("%d Deployments: %d touches in %.1f s, %.0f syncs, %.2f CPU-s: %.0f µs each",
		f.size, f.bench.touches, busy.seconds, busy.syncs, cpu, perSync)
	return perSync, nil
}

// work is what the engine did in some time.
type work struct{ seconds, cpu, syncs float64 }

func (s *shift) engineWork(ctx context.Context, during func() error) (work, error) {
	look := func() (w work, err error) {
		used, err := s.spent()
		if err != nil {
			return w, err
		}
		w.cpu = used.engine
		w.syncs, err = s.engine.Metric(ctx, "deployment_engine_syncs_total", nil)
		return w, err
	}
	before, err := look()
	if err != nil {
		return work{}, err
	}
	begun := time.Now()
	if err := during(); err != nil {
		return work{}, err
	}
	seconds := time.Since(begun).Seconds()
	if err := s.awaitCalm(ctx); err != nil {
		return work{}, err
	}
	after, err := look()
	return work{seconds, after.cpu - before.cpu, after.syncs - before.syncs}, err
}

// measureEngineMemory compares the memory of the engine's process with that of a
// controller manager that has no other controller than that of Deployments.
func (b *bench) measureEngineMemory(ctx context.Context) ([]row, error) {
	var own, ownPeak, theirs, theirPeak samples
	err := b.onHistory(ctx, 1, func(f *fleet) error {
		return f.inTurns(ctx, b.repetitions, []driver{upstreamAlone, ours}, func(_ int, s *shift) error {
			if err := pause(ctx, b.settleTime()); err != nil {
				return err
			}
			pid, steady, peak := s.manager.PID(), &theirs, &theirPeak
			if s.engine != nil {
				pid, steady, peak = s.engine.PID(), &own, &ownPeak
			}
			used, err := memoryOf(pid)
			steady.add(used.resident)
			peak.add(used.peak)
			b.progress.say("%s: %.1f MiB, peak %.1f", s.name, used.resident, used.peak)
			return err
		})
	})
	if err != nil {
		return nil, err
	}
	limit := memoryShare * theirs.median()
	return []row{
		{
			what:     fmt.Sprintf("resident memory with %d Deployments and %d ReplicaSets, steady", b.history, b.history*(oldRevisions+1)),
			target:   fmt.Sprintf("≤ %g of upstream's: %.1f MiB", memoryShare, limit),
			measured: fmt.Sprintf("%s, %.2f of upstream's", own.spread("%.1f", "MiB"), own.median()/theirs.median()),
			missed:   own.median() > limit,
		},
		beside("the same at the peak", ownPeak, "%.1f", "MiB"),
		beside("a controller manager with its deployment controller alone, steady", theirs, "%.1f", "MiB"),
		beside("the same at the peak", theirPeak, "%.1f", "MiB"),
	}, nil
}
