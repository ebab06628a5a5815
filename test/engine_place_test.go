package test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/yaml"

	"kubernetes-deployment-restart-controller/test/harness"
)

const engineOn = "--deployment-engine=on"

// enginePlace has one engine for the Deployments of all namespaces.
var enginePlace = sync.OnceValues(func() (*place, error) {
	p, err := openEnginePlace()
	if err != nil {
		return nil, err
	}
	p.controller, err = p.installation.StartController(context.Background(), "-r", "1", "-v", "1", engineOn)
	if err != nil {
		return nil, err
	}
	undo.Add(p.controller.Stop)
	return p, p.controller.AwaitDriving(context.Background(), waitLimit)
})

// enginePlaceApart has no controller that drives Deployments.
var enginePlaceApart = sync.OnceValues(openEnginePlace)

// openEnginePlace starts a cluster without Kubernetes' own deployment controller,
// whose API server keeps an audit log.
func openEnginePlace() (*place, error) {
	directory, err := os.MkdirTemp("", "audit-")
	if err != nil {
		return nil, fmt.Errorf("make a directory for the audit log: %w", err)
	}
	undo.Add(func() error { return os.RemoveAll(directory) })
	policy, log := filepath.Join(directory, "policy.yaml"), filepath.Join(directory, "audit.log")
	if err := os.WriteFile(policy, []byte(auditPolicy), 0o600); err != nil {
		return nil, fmt.Errorf("write the audit policy: %w", err)
	}
	p, err := openPlaceWithPermissions([]string{"rbac.yaml", "rbac-evict.yaml", "rbac-deployment-engine.yaml"},
		"--without-deployment-controller",
		"--kube-apiserver-flag=--audit-policy-file="+policy,
		"--kube-apiserver-flag=--audit-log-path="+log,
		// 15 s by default, which is a long time to wait.
		"--kube-controller-manager-flag=--horizontal-pod-autoscaler-sync-period=1s")
	if err != nil {
		return nil, err
	}
	p.hasEngine, p.auditLog = true, log
	return p, nil
}

// newEngineScene opens a namespace whose Deployments the shared engine drives.
func newEngineScene(t *testing.T) *scene {
	t.Helper()
	return openScene(t, enginePlace)
}

// newEngineSceneApart opens a namespace whose Deployments no controller drives yet; see
// [scene.startEngine].
func newEngineSceneApart(t *testing.T) *scene {
	t.Helper()
	return openScene(t, enginePlaceApart)
}

// newEngineSceneOfItsOwn opens a namespace in a cluster that only this test uses,
// and may break. Nobody drives Deployments there yet.
func newEngineSceneOfItsOwn(t *testing.T) *scene {
	t.Helper()
	return openSceneOfItsOwn(t, openEnginePlace)
}

// startEngine is startController with an engine for this namespace only, and returns
// when it drives.
func (s *scene) startEngine(flags ...string) *harness.Controller {
	s.Helper()
	engine := s.startController(append([]string{engineOn, "--controller-namespace", s.ownNamespace()}, flags...)...)
	s.must(engine.AwaitDriving(s.Context(), waitLimit))
	return engine
}

// ownNamespace returns a namespace for the probe of this scene's engines, so that it is
// not in the way of the engines of other scenes. It is that of the installation if the
// scene has one of its own.
func (s *scene) ownNamespace() string {
	s.Helper()
	if s.installation.Namespace != sharedHome {
		return s.installation.Namespace
	}
	own := s.namespace + "-own"
	if _, err := s.client.CoreV1().Namespaces().Get(s.Context(), own, metav1.GetOptions{}); err == nil {
		return own
	}
	s.makeNamespace(own)
	var manifests bytes.Buffer
	for _, object := range s.ownObjects("rbac.yaml", "rbac-deployment-engine.yaml") {
		object.SetNamespace(own)
		encoded, err := object.MarshalJSON()
		s.must(err)
		manifests.WriteString("---\n" + string(encoded) + "\n")
	}
	_, err := s.cluster.Apply(s.Context(), manifests.Bytes())
	s.must(err)
	return own
}

// sharedHome is the namespace of the installations that scenes share.
const sharedHome = "deployment-restart-controller"

// ownObjects reads what manifests have for the controller's own namespace, except for
// its account.
func (s *scene) ownObjects(manifests ...string) []*unstructured.Unstructured {
	s.Helper()
	content, err := harness.Manifests(manifests...)
	s.must(err)
	var own []*unstructured.Unstructured
	documents := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(content), 4096)
	for {
		object := &unstructured.Unstructured{}
		err := documents.Decode(object)
		if errors.Is(err, io.EOF) {
			return own
		}
		s.must(err)
		if object.GetNamespace() == sharedHome && object.GetKind() != "ServiceAccount" {
			own = append(own, object)
		}
	}
}

// probePermissions reads what a manifest of the engine allows in the controller's own
// namespace.
func (s *scene) probePermissions(manifest string) *rbacv1.Role {
	s.Helper()
	var role rbacv1.Role
	for _, object := range s.ownObjects(manifest) {
		if object.GetKind() == "Role" {
			s.must(runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &role))
		}
	}
	if len(role.Rules) == 0 {
		s.Fatalf("%s allows nothing in the controller's own namespace", manifest)
	}
	return &role
}

// actions is how many actions of a kind an engine has carried out, of all kinds if
// that is empty.
func (s *scene) actions(ctx context.Context, engine *harness.Controller, kind string) (float64, error) {
	labels := map[string]string{"action": kind}
	if kind == "" {
		labels = nil
	}
	return engine.Metric(ctx, "deployment_engine_actions_total", labels)
}

// awaitActions waits until an engine has carried out that many actions of a kind.
func (s *scene) awaitActions(engine *harness.Controller, kind string, atLeast float64) {
	s.Helper()
	s.eventually("the engine is at work", func(ctx context.Context) error {
		done, err := s.actions(ctx, engine, kind)
		if err == nil && done < atLeast {
			err = fmt.Errorf("%.0f actions of kind %q, want %.0f", done, kind, atLeast)
		}
		return err
	})
}

// requireNoErrors fails the test if the engine has logged an error.
func (s *scene) requireNoErrors(engine *harness.Controller) {
	s.Helper()
	for _, level := range []string{"level=ERROR", "level=WARN", "panic"} {
		if lines := engine.Log().Containing(level); len(lines) != 0 {
			s.Errorf("the engine complains: %q", lines)
		}
	}
}

// kubectl runs kubectl in the scene's namespace and returns what it printed.
func (s *scene) kubectl(arguments ...string) string {
	s.Helper()
	output, err := s.tryKubectl(s.Context(), arguments...)
	s.must(err)
	return output
}

// kubectlFails runs kubectl, which must end with exit code 1, and returns what it
// printed and what it complained of.
func (s *scene) kubectlFails(arguments ...string) (output, complaint string) {
	s.Helper()
	output, err := s.tryKubectl(s.Context(), arguments...)
	var failed interface{ ExitCode() int }
	switch {
	case err == nil:
		s.Fatalf("kubectl %v succeeds:\n%s", arguments, output)
	case !errors.As(err, &failed) || failed.ExitCode() != 1:
		s.Fatalf("kubectl %v does not end with exit code 1: %v", arguments, err)
	}
	return output, err.Error()
}

func (s *scene) tryKubectl(ctx context.Context, arguments ...string) (string, error) {
	return s.cluster.Kubectl(ctx, append([]string{"--namespace", s.namespace}, arguments...)...)
}

// background runs kubectl until it ends by itself. What it returns waits for that
// and returns what kubectl printed.
func (s *scene) background(arguments ...string) (join func() string) {
	s.Helper()
	type ending struct {
		output string
		err    error
	}
	ended := make(chan ending, 1)
	go func() {
		output, err := s.tryKubectl(s.Context(), arguments...)
		ended <- ending{output, err}
	}()
	return func() string {
		s.Helper()
		end := <-ended
		s.must(end.err)
		return end.output
	}
}
