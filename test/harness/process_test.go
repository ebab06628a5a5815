package harness

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"syscall"
	"testing"
	"time"
)

func startShell(t *testing.T, script string, options processOptions) *process {
	t.Helper()
	p, err := startProcess("/bin/sh", []string{"-c", script}, options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.kill(); err != nil {
			t.Error(err)
		}
	})
	return p
}

func TestAProcessThatEndsLeavesItsExitCodeAndItsOutput(t *testing.T) {
	t.Parallel()
	var echo bytes.Buffer
	p := startShell(t, `echo one; echo two >&2; printf three; exit 7`, processOptions{echo: &echo})
	if err := p.wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	if code := p.exitCode(); code != 7 {
		t.Errorf("exit code %d, want 7", code)
	}
	if got, want := p.output.String(), "one\ntwo\nthree"; got != want {
		t.Errorf("output %q, want %q", got, want)
	}
	if got, want := echo.String(), "one\ntwo\n"; got != want {
		t.Errorf("echo %q, want the whole lines %q", got, want)
	}
	if err := p.running(); err == nil || !strings.Contains(err.Error(), "three") {
		t.Errorf("running returns %v, want an error with the end of the output", err)
	}
}

func TestStopAsksAndThenKills(t *testing.T) {
	t.Parallel()
	polite := startShell(t, `trap 'exit 0' TERM; echo up; while :; do sleep 0.05; done`, processOptions{})
	awaitUp(t, polite)
	if err := polite.stop(10 * time.Second); err != nil || polite.exitCode() != 0 {
		t.Errorf("stop: %v, exit code %d", err, polite.exitCode())
	}
	if err := polite.stop(time.Second); err != nil {
		t.Errorf("stop again: %v", err)
	}

	stubborn := startShell(t, `trap '' TERM; echo up; while :; do sleep 0.05; done`, processOptions{})
	awaitUp(t, stubborn)
	if err := stubborn.stop(200 * time.Millisecond); err == nil {
		t.Error("stop of a process that had to be killed returns no error")
	}
	if code := stubborn.exitCode(); code != -1 {
		t.Errorf("exit code %d, want -1 after SIGKILL", code)
	}
}

func awaitUp(t *testing.T, p *process) {
	t.Helper()
	if err := awaitLine(t.Context(), 10*time.Second, p, func(line string) bool { return line == "up" }); err != nil {
		t.Fatal(err)
	}
}

func TestAwaitLineEndsWithTheProcessAndWithTheLimit(t *testing.T) {
	t.Parallel()
	never := func(string) bool { return false }
	dead := startShell(t, `echo last words; exit 1`, processOptions{})
	if err := awaitLine(t.Context(), time.Minute, dead, never); err == nil || !strings.Contains(err.Error(), "last words") {
		t.Errorf("of a process that ended: %v", err)
	}
	slow := startShell(t, `echo working; sleep 60`, processOptions{})
	if err := awaitLine(t.Context(), 300*time.Millisecond, slow, never); err == nil || !strings.Contains(err.Error(), "not ready") {
		t.Errorf("of a process that takes too long: %v", err)
	}
}

func TestAProcessIsInAGroupOfItsOwn(t *testing.T) {
	t.Parallel()
	p := startShell(t, `echo up; sleep 60`, processOptions{})
	awaitUp(t, p)
	group, err := syscall.Getpgid(p.child.Pid)
	if err != nil || group != p.child.Pid {
		t.Errorf("group %d of process %d: %v", group, p.child.Pid, err)
	}
}

func TestEventually(t *testing.T) {
	t.Parallel()
	calls := 0
	if err := Eventually(t.Context(), time.Minute, func(context.Context) error {
		if calls++; calls < 3 {
			return errors.New("not yet")
		}
		return nil
	}); err != nil || calls != 3 {
		t.Errorf("%v after %d calls", err, calls)
	}

	unmet := errors.New("never")
	err := Eventually(t.Context(), 100*time.Millisecond, func(ctx context.Context) error {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return unmet
	})
	if !errors.Is(err, unmet) {
		t.Errorf("at the limit: %v, want what was not met", err)
	}

	hopeless := errors.New("hopeless")
	calls = 0
	err = Eventually(t.Context(), time.Minute, func(context.Context) error { calls++; return Final(hopeless) })
	if !errors.Is(err, hopeless) || calls != 1 {
		t.Errorf("of a final error: %v after %d calls", err, calls)
	}
}
