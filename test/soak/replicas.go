package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"kubernetes-deployment-restart-controller/test/harness"
)

// replicas are two controllers, one of which leads. Like a kubelet they start one
// again that has ended.
type replicas struct {
	installation *harness.Installation
	flags        []string
	judge        *judge

	mu       sync.Mutex
	running  [2]*harness.Controller
	ever     []*harness.Controller // those that have ended, too, for their logs
	lost     int                   // ended by themselves since they lost the lease
	crashes  []string
	stopping bool
}

const (
	startLimit = 3 * time.Minute
	// exitLeaseLost is the exit code of a leader that could not renew its lease.
	exitLeaseLost = 1
	// leaseLost is what its log says then; it may give up for other reasons.
	leaseLost = "the lease is lost"
)

func (r *replicas) start(ctx context.Context) error {
	for i := range r.running {
		if err := r.launch(ctx, i); err != nil {
			return err
		}
	}
	for _, c := range r.all() {
		if err := c.AwaitReady(ctx, startLimit); err != nil {
			return err
		}
	}
	return nil
}

// launch starts a controller, and another one in its place if it ends by itself.
func (r *replicas) launch(ctx context.Context, i int) error {
	controller, err := r.installation.LaunchController(ctx, nil, r.flags...)
	if err != nil {
		return fmt.Errorf("start a controller: %w", err)
	}
	r.mu.Lock()
	r.running[i] = controller
	r.ever = append(r.ever, controller)
	late := r.stopping
	r.mu.Unlock()
	r.judge.note(fmt.Sprintf("controller %d starts", controller.PID())) // the log names it in the same way
	if late {
		return controller.Stop()
	}
	go func() {
		select {
		case <-controller.Exited():
			r.ended(ctx, i, controller)
		case <-ctx.Done():
		}
	}()
	return nil
}

func (r *replicas) ended(ctx context.Context, i int, controller *harness.Controller) {
	r.mu.Lock()
	if r.stopping || r.running[i] != controller {
		r.mu.Unlock()
		return
	}
	switch code := controller.ExitCode(); code {
	case -1: // killed
	case exitLeaseLost:
		if len(controller.Log().Containing(leaseLost)) == 0 {
			r.crashes = append(r.crashes, fmt.Sprintf("a controller gave up: %v", controller.Running()))
			break
		}
		r.lost++
		r.judge.note(fmt.Sprintf("controller %d has lost its lease", controller.PID()))
	default:
		r.crashes = append(r.crashes, fmt.Sprintf("a controller ended with exit code %d: %v", code, controller.Running()))
	}
	r.mu.Unlock()
	if err := r.launch(ctx, i); err != nil && ctx.Err() == nil {
		r.mu.Lock()
		r.crashes = append(r.crashes, err.Error())
		r.mu.Unlock()
	}
}

func (r *replicas) all() []*harness.Controller {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.running[:])
}

// addresses returns where the controllers that run serve their metrics.
func (r *replicas) addresses() (addresses []string) {
	for _, c := range r.all() {
		if c.Running() == nil {
			addresses = append(addresses, c.Address())
		}
	}
	return addresses
}

// logs returns what all controllers have logged about something.
func (r *replicas) logs(about string) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var lines []string
	for _, c := range r.ever {
		for _, line := range c.Log().Containing(about) {
			lines = append(lines, fmt.Sprintf("  [%d] %s\n", c.PID(), line))
		}
	}
	return strings.Join(lines, "")
}

// countLogs counts the lines of all logs that contain a text.
func (r *replicas) countLogs(text string) (count int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range r.ever {
		count += len(c.Log().Containing(text))
	}
	return count
}

// stop ends the controllers in good order.
func (r *replicas) stop() error {
	r.mu.Lock()
	r.stopping = true
	r.mu.Unlock()
	var errs []error
	for _, c := range r.all() {
		if c != nil && c.Running() == nil {
			errs = append(errs, c.Stop())
		}
	}
	return errors.Join(errs...)
}

// leader returns the controller that leads.
func (r *replicas) leader(ctx context.Context) (*harness.Controller, error) {
	for _, c := range r.all() {
		if leads, err := c.Metric(ctx, "leader", nil); err == nil && leads == 1 {
			return c, nil
		}
	}
	return nil, errors.New("no controller leads")
}

// saboteur kills what is needed, and starts it again.
type saboteur struct {
	cluster  *harness.Cluster
	replicas *replicas
	judge    *judge
	random   *rand.Rand
	// sparing is from when on controllers are not killed any more, so that what they
	// leak can grow.
	sparing time.Time

	mu    sync.Mutex
	kills map[string]int

	repair sync.Mutex // of the cluster's components, one at a time
	truce  sync.Mutex // held while something is killed and while nothing may be
	// remembering is until when no controller is killed, since nobody else may know what it knows.
	remembering time.Time
}

// work kills something every few seconds until the context ends, and leaves nothing
// dead behind.
func (s *saboteur) work(ctx context.Context, every time.Duration) error {
	for pause(ctx, s.next(every)); ctx.Err() == nil; pause(ctx, s.next(every)) {
		if err := s.strikeUnlessOver(ctx); err != nil {
			return err
		}
	}
	return nil
}

// strikeUnlessOver waits for the end of a truce. Then it may be too late.
func (s *saboteur) strikeUnlessOver(ctx context.Context) error {
	s.truce.Lock()
	defer s.truce.Unlock()
	if ctx.Err() != nil {
		return nil
	}
	return s.strike(context.WithoutCancel(ctx)) // what is begun is brought to its end
}

func (s *saboteur) next(every time.Duration) time.Duration {
	return every/2 + time.Duration(s.random.Float64()*float64(every))
}

func (s *saboteur) strike(ctx context.Context) error {
	away := time.Duration(s.random.Float64() * float64(3*time.Second))
	dice := s.random.IntN(10)
	if now := time.Now(); now.After(s.sparing) || now.Before(s.remembering) {
		dice = 7 + dice%3
	}
	switch {
	case dice < 4:
		if leader, err := s.replicas.leader(ctx); err == nil { // otherwise there is no leader to kill
			return s.kill("leader", leader.Kill)
		}
		return nil
	case dice < 6:
		controller := s.replicas.all()[s.random.IntN(2)]
		return s.kill("a controller", controller.Kill)
	case dice < 7:
		return s.kill("both controllers", func() error {
			all := s.replicas.all()
			return errors.Join(all[0].Kill(), all[1].Kill())
		})
	case dice < 9:
		return s.kill(harness.APIServer, func() error { return s.replace(ctx, harness.APIServer, away) })
	default:
		return s.kill(harness.Etcd, func() error { return s.replace(ctx, harness.Etcd, away) })
	}
}

func (s *saboteur) kill(what string, how func() error) error {
	s.mu.Lock()
	s.kills[what]++
	s.mu.Unlock()
	s.judge.note(what + " is killed")
	if err := how(); err != nil {
		return fmt.Errorf("kill %s: %w", what, err)
	}
	return nil
}

// keepUp starts components of the cluster again that end by themselves, as a kubelet
// would, until the context ends. The scheduler does so where it finds that it has lost
// track, after kills of the API server.
func (s *saboteur) keepUp(ctx context.Context) {
	for ; ctx.Err() == nil; pause(ctx, 2*time.Second) {
		s.startExited(ctx)
	}
}

func (s *saboteur) startExited(ctx context.Context) {
	s.repair.Lock()
	defer s.repair.Unlock()
	exited, err := s.cluster.ExitedComponents(ctx)
	if err != nil && ctx.Err() == nil {
		s.judge.note(err.Error())
	}
	for _, component := range exited {
		s.judge.note(component + " has ended by itself and is started again")
		if err := s.cluster.StartComponent(ctx, component); err != nil && ctx.Err() == nil {
			s.judge.note(err.Error())
		}
	}
}

func (s *saboteur) replace(ctx context.Context, component string, after time.Duration) error {
	s.repair.Lock()
	defer s.repair.Unlock()
	begin := time.Now()
	if err := s.cluster.KillComponent(ctx, component); err != nil {
		s.judge.note(err.Error()) // it may have ended by itself; else it cannot be started now
	}
	pause(ctx, after)
	// On a busy machine, a start can take longer than the cluster waits for it.
	start := func(ctx context.Context) error { return s.cluster.StartComponent(ctx, component) }
	if err := harness.Eventually(ctx, setUpLimit, start); err != nil {
		return err
	}
	s.judge.note(component + " is back")
	s.judge.away(begin, time.Now().Add(leaseDuration))
	return nil
}
