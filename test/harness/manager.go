package harness

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"k8s.io/client-go/rest"
)

const (
	managerStartLimit = 5 * time.Minute // 2 s on an idle machine
	managerStopGrace  = time.Minute

	controllersFlag = "--controllers="
)

// ManagerCommand is the command line of a cluster's controller manager, to start
// others like it with other controllers.
type ManagerCommand struct {
	binary    string
	arguments []string // without the flag that chooses the controllers
	healthz   string
	http      *http.Client
}

// RetireManager kills the cluster's controller manager and returns how it was
// started. It reads that from /proc, which only Linux has.
func (c *Cluster) RetireManager(ctx context.Context) (*ManagerCommand, error) {
	command, err := c.managerCommand(ctx)
	if err != nil {
		return nil, fmt.Errorf("read the command line of %s: %w", ControllerManager, err)
	}
	return command, c.KillComponent(ctx, ControllerManager)
}

func (c *Cluster) managerCommand(ctx context.Context) (*ManagerCommand, error) {
	status, err := c.run(ctx, nil, "status", "--dir", c.directory)
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(status) {
		fields := strings.Fields(line) // component, state, PID, address, since
		if len(fields) < 4 || fields[0] != ControllerManager {
			continue
		}
		line, err := os.ReadFile("/proc/" + fields[2] + "/cmdline")
		if err != nil {
			return nil, err
		}
		client, err := rest.HTTPClientFor(c.Config())
		if err != nil {
			return nil, err
		}
		arguments := strings.Split(strings.TrimSuffix(string(line), "\x00"), "\x00")
		isControllers := func(argument string) bool { return strings.HasPrefix(argument, controllersFlag) }
		return &ManagerCommand{
			binary:    c.binary,
			arguments: slices.DeleteFunc(arguments[1:], isControllers),
			healthz:   fields[3] + "/healthz",
			http:      client,
		}, nil
	}
	return nil, errors.New("the cluster has none")
}

// Manager is a running controller manager.
type Manager struct{ process *process }

// Start starts a controller manager and returns when it is healthy. Its argument
// is what its flag of that name takes, such as "*,-deployment-controller". Only
// one can run at a time. The process outlives ctx, which bounds only the start;
// end it with Stop.
func (m *ManagerCommand) Start(ctx context.Context, controllers string) (*Manager, error) {
	arguments := append(slices.Clone(m.arguments), controllersFlag+controllers)
	process, err := startProcess(m.binary, arguments, processOptions{onParentDeath: syscall.SIGKILL})
	if err != nil {
		return nil, err
	}
	started := &Manager{process}
	err = Eventually(ctx, managerStartLimit, func(ctx context.Context) error {
		if err := process.running(); err != nil {
			return Final(err)
		}
		return m.checkHealth(ctx)
	})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("start %s: %w", ControllerManager, err), process.kill())
	}
	return started, nil
}

func (m *ManagerCommand) checkHealth(ctx context.Context) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, m.healthz, nil)
	if err != nil {
		return Final(err)
	}
	response, err := m.http.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		return err
	}
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("/healthz answers %d: %s", response.StatusCode, answer)
	}
	return nil
}

// PID is the number of the process.
func (m *Manager) PID() int { return m.process.child.Pid }

// Running returns nil, or an error with the end of the log once the process has
// ended.
func (m *Manager) Running() error { return m.process.running() }

// Stop ends the process with SIGTERM and waits for it.
func (m *Manager) Stop() error { return m.process.stop(managerStopGrace) }
