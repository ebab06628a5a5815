package harness

import (
	"syscall"
	"time"
)

const componentStopGrace = time.Minute

// Component is a process of one of Kubernetes' programs that runs next to those of
// the cluster, such as a second controller manager with other controllers.
type Component struct{ process *process }

// StartBeside starts a component of the local cluster's binary with just these
// flags, and does not wait until it is ready. End it with Stop.
func (c *Cluster) StartBeside(component string, flags ...string) (*Component, error) {
	process, err := startProcess(c.binary, append([]string{component}, flags...), processOptions{onParentDeath: syscall.SIGKILL})
	if err != nil {
		return nil, err
	}
	return &Component{process}, nil
}

// Running returns nil, or an error with the end of the output once the process has
// ended.
func (c *Component) Running() error { return c.process.running() }

// Suspend is [Controller.Suspend].
func (c *Component) Suspend() (resume func() error, err error) { return c.process.suspend() }

// Stop ends the process with SIGTERM and waits for it.
func (c *Component) Stop() error { return c.process.stop(componentStopGrace) }

// Kill ends the process with SIGKILL, as if the machine had failed, and waits for
// it.
func (c *Component) Kill() error { return c.process.kill() }
