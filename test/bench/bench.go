package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"
)

// measurement makes some rows of the table.
type measurement struct {
	name string
	run  func(*bench, context.Context) ([]row, error)
}

// measurements in the order of the table.
var measurements = []measurement{
	{"memory", (*bench).measureMemory},
	{"memory-many", (*bench).measureMany},
	{"memory-reach", (*bench).measureReach},
	{"latency", (*bench).measureLatency},
	{"shared", (*bench).measureShared},
	{"fan-out", (*bench).measureFanOut},
	{"down", (*bench).measureDown},
	{"kill", (*bench).measureKill},
	{"first-start", (*bench).measureFirstStart},
	{"engine-writes", (*bench).measureEngineWrites},
	{"engine-rollouts", (*bench).measureEngineRollouts},
	{"engine-history", (*bench).measureEngineHistory},
	{"engine-syncs", (*bench).measureEngineSyncs},
	{"engine-memory", (*bench).measureEngineMemory},
	{"engine-crowd", (*bench).measureEngineCrowd},
	{"engine-plan", (*bench).measurePlan},
}

// onRequest are made only when they are asked for.
var onRequest = []measurement{
	{"engine-workers", (*bench).measureWorkers},
}

func measurementNames() string {
	var names []string
	for _, m := range slices.Concat(measurements, onRequest) {
		names = append(names, m.name)
	}
	return strings.Join(names, ", ")
}

// chooseMeasurements returns those with the given names; without names, all but
// those on request.
func chooseMeasurements(names []string) ([]measurement, error) {
	if len(names) == 0 {
		return measurements, nil
	}
	wanted := make(map[string]bool)
	for _, name := range names {
		wanted[name] = true
	}
	var chosen []measurement
	for _, m := range slices.Concat(measurements, onRequest) {
		if wanted[m.name] {
			chosen = append(chosen, m)
			delete(wanted, m.name)
		}
	}
	for name := range wanted {
		return nil, fmt.Errorf("there is no measurement %q; there are %s", name, measurementNames())
	}
	return chosen, nil
}

// numbers say how much is measured.
type numbers struct {
	configs     int // ConfigMaps, and as many Secrets, of the memory rows
	deployments int // of the memory rows, of the shared ConfigMap and of the first start
	edits       int // of the latency row, for each of the two processes
	away        int // edits while the controller is down or about to be killed
	repetitions int
	grace       time.Duration // of the rows that measure with the controller's defaults

	// Of the deployment engine's rows:
	counted       int // rollouts whose writes are counted, for each of the two drivers
	fleet         int // Deployments with pods
	fleetRounds   int // for each of the two drivers
	history       int // Deployments without pods
	historyRounds int // for each of the two drivers
	touches       int
	crowd         int // Deployments with ten ReplicaSets and ten pods each
	workerRounds  int // for each number of workers
}

var (
	fullNumbers = numbers{
		configs: 10_000, deployments: 1_000, edits: 600, away: 20, repetitions: 3, grace: 5 * time.Second,
		counted: 20, fleet: 200, fleetRounds: 3, history: 2_000, historyRounds: 2, touches: 10_000, crowd: 10_000, workerRounds: 1,
	}
	// quickNumbers are for a smoke test.
	quickNumbers = numbers{
		configs: 200, deployments: 40, edits: 20, away: 5, repetitions: 1, grace: time.Second,
		counted: 2, fleet: 10, fleetRounds: 1, history: 40, historyRounds: 1, touches: 400, crowd: 20, workerRounds: 1,
	}
)

// bench is one run of the program.
type bench struct {
	numbers
	quick    bool
	out      string
	progress *progress
	shared   *stage // the one stage of a quick run
}

func newBench(o options) *bench {
	b := &bench{numbers: fullNumbers, quick: o.Quick, out: o.Out, progress: newProgress(os.Stdout)}
	if o.Quick {
		b.numbers = quickNumbers
	}
	return b
}

// run makes the measurements and prints the table, also of those that came to an
// end before one failed.
func (b *bench) run(ctx context.Context, chosen []measurement) error {
	about, err := describeRun(ctx, b.quick)
	if err != nil {
		return err
	}
	b.progress.say("%s", strings.Join(about, "\n"))
	var rows []row
	var failure error
	for _, m := range chosen {
		b.progress.say("== %s (%s)", m.name, loadAverage())
		made, err := m.run(b, ctx)
		rows = append(rows, made...)
		if err != nil {
			failure = fmt.Errorf("measure %s: %w", m.name, err)
			break
		}
	}
	return errors.Join(failure, b.closeShared(), b.report(about, rows), faults(rows))
}

func (b *bench) report(about []string, rows []row) error {
	printTable(os.Stdout, rows)
	if b.out == "" {
		return nil
	}
	file, err := os.Create(b.out)
	if err != nil {
		return fmt.Errorf("write the table: %w", err)
	}
	printMarkdown(file, about, rows)
	if err := file.Close(); err != nil {
		return fmt.Errorf("write the table: %w", err)
	}
	return nil
}
