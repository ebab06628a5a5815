package test

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"kubernetes-deployment-restart-controller/test/harness"
)

// The names by which the controller and its users talk. They are written out here:
// a test that took them from the code would not notice a change.
const (
	enabledAnnotation   = "com.xing.deployment-restart"
	checksumsAnnotation = "com.xing.deployment-restart.applied-config-checksums"
	basisAnnotation     = "com.xing.deployment-restart.applied-config-basis"
	timestampAnnotation = "com.xing.deployment-restart.timestamp"
	causeAnnotation     = "com.xing.deployment-restart.cause"
	controllerName      = "kubernetes-deployment-restart-controller"
)

// waitLimit is far above what anything takes (seconds), for machines under load.
const waitLimit = 3 * time.Minute

// scene is one test's namespace and the controller that watches it.
type scene struct {
	*testing.T
	cluster      *harness.Cluster
	installation *harness.Installation
	controller   *harness.Controller // nil until one is started, in a scene apart
	shared       bool
	hasEngine    bool   // see [place]
	auditLog     string // see [scene.requests]
	client       kubernetes.Interface
	namespace    string
	grace        time.Duration // of the controller
	markerRound  int
	round        int                   // of edits that go on
	controllers  []*harness.Controller // by [scene.startController]
}

// newScene opens a namespace that the shared controller watches. The test runs in
// parallel with the others.
func newScene(t *testing.T) *scene {
	t.Helper()
	return openScene(t, sharedPlace)
}

// newSceneApart opens a namespace that no controller watches yet; see
// [scene.startController].
func newSceneApart(t *testing.T) *scene {
	t.Helper()
	return openScene(t, placeApart)
}

func openScene(t *testing.T, find func() (*place, error)) *scene {
	t.Helper()
	skipIfShort(t)
	t.Parallel()
	p, err := find()
	if err != nil {
		t.Fatal(err)
	}
	return enter(t, p)
}

// enter makes a namespace in the place for the test.
func enter(t *testing.T, p *place) *scene {
	t.Helper()
	return enterNamed(t, p, newNamespaceName(t.Name()))
}

// enterNamed is enter with a name for the namespace, which no other test may use.
func enterNamed(t *testing.T, p *place, namespace string) *scene {
	t.Helper()
	s := &scene{
		T: t, cluster: p.cluster, installation: p.installation, controller: p.controller, shared: p.controller != nil,
		hasEngine: p.hasEngine, auditLog: p.auditLog, client: p.cluster.Client(), namespace: namespace, grace: time.Second,
	}
	s.makeNamespace(s.namespace)
	t.Cleanup(s.reportFailure)
	s.placeMarker()
	return s
}

// again is [harness.Again] with a namespace and controllers of its own for each attempt.
func (s *scene) again(attempt func(*scene) (held bool)) {
	s.Helper()
	fresh := s
	harness.Again(s.T, func() bool {
		if attempt(fresh) {
			return true
		}
		for _, controller := range fresh.controllers {
			s.stopUnlessEnded(controller)
		}
		fresh = enter(s.T, &place{
			cluster: s.cluster, installation: s.installation, hasEngine: s.hasEngine, auditLog: s.auditLog,
		})
		return false
	})
}

func skipIfShort(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("end-to-end tests start a control plane: left out with -short")
	}
}

// minorVersion returns the minor version of the API server's Kubernetes 1.
func (s *scene) minorVersion() int {
	s.Helper()
	version, err := s.client.Discovery().ServerVersion()
	s.must(err)
	minor, err := strconv.Atoi(version.Minor)
	s.must(err)
	return minor
}

// skipBefore ends the test without a result on versions of Kubernetes before 1.minor, which lack something.
func (s *scene) skipBefore(minor int, what string) {
	s.Helper()
	if present := s.minorVersion(); present < minor {
		s.Skipf("Kubernetes 1.%d has no %s", present, what)
	}
}

var (
	namespaces    atomic.Int64
	notInANameRun = regexp.MustCompile(`[^a-z0-9]+`)
)

func newNamespaceName(test string) string {
	name := notInANameRun.ReplaceAllString(strings.ToLower(strings.TrimPrefix(test, "Test")), "-")
	return fmt.Sprintf("e2e-%d-%s", namespaces.Add(1), strings.Trim(name[:min(len(name), 45)], "-"))
}

// makeNamespace makes a namespace in which pods can be created.
func (s *scene) makeNamespace(name string) {
	s.Helper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
	_, err := s.client.CoreV1().Namespaces().Create(s.Context(), namespace, metav1.CreateOptions{})
	s.must(err)
	s.eventually("the namespace has its ServiceAccount", func(ctx context.Context) error {
		_, err := s.client.CoreV1().ServiceAccounts(name).Get(ctx, "default", metav1.GetOptions{})
		return err
	})
}

// startController starts a controller for this namespace only, with the scene's grace
// period, which is a second unless the test has set another. It is stopped with the test, and
// must then exit with 0.
func (s *scene) startController(flags ...string) *harness.Controller {
	s.Helper()
	return s.startControllerForAll(append([]string{"--namespace", s.namespace}, flags...)...)
}

// startControllerForAll is startController for all namespaces, unless the flags name some.
func (s *scene) startControllerForAll(flags ...string) *harness.Controller {
	s.Helper()
	arguments := []string{"-r", strconv.Itoa(int(s.grace.Seconds())), "-v", "1"}
	controller, err := s.installation.StartController(s.Context(), append(arguments, flags...)...)
	s.must(err)
	s.controller = controller
	s.controllers = append(s.controllers, controller)
	s.Cleanup(func() { s.stopUnlessEnded(controller) })
	return controller
}

// stopUnlessEnded stops a controller that the test has not ended.
func (s *scene) stopUnlessEnded(controller *harness.Controller) {
	s.Helper()
	select {
	case <-controller.Exited():
	default:
		if err := controller.Stop(); err != nil {
			s.Error(err)
		}
	}
}

// reportFailure logs what the controller did in the namespace of a failed test.
func (s *scene) reportFailure() {
	if !s.Failed() || s.controller == nil {
		return
	}
	lines := s.controller.Log().Containing(s.namespace)
	s.Logf("the controller's log about %s:\n%s", s.namespace, strings.Join(lines[max(0, len(lines)-60):], "\n"))
}

// must ends the test unless err is nil.
func (s *scene) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

// eventually ends the test unless the condition comes true in time.
func (s *scene) eventually(what string, condition func(context.Context) error) {
	s.Helper()
	if err := harness.Eventually(s.Context(), waitLimit, condition); err != nil {
		s.Fatalf("%s: %v", what, err)
	}
}

// metric reads a metric of the controller.
func (s *scene) metric(name string, labels map[string]string) float64 {
	s.Helper()
	value, err := s.controller.Metric(s.Context(), name, labels)
	s.must(err)
	return value
}
