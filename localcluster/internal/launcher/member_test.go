package launcher

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestMain lets this test binary be a component of a cluster, as the real binary is one of several.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case "component-that-dies":
			fmt.Println("cannot live like this")
			os.Exit(3)
		case "component-that-serves":
			ExitWithParent()
			if err := os.WriteFile(os.Args[2], []byte(strconv.Itoa(os.Getpid())), 0o600); err != nil {
				panic(err)
			}
			select {}
		case "up-that-is-killed":
			lock, err := os.Open(os.DevNull)
			if err != nil {
				panic(err)
			}
			if _, err := startProcess("", []string{"component-that-serves", os.Args[2]}, nil, os.DevNull, lock); err != nil {
				panic(err)
			}
			select {}
		}
	}
	os.Exit(m.Run())
}

// newTestMember returns a member whose process serves once it has written the file "ready".
func newTestMember(t *testing.T, program string) (*member, chan string) {
	t.Helper()
	dir := t.TempDir()
	lock, err := os.Create(filepath.Join(dir, "lock"))
	if err != nil {
		t.Fatal(err)
	}
	ready := filepath.Join(dir, "ready")
	exits := make(chan string, 1)
	m := &member{
		component: "thing",
		arguments: []string{program, ready},
		log:       filepath.Join(dir, "thing.log"),
		lock:      lock,
		ready:     func(context.Context) error { _, err := os.Stat(ready); return err },
		onExit:    func(message string) { exits <- message },
		state:     StateWaiting,
	}
	m.prepare = func(context.Context) error { return os.RemoveAll(ready) }
	t.Cleanup(func() {
		m.stop()
		_ = lock.Close() // only a name for the processes to inherit
	})
	return m, exits
}

func TestAComponentThatDiesAtItsStartIsExplainedByItsLog(t *testing.T) {
	m, _ := newTestMember(t, "component-that-dies")
	err := m.start(t.Context())
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{"start thing: it ended after", "(exit status 3)", m.log, "\n    cannot live like this"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q lacks %q", err, want)
		}
	}
	if s := m.status(); s.State != StateExited || s.PID != 0 {
		t.Errorf("got %+v", s)
	}
}

func TestAComponentThatIsNeverReadyIsNotLeftBehind(t *testing.T) {
	m, _ := newTestMember(t, "component-that-serves")
	m.ready = func(context.Context) error { return errors.New("not yet") }
	ctx, cancel := context.WithTimeoutCause(t.Context(), 200*time.Millisecond, errors.New("no patience"))
	defer cancel()
	if err := m.start(ctx); err == nil {
		t.Error("no error")
	}
	if s := m.status(); s.State != StateExited || s.PID != 0 {
		t.Errorf("got %+v", s)
	}
}

func TestAComponentIsKilledAndStartedAgain(t *testing.T) {
	m, exits := newTestMember(t, "component-that-serves")
	if err := m.kill(); err == nil {
		t.Error("what does not run was killed")
	}
	if err := m.start(t.Context()); err != nil {
		t.Fatal(err)
	}
	first := m.status()
	if first.State != StateRunning || !exists(first.PID) {
		t.Errorf("after the start: %+v", first)
	}
	if err := m.start(t.Context()); err == nil || !strings.Contains(err.Error(), "runs already") {
		t.Errorf("a second start: %v", err)
	}
	if err := m.kill(); err != nil {
		t.Fatal(err)
	}
	if s := m.status(); s.State != StateKilled || s.PID != 0 || exists(first.PID) {
		t.Errorf("after the kill: %+v", s)
	}
	if err := m.start(t.Context()); err != nil {
		t.Fatal(err)
	}
	if s := m.status(); s.State != StateRunning || s.PID == first.PID {
		t.Errorf("after the second start: %+v", s)
	}
	m.stop()
	if err := m.start(t.Context()); err == nil || !strings.Contains(err.Error(), "stopping") {
		t.Errorf("a start after the stop: %v", err)
	}
	select {
	case message := <-exits:
		t.Errorf("a requested end was reported: %s", message)
	default:
	}
}

func TestAComponentThatEndsByItselfIsReported(t *testing.T) {
	m, exits := newTestMember(t, "component-that-serves")
	if err := m.start(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(m.status().PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	select {
	case message := <-exits:
		if !strings.Contains(message, "thing ended by itself (signal: killed)") || !strings.Contains(message, m.log) {
			t.Errorf("got %q", message)
		}
	case <-time.After(time.Minute):
		t.Fatal("no report")
	}
	if s := m.status(); s.State != StateExited {
		t.Errorf("got %+v", s)
	}
}

func TestNoComponentOutlivesAKilledLauncher(t *testing.T) {
	pidFile := filepath.Join(t.TempDir(), "pid")
	lock, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	up, err := startProcess("", []string{"up-that-is-killed", pidFile}, nil, os.DevNull, lock)
	if err != nil {
		t.Fatal(err)
	}
	defer up.kill()
	var component int
	eventually(t, "the component starts", func() bool {
		content, _ := os.ReadFile(pidFile)
		component, err = strconv.Atoi(string(content))
		return err == nil
	})
	up.kill()
	eventually(t, "the component ends", func() bool { return !exists(component) })
}

func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	deadline := time.Now().Add(2 * time.Minute)
	for !holds() {
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain until %s", what)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// exists reports whether a process runs; one that ended and waits for its parent to notice does not.
func exists(pid int) bool {
	if syscall.Kill(pid, 0) != nil {
		return false
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err != nil || !strings.Contains(string(stat), ") Z ")
}
