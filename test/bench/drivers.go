package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"kubernetes-deployment-restart-controller/test/harness"
)

const (
	// calmWindow and calmCPU say when processes have nothing to do: an idle
	// controller manager needs 5 ms of CPU time in a second, and up to 60 ms when it
	// has many objects.
	calmWindow = time.Second
	calmCPU    = 0.1 // seconds in a window
	calmCount  = 2   // windows in a row
	calmLimit  = 5 * time.Minute
)

// driver is who drives the Deployments of a cluster.
type driver struct {
	name        string
	controllers string // those of the controller manager
	isEngine    bool   // whether the engine runs next to it
	flags       []string
}

// The engine's client limits are those that the local cluster gives the controller
// manager.
var engineFlags = []string{"--deployment-engine=on", "--kube-api-qps=1000", "--kube-api-burst=2000"}

var (
	upstream      = driver{name: "upstream", controllers: "*"}
	upstreamAlone = driver{name: "upstream's controller alone", controllers: "deployment-controller"}
	ours          = driver{name: "ours", controllers: "*,-deployment-controller", isEngine: true, flags: engineFlags}
)

// arena is a whole cluster whose Deployments are driven by one driver after
// another.
type arena struct {
	*stage
	bench    *bench
	managers *harness.ManagerCommand
}

// onArena runs a measurement in a whole cluster of its own.
func (b *bench) onArena(ctx context.Context, measure func(*arena) error, clusterFlags ...string) error {
	b.progress.say("starting a whole cluster")
	cluster, err := harness.StartCluster(ctx, harness.ClusterOptions{Arguments: clusterFlags})
	if err != nil {
		return err
	}
	a := &arena{stage: &stage{cluster: cluster}, bench: b}
	if err = a.install(ctx, "rbac.yaml", "rbac-deployment-engine.yaml"); err == nil {
		a.managers, err = cluster.RetireManager(ctx)
	}
	if err == nil {
		err = measure(a)
	}
	return errors.Join(err, cluster.Stop())
}

// shift is a driver at work.
type shift struct {
	driver
	manager *harness.Manager    // nil if there is no manager
	engine  *harness.Controller // nil if it is not the engine's
}

// drive runs an act while a driver drives. When the act begins, the driver has
// done what there was to do.
func (a *arena) drive(ctx context.Context, d driver, act func(*shift) error) (err error) {
	s := &shift{driver: d}
	if s.manager, err = a.managers.Start(ctx, d.controllers); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.manager.Stop()) }()
	if d.isEngine {
		if s.engine, err = a.installation.StartController(ctx, d.flags...); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, s.engine.Stop()) }()
		if err := s.engine.AwaitDriving(ctx, calmLimit); err != nil {
			return err
		}
	}
	if err := s.awaitCalm(ctx); err != nil {
		return err
	}
	return act(s)
}

// inTurns lets drivers drive one after another, so often each, in the order A B B
// A: so what grows in the cluster falls on either equally.
func (a *arena) inTurns(ctx context.Context, times int, drivers []driver, act func(number int, s *shift) error) error {
	number := 0
	for turn := range times {
		for place := range drivers {
			if turn%2 == 1 {
				place = len(drivers) - 1 - place
			}
			number++
			if err := a.drive(ctx, drivers[place], func(s *shift) error { return act(number, s) }); err != nil {
				return fmt.Errorf("with %s: %w", drivers[place].name, err)
			}
		}
	}
	return nil
}

// spending is CPU time in seconds.
type spending struct{ manager, engine float64 }

func (s spending) total() float64 { return s.manager + s.engine }

func (s spending) since(before spending) spending {
	return spending{s.manager - before.manager, s.engine - before.engine}
}

func (s spending) String() string {
	if s.engine == 0 {
		return fmt.Sprintf("%.2f CPU-s", s.manager)
	}
	return fmt.Sprintf("%.2f CPU-s (manager %.2f, engine %.2f)", s.total(), s.manager, s.engine)
}

// spent returns the CPU time that the driver's processes have used so far.
func (s *shift) spent() (used spending, err error) {
	if s.manager != nil {
		if used.manager, err = cpuSecondsOf(s.manager.PID()); err != nil {
			return used, errors.Join(err, s.manager.Running())
		}
	}
	if s.engine == nil {
		return used, nil
	}
	if used.engine, err = cpuSecondsOf(s.engine.PID()); err != nil {
		return used, errors.Join(err, s.engine.Running())
	}
	return used, nil
}

// awaitCalm returns when the driver's processes have nothing to do any more.
func (s *shift) awaitCalm(ctx context.Context) error {
	begun := time.Now()
	before, err := s.spent()
	for calm := 0; err == nil && calm < calmCount; {
		if time.Since(begun) > calmLimit {
			return fmt.Errorf("%s: still busy: %w", s.name, errTooLate)
		}
		if err := pause(ctx, calmWindow); err != nil {
			return err
		}
		var now spending
		if now, err = s.spent(); now.since(before).total() < calmCPU {
			calm++
		} else {
			calm = 0
		}
		before = now
	}
	return err
}
