package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"kubernetes-deployment-restart-controller/test/harness"
)

// The manifests that say what the controller may do, in k8s-manifests/.
const (
	permissions       = "rbac.yaml"
	enginePermissions = "rbac-deployment-engine.yaml"
)

// driveDeployments makes the controller roll out Deployments.
const driveDeployments = "--deployment-engine=on"

// statusPage makes the controller show what is under way, at a free port.
const statusPage = "--status-address=127.0.0.1:0"

// stage is where the story plays: a cluster with the controller and the example.
type stage struct {
	limit      time.Duration // of a step
	root       string        // of the repository
	cluster    *harness.Cluster
	controller *harness.Controller
	cleanups   []func() error
}

// startCluster starts the local cluster, without Kubernetes' own deployment
// controller, in the directory, a temporary one if that is empty.
func (s *stage) startCluster(ctx context.Context, directory string, echo io.Writer) error {
	if _, err := harness.ControllerBinary(); err != nil {
		return err // better now than when the cluster is up
	}
	var err error
	if s.root, err = harness.RepositoryRoot(); err != nil {
		return err
	}
	s.cluster, err = harness.StartCluster(ctx, harness.ClusterOptions{
		Directory: directory,
		Arguments: []string{"--without-deployment-controller"},
		Echo:      echo,
	})
	if err != nil {
		return err
	}
	if directory != "" {
		s.cleanups = append(s.cleanups, func() error { return os.RemoveAll(directory) })
	}
	s.cleanups = append(s.cleanups, s.cluster.Stop)
	return nil
}

// startController gives the controller its permissions and starts it with both engines and
// the flags.
func (s *stage) startController(ctx context.Context, echo io.Writer, flags ...string) error {
	manifests, err := harness.Manifests(permissions, enginePermissions)
	if err != nil {
		return err
	}
	installation, err := s.cluster.Install(ctx, manifests)
	if err != nil {
		return err
	}
	s.controller, err = installation.LaunchController(ctx, echo, append([]string{driveDeployments}, flags...)...)
	if err != nil {
		return err
	}
	s.cleanups = append(s.cleanups, s.controller.Stop)
	if err := s.controller.AwaitReady(ctx, s.limit); err != nil {
		return err
	}
	return s.controller.AwaitDriving(ctx, s.limit)
}

// applyExample applies examples/web.yaml and returns what kubectl said.
func (s *stage) applyExample(ctx context.Context) (string, error) {
	return s.cluster.Kubectl(ctx, "apply", "-f", filepath.Join(s.root, "examples", "web.yaml"))
}

// alive is an error once the cluster or the controller has ended by itself.
func (s *stage) alive() error {
	select {
	case <-s.cluster.Exited():
		return fmt.Errorf("the local cluster ended by itself; the end of its output:\n%s", s.cluster.Output().Tail(20))
	default:
		return s.controller.Running()
	}
}

// clear ends everything, in the opposite order of its beginning.
func (s *stage) clear() error {
	var errs []error
	for _, cleanup := range slices.Backward(s.cleanups) {
		errs = append(errs, cleanup())
	}
	s.cleanups = nil
	return errors.Join(errs...)
}
