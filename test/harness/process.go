package harness

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"
)

// tailLines is how much of a log an error carries.
const tailLines = 25

// pipeGrace is how long the output may stay open, in a child of the child, once
// the child has ended.
const pipeGrace = time.Second

// process is a child whose output is kept. It is in a process group of its own,
// so that a Ctrl-C in a terminal reaches only the parent, which then ends its
// children in order.
type process struct {
	name   string
	child  *os.Process
	output *Output

	exited chan struct{}
	state  *os.ProcessState // once exited is closed
}

type processOptions struct {
	environment []string  // in addition to the parent's
	echo        io.Writer // receives the output's lines as they come
	// onParentDeath is what the child gets when its parent is killed.
	onParentDeath syscall.Signal
}

func startProcess(path string, arguments []string, options processOptions) (*process, error) {
	p := &process{name: filepath.Base(path), output: newOutput(options.echo), exited: make(chan struct{})}
	command := exec.Command(path, arguments...)
	command.Env = append(os.Environ(), options.environment...)
	command.Stdout, command.Stderr = p.output, p.output
	command.WaitDelay = pipeGrace
	command.SysProcAttr = childAttributes(options.onParentDeath)

	started := make(chan error)
	go func() {
		// The kernel notifies a child of its parent's death when the thread that
		// forked it ends: this one stays until the child has gone.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := command.Start()
		p.child = command.Process
		started <- err
		if err == nil {
			_ = command.Wait() // its outcome is in the state
			p.state = command.ProcessState
			close(p.exited)
		}
	}()
	if err := <-started; err != nil {
		return nil, fmt.Errorf("start %s: %w", p.name, err)
	}
	return p, nil
}

// exitCode is that of the process once it has exited: -1 after a signal.
func (p *process) exitCode() int { return p.state.ExitCode() }

// running returns an error with the tail of the output once the process has exited.
func (p *process) running() error {
	select {
	case <-p.exited:
		return fmt.Errorf("%s ended (%s); the end of its output:\n%s", p.name, p.state, p.output.Tail(tailLines))
	default:
		return nil
	}
}

// wait returns when the process has exited, or the error of ctx.
func (p *process) wait(ctx context.Context) error {
	select {
	case <-p.exited:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("%s has not ended: %w", p.name, context.Cause(ctx))
	}
}

// stop asks the process to end and waits; after the grace it kills it and says so.
func (p *process) stop(grace time.Duration) error {
	if err := p.signal(syscall.SIGTERM); err != nil {
		return err
	}
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case <-p.exited:
		return nil
	case <-timer.C:
	}
	if err := p.kill(); err != nil {
		return err
	}
	return fmt.Errorf("%s did not end within %s of SIGTERM and was killed; the end of its output:\n%s",
		p.name, grace, p.output.Tail(tailLines))
}

// kill ends the process with SIGKILL and waits until it is gone.
func (p *process) kill() error {
	if err := p.signal(syscall.SIGKILL); err != nil {
		return err
	}
	<-p.exited
	return nil
}

// suspend keeps the process from running until resume is called. It then finds all at once what has happened meanwhile.
func (p *process) suspend() (resume func() error, err error) {
	return func() error { return p.signal(syscall.SIGCONT) }, p.signal(syscall.SIGSTOP)
}

func (p *process) signal(signal syscall.Signal) error {
	if err := p.child.Signal(signal); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("send %s to %s: %w", signal, p.name, err)
	}
	return nil
}

// runToEnd runs a program and returns its exit code and what it wrote.
func runToEnd(ctx context.Context, path string, arguments []string) (exitCode int, stdout, stderr string, err error) {
	command := exec.CommandContext(ctx, path, arguments...)
	var output, complaint strings.Builder
	command.Stdout, command.Stderr = &output, &complaint
	err = command.Run()
	var failed *exec.ExitError
	if errors.As(err, &failed) && ctx.Err() == nil {
		err = nil // the exit code says so
	}
	if err != nil {
		return 0, "", "", fmt.Errorf("run %s: %w", filepath.Base(path), err)
	}
	return command.ProcessState.ExitCode(), output.String(), complaint.String(), nil
}
