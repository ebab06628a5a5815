package parity

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"kubernetes-deployment-restart-controller/test/harness"
)

const (
	// waitLimit is far above what anything takes (seconds), for machines under load.
	waitLimit = 5 * time.Minute

	// quietTime is how long nothing may change before a side is at rest. Whatever
	// follows from a write follows within milliseconds, or a little later on a busy
	// machine; what comes later by a clock (a deadline, minReadySeconds) a scenario
	// awaits.
	quietTime = time.Second

	// patience is for how long both sides may be at rest and differ: Events take
	// their time, and the original tries again what has failed at a rate that all its
	// Deployments share, and that those which cannot be helped use up.
	patience = time.Minute
)

// side is one of the two clusters.
type side struct {
	name    string
	cluster *harness.Cluster
	client  kubernetes.Interface
	mirror  *mirror
	engine  *harness.Controller // nil where the original runs
}

// scene is one scenario's namespace on both sides.
type scene struct {
	*testing.T
	sides       []*side // the oracle's and the subject's, or just one
	namespace   string
	adaptations []adaptation
	checkpoints int
	restless    bool
}

// adaptation changes snapshots before they are compared.
type adaptation struct {
	why        string
	oracleOnly bool
	change     func(*snapshot)
}

// openScene makes a namespace on both sides. The scene runs in parallel with others.
func openScene(t *testing.T) *scene {
	t.Helper()
	skipIfShort(t)
	t.Parallel()
	both, err := sides()
	if err != nil {
		t.Fatal(err)
	}
	return openSceneOn(t, both[:]...)
}

func skipIfShort(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("the comparison starts control planes: left out with -short")
	}
}

func openSceneOn(t *testing.T, sides ...*side) *scene {
	t.Helper()
	s := &scene{T: t, sides: sides, namespace: newNamespaceName(t.Name())}
	t.Cleanup(s.reportFailure)
	s.both("make the namespace", func(ctx context.Context, on *side) error { return on.makeNamespace(ctx, s.namespace) })
	return s
}

var (
	namespaces    atomic.Int64
	notInANameRun = regexp.MustCompile(`[^a-z0-9]+`)
)

func newNamespaceName(test string) string {
	name := test[strings.LastIndexByte(test, '/')+1:]
	name = notInANameRun.ReplaceAllString(strings.ToLower(name), "-")
	return fmt.Sprintf("p%d-%s", namespaces.Add(1), strings.Trim(name[:min(len(name), 45)], "-"))
}

// makeNamespace makes a namespace in which pods can be created.
func (s *side) makeNamespace(ctx context.Context, name string) error {
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if _, err := s.client.CoreV1().Namespaces().Create(ctx, namespace, metav1.CreateOptions{}); err != nil {
		return err
	}
	return harness.Eventually(ctx, waitLimit, func(ctx context.Context) error {
		_, err := s.client.CoreV1().ServiceAccounts(name).Get(ctx, "default", metav1.GetOptions{})
		return err
	})
}

// both takes a step on both sides at the same time and returns when the mirrors
// show its effect. It ends the scenario if the step fails.
func (s *scene) both(what string, step func(ctx context.Context, on *side) error) {
	s.Helper()
	errs := make([]error, len(s.sides))
	var running sync.WaitGroup
	for i, on := range s.sides {
		running.Go(func() {
			err := step(s.Context(), on)
			if err == nil {
				err = on.catchUp(s.Context(), s.namespace)
			}
			if err != nil {
				errs[i] = fmt.Errorf("on the side of %s: %w", on.name, err)
			}
		})
	}
	running.Wait()
	if err := errors.Join(errs...); err != nil {
		s.Fatalf("%s: %v", what, err)
	}
}

// await returns when the condition holds on both sides.
func (s *scene) await(what string, condition func(*view) error) {
	s.Helper()
	for _, on := range s.sides {
		err := harness.Eventually(s.Context(), waitLimit, func(context.Context) error {
			return condition(on.mirror.view(s.namespace))
		})
		if err != nil {
			s.Fatalf("%s, on the side of %s: %v\n%s", what, on.name, err, s.snapshot(on))
		}
	}
}

// checkpoint waits until both sides are at rest and show the same.
func (s *scene) checkpoint(name string) {
	s.Helper()
	s.checkpoints++
	var differing time.Time // since when both are at rest and differ
	err := harness.Eventually(s.Context(), waitLimit, func(context.Context) error {
		if err := s.atRest(); err != nil {
			return err
		}
		difference := s.difference()
		if difference == "" {
			return nil
		}
		if differing.IsZero() {
			differing = time.Now()
		}
		err := fmt.Errorf("the sides differ (- %s, + %s):\n%s", s.sides[0].name, s.sides[1].name, difference)
		if time.Since(differing) > patience {
			return harness.Final(err)
		}
		return err
	})
	if err != nil {
		s.Fatalf("checkpoint %d, %s: %v%s", s.checkpoints, name, err, s.reasons())
	}
}

// atRest returns nil if nothing has changed for a while, on no side.
func (s *scene) atRest() error {
	for _, on := range s.sides {
		if quiet := on.mirror.quietFor(s.namespace); quiet < quietTime {
			return fmt.Errorf("on the side of %s something changed %s ago", on.name, quiet)
		}
	}
	return nil
}

// difference compares what the sides show; a single one does not differ.
func (s *scene) difference() string {
	if len(s.sides) == 1 {
		return ""
	}
	oracle, subject := s.snapshot(s.sides[0]), s.snapshot(s.sides[1])
	for _, a := range s.adaptations {
		a.change(oracle)
		if !a.oracleOnly {
			a.change(subject)
		}
	}
	return differenceOf(oracle, subject)
}

// snapshot is what a side shows, without what can never be the same.
func (s *scene) snapshot(on *side) *snapshot { return newSnapshot(on.mirror.view(s.namespace)) }

// ignore leaves out of every further comparison what is not determined.
func (s *scene) ignore(why string, change func(*snapshot)) {
	s.adaptations = append(s.adaptations, adaptation{why: why, change: change})
}

// meant changes what the oracle shows into what the engine is to show instead, for
// every further comparison.
func (s *scene) meant(why string, change func(*snapshot)) {
	if !*self {
		s.adaptations = append(s.adaptations, adaptation{why: why, oracleOnly: true, change: change})
	}
}

func (s *scene) reasons() string {
	var text strings.Builder
	for _, a := range s.adaptations {
		if a.oracleOnly {
			fmt.Fprintf(&text, "\nmeant to differ: %s", a.why)
		} else {
			fmt.Fprintf(&text, "\nnot compared: %s", a.why)
		}
	}
	return text.String()
}

// reportFailure logs what the engine did in the namespace of a failed scenario.
func (s *scene) reportFailure() {
	if !s.Failed() {
		return
	}
	for _, on := range s.sides {
		if on.engine != nil {
			s.reportEngine(on.engine)
		}
	}
}

func (s *scene) reportEngine(engine *harness.Controller) {
	lines := engine.Log().Containing(s.namespace)
	s.Logf("the engine's log about %s:\n%s", s.namespace, strings.Join(lines[max(0, len(lines)-25):], "\n"))
}
