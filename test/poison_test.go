package test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/client-go/tools/clientcmd"

	"kubernetes-deployment-restart-controller/controller"
)

// poison is a log that panics when it is given a message about a workload. So that workload
// makes the controller panic where it logs the message, which no object is known to do by
// itself. The controller has to be in the process of the test for that.
type poison struct {
	slog.Handler
	messages map[string]string // by workload
	off      *atomic.Bool
}

func (p poison) Handle(ctx context.Context, record slog.Record) error {
	record.Attrs(func(attribute slog.Attr) bool {
		if message, found := p.messages[fmt.Sprint(attribute.Value.Any())]; found && message == record.Message && !p.off.Load() {
			panic("a canary of an object")
		}
		return true
	})
	return p.Handler.Handle(ctx, record)
}

// lockedText is a text that a test may read while others write.
type lockedText struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *lockedText) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(line)
}

func (l *lockedText) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// runInside runs a controller in the process of the test, for this namespace only.
func (s *scene) runInside(log slog.Handler) *controller.Controller {
	s.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", s.installation.Kubeconfig)
	s.must(err)
	c, err := controller.New(controller.Options{
		API: config, QPS: 100, Burst: 200, Namespaces: []string{s.namespace},
		GracePeriod: s.grace, CheckPeriod: 500 * time.Millisecond, Log: slog.New(log),
	})
	s.must(err)
	ctx, stop := context.WithCancel(s.Context())
	var group sync.WaitGroup
	group.Go(func() { c.Watch(ctx) })
	group.Go(func() { _ = c.Lead(ctx) }) // nil without --exit-on-error
	s.Cleanup(func() {
		stop()
		group.Wait()
	})
	return c
}

func TestAPoisonedObjectIsLeftAloneAndTheOthersContinue(t *testing.T) {
	s := newSceneApart(t)
	s.make(settings, set("used", "v1"))
	pod := podOf(envFrom(settings))
	names := []string{"good", "not-taken-in", "not-queued", "not-decided"}
	all := make(map[string]workload)
	run := func(name string) {
		all[name] = s.run(name, pod)
		s.awaitRollout(all[name])
	}
	for _, name := range []string{"good", "not-queued", "not-decided"} {
		run(name)
	}
	called := func(name string) string { return "deployment/" + s.namespace + "/" + name }
	log, off := &lockedText{}, &atomic.Bool{}
	c := s.runInside(poison{slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}), map[string]string{
		called("not-taken-in"): "workload changed", called("not-queued"): "change is due", called("not-decided"): "recorded",
	}, off})

	before := s.started(all["good"])
	run("not-taken-in") // what is in the first list is queued by itself
	for _, name := range names[1:] {
		s.awaitEvent(all[name], "InternalError", "")
	}
	s.eventually("the poisoned workloads have a line, and the controller is ready", func(context.Context) error {
		ready, detail := c.Ready()
		if want := fmt.Sprintf("[!] 3 objects left alone after an internal error: %s, %s, %s since ", called("not-decided"), called("not-queued"), called("not-taken-in")); !ready || !strings.Contains(detail, want) {
			return fmt.Errorf("ready: %t, want %q in\n%s", ready, want, detail)
		}
		return nil
	})
	s.edit(settings, set("used", "v2"))
	s.awaitRestart(all["good"], before)
	if text := log.String(); strings.Contains(text, "canary") || !strings.Contains(text, "poison_test.go") {
		t.Errorf("the log has content of an object, or does not show where it panicked:\n%s", text)
	}

	off.Store(true)
	for _, name := range names[1:] {
		s.annotate(all[name], "touched", "yes")
	}
	s.edit(settings, set("used", "v3"))
	for _, name := range names[1:] {
		s.await("is restarted when nothing is wrong any more", all[name], func(st state) error {
			if st.restartedAt() == "" {
				return errors.New("it is not")
			}
			return nil
		})
	}
	s.eventually("nothing is left alone", func(context.Context) error {
		if _, detail := c.Ready(); strings.Contains(detail, "[!]") {
			return errors.New(detail)
		}
		return nil
	})
}
