package launcher

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"
)

// State is what a component of a cluster is doing.
type State string

// The states. Only StateRunning is what a user of the cluster wants to see.
const (
	StateWaiting  State = "waiting"  // its turn to start has not come
	StateStarting State = "starting" // it runs, but is not ready
	StateRunning  State = "running"  // it has been ready and runs
	StateKilled   State = "killed"   // by request; `start` brings it back
	StateExited   State = "exited"   // by itself; `start` brings it back
	StateStopped  State = "stopped"  // with the cluster
)

// Status describes a component at one moment.
type Status struct {
	Component string    `json:"component"`
	State     State     `json:"state"`
	PID       int       `json:"pid,omitempty"` // 0: no process
	Address   string    `json:"address"`
	Since     time.Time `json:"since"` // when it came into this state
	Log       string    `json:"log"`
}

// member is a component of a cluster: a command line that stays the same and at most one process that runs it.
// Its methods may be called by several goroutines at once.
type member struct {
	component   string
	address     string // a URL
	executable  string // empty: this binary
	arguments   []string
	environment []string
	log         string
	lock        *os.File
	prepare     func(context.Context) error // called before each start; nil if there is nothing to do
	ready       func(context.Context) error // one look: nil if it serves
	onExit      func(message string)        // called when it ends by itself after it was ready

	mu      sync.Mutex
	state   State
	since   time.Time
	process *process // the last one, nil if none was started
}

func (m *member) status() Status {
	m.mu.Lock()
	defer m.mu.Unlock()
	status := Status{Component: m.component, State: m.state, Address: m.address, Since: m.since, Log: m.log}
	if m.alive() {
		status.PID = m.process.pid()
	}
	return status
}

// start starts the component and waits until it serves. On an error no process of it is left.
func (m *member) start(ctx context.Context) error {
	p, err := m.spawn(ctx)
	if err != nil {
		return fmt.Errorf("start %s: %w", m.component, err)
	}
	if err := waitUntilReady(ctx, p, m.ready); err != nil {
		return m.explain(p, err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.process == p && m.state == StateStarting {
		m.enter(StateRunning)
		go m.watch(p)
	}
	return nil
}

func (m *member) spawn(ctx context.Context) (*process, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.alive() {
		return nil, fmt.Errorf("it runs already (process %d, %s)", m.process.pid(), m.state)
	}
	if m.state == StateStopped {
		return nil, fmt.Errorf("the cluster is stopping")
	}
	if m.prepare != nil {
		if err := m.prepare(ctx); err != nil {
			return nil, err
		}
	}
	p, err := startProcess(m.executable, m.arguments, m.environment, m.log, m.lock)
	if err != nil {
		return nil, err
	}
	m.process = p
	m.enter(StateStarting)
	return p, nil
}

// kill ends the component at once, as a crash would.
func (m *member) kill() error {
	m.mu.Lock()
	if !m.alive() {
		defer m.mu.Unlock()
		return fmt.Errorf("kill %s: it does not run (%s)", m.component, m.state)
	}
	p := m.process
	m.enter(StateKilled) // before the kill, so that nobody takes it for a crash
	m.mu.Unlock()
	p.kill()
	return nil
}

// stop ends the component for good.
func (m *member) stop() {
	m.mu.Lock()
	p := m.process
	m.enter(StateStopped)
	m.mu.Unlock()
	if p != nil {
		p.terminate(stopGrace)
	}
}

// watch waits for the end of a process that has been ready, and reports it if nobody asked for it.
func (m *member) watch(p *process) {
	<-p.done
	m.mu.Lock()
	unasked := m.process == p && m.state == StateRunning
	if unasked {
		m.enter(StateExited)
	}
	m.mu.Unlock()
	if unasked {
		m.onExit(fmt.Sprintf("%s ended by itself (%s); bring it back with `start %s`; the last lines of %s:\n%s",
			m.component, p.ending(), m.component, m.log, logTail(m.log)))
	}
}

// explain ends a process that did not become ready, if it has not ended already, and turns the reason into a message
// for the user.
func (m *member) explain(p *process, reason error) error {
	if !errors.Is(reason, errProcessEnded) {
		p.kill()
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.state != StateStarting || m.process != p {
		return fmt.Errorf("start %s: it was %s before it was ready", m.component, m.state)
	}
	m.enter(StateExited)
	if !errors.Is(reason, errProcessEnded) {
		return fmt.Errorf("start %s: %w; the last lines of %s:\n%s", m.component, reason, m.log, logTail(m.log))
	}
	return fmt.Errorf("start %s: it ended after %s (%s); the last lines of %s:\n%s",
		m.component, seconds(time.Since(p.started)), p.ending(), m.log, logTail(m.log))
}

// alive reports whether there is a process. The caller holds mu.
func (m *member) alive() bool {
	if m.process == nil {
		return false
	}
	select {
	case <-m.process.done:
		return false
	default:
		return true
	}
}

// enter changes the state. The caller holds mu.
func (m *member) enter(state State) {
	m.state, m.since = state, time.Now()
}

func seconds(d time.Duration) string {
	return fmt.Sprintf("%.1f s", d.Seconds())
}
