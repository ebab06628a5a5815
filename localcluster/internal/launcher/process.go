package launcher

import (
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"time"
)

// stopGrace is how long a component may take to end after SIGTERM.
const stopGrace = 5 * time.Second

// process is one run of a component. It may be used by several goroutines at once.
type process struct {
	cmd     *exec.Cmd
	started time.Time
	done    chan struct{} // closed when the process is gone and waited for
	err     error         // how it ended; valid once done is closed
}

// startProcess runs an executable, or this binary if it is empty, with the arguments. Its output is appended to the
// log file; the lock stays locked for as long as it lives.
func startProcess(executable string, arguments, environment []string, logFile string, lock *os.File) (*process, error) {
	if executable == "" {
		var err error
		if executable, err = os.Executable(); err != nil {
			return nil, fmt.Errorf("find own executable: %w", err)
		}
	}
	log, err := os.OpenFile(logFile, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open log: %w", err)
	}
	defer log.Close() // the process has its own

	cmd := exec.Command(executable, arguments...)
	cmd.Env = append(os.Environ(), parentVariable+"="+strconv.Itoa(os.Getpid()))
	cmd.Env = append(cmd.Env, environment...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.ExtraFiles = []*os.File{lock}
	// A process group of its own keeps the terminal's Ctrl-C away: `up` ends its components one after another.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	p := &process{cmd: cmd, started: time.Now(), done: make(chan struct{})}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start process: %w", err)
	}
	go func() {
		p.err = cmd.Wait()
		close(p.done)
	}()
	return p, nil
}

func (p *process) pid() int { return p.cmd.Process.Pid }

// kill ends the process at once and returns when it is gone.
func (p *process) kill() {
	_ = p.cmd.Process.Kill() // fails only if it is gone already
	<-p.done
}

// terminate asks the process to end, kills it if it does not within the grace period, and returns when it is gone.
func (p *process) terminate(grace time.Duration) {
	_ = p.cmd.Process.Signal(syscall.SIGTERM) // fails only if it is gone already
	select {
	case <-p.done:
	case <-time.After(grace):
		p.kill()
	}
}

// ending describes how a process ended.
func (p *process) ending() string {
	<-p.done
	if p.err == nil {
		return "exit status 0"
	}
	return p.err.Error()
}
