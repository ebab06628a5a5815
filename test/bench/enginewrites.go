package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	replicaSetWritesTarget = 6.0
	stalenessTarget        = 100.0 // milliseconds
)

// writing are the samples of several rollouts of one driver.
type writing struct{ replicaSets, status, conflicts, total, stale samples }

func (w *writing) add(t tally, stale time.Duration) {
	w.replicaSets.add(float64(t.replicaSets))
	w.status.add(float64(t.status))
	w.conflicts.add(float64(t.conflicts))
	w.total.add(float64(t.total()))
	w.stale.addMilliseconds(stale)
}

// measureEngineWrites counts what single rollouts write, by the API server's audit
// log.
func (b *bench) measureEngineWrites(ctx context.Context) (rows []row, err error) {
	directory, err := os.MkdirTemp("", "audit-")
	if err != nil {
		return nil, fmt.Errorf("make a directory for the audit log: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(directory)) }()
	log, flags, err := newAudit(directory)
	if err != nil {
		return nil, err
	}
	written := map[string]*writing{upstream.name: {}, ours.name: {}}
	err = b.onArena(ctx, func(a *arena) error {
		f, err := a.newFleet(ctx, "counted", 1, b.counted, fleetReplicas)
		if err != nil {
			return err
		}
		if err := f.prepare(ctx); err != nil {
			return err
		}
		return f.inTurns(ctx, 1, []driver{upstream, ours}, func(number int, s *shift) error {
			for deployment := range b.counted {
				if err := f.countWrites(ctx, log, deployment, imageOf(number), written[s.name]); err != nil {
					return err
				}
			}
			b.progress.say("%s: %s", s.name, written[s.name])
			return nil
		})
	}, flags...)
	if err != nil {
		return nil, err
	}
	return writeRows(written[ours.name], written[upstream.name]), nil
}

// countWrites lets one Deployment roll out and counts.
func (f *fleet) countWrites(ctx context.Context, log *audit, number int, image string, written *writing) error {
	if _, err := log.readUntilQuiet(ctx); err != nil { // what came before
		return err
	}
	namespace, name := f.namespaceOf(number), f.nameOf(number)
	recorded, err := f.record(ctx, namespace)
	if err != nil {
		return err
	}
	defer recorded.close()
	followed, err := f.follow(ctx, metav1.NamespaceAll)
	if err != nil {
		return err
	}
	defer followed.close()
	if err := f.setImage(ctx, number, image); err != nil {
		return err
	}
	err = followed.await(ctx, rolloutLimit, 1, func(seen *sight) bool {
		return seen == followed.sights[name] && rolledOut(image)(seen)
	})
	if err != nil {
		return err
	}
	writes, err := log.readUntilQuiet(ctx)
	if err != nil {
		return err
	}
	t, err := count(writes, "system:serviceaccount:"+f.installation.Namespace+":"+f.installation.ServiceAccount)
	if err != nil {
		return err
	}
	notices, err := recorded.of(name)
	if err != nil {
		return err
	}
	stale, err := staleness(notices)
	written.add(t, stale)
	return err
}

func (w *writing) String() string {
	const format = "%.0f"
	return fmt.Sprintf("%s to ReplicaSets, %s to the status, %s; %s", w.replicaSets.spread(format, "writes"),
		w.status.spread(format, "writes"), w.conflicts.spread(format, "conflicts"), w.stale.spread(format, "ms stale"))
}

func writeRows(own, theirs *writing) []row {
	const format, unit = "%.0f", ""
	what := fmt.Sprintf("one rollout of %d replicas: ", fleetReplicas)
	return []row{
		{
			what:     what + "writes to ReplicaSets",
			target:   fmt.Sprintf("≤ %g", replicaSetWritesTarget),
			measured: own.replicaSets.spread(format, unit),
			missed:   own.replicaSets.median() > replicaSetWritesTarget,
		},
		beside("the same with upstream", theirs.replicaSets, format, unit),
		{
			what:     what + "conflicts",
			target:   "0",
			measured: own.conflicts.spread(format, unit),
			missed:   own.conflicts.max() > 0,
		},
		beside("the same with upstream", theirs.conflicts, format, unit),
		{
			what:     what + "writes of the status",
			target:   fmt.Sprintf("< upstream's %.0f", theirs.status.median()),
			measured: own.status.spread(format, unit),
			missed:   own.status.median() >= theirs.status.median(),
		},
		beside("the same with upstream", theirs.status, format, unit),
		beside(what+"all writes", own.total, format, unit),
		beside("the same with upstream", theirs.total, format, unit),
		{
			what:     what + "from a ReplicaSet's status to the Deployment's, longest",
			target:   fmt.Sprintf("≤ %g ms", stalenessTarget),
			measured: own.stale.spread("%.0f", "ms"),
			missed:   own.stale.max() > stalenessTarget,
		},
		beside("the same with upstream", theirs.stale, "%.0f", "ms"),
	}
}
