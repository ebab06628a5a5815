package harness

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// The names of the components that tests kill and start.
const (
	APIServer         = "kube-apiserver"
	ControllerManager = "kube-controller-manager"
	Etcd              = "etcd"
	KWOK              = "kwok"
)

const (
	clusterStartLimit = 8 * time.Minute // 4 s on an idle machine
	clusterStopGrace  = 2 * time.Minute
	readyPrefix       = "the cluster is ready"

	// A cluster chooses free ports before its components listen at them. Where
	// several clusters start at once, two may choose the same.
	startAttempts = 3
	portTaken     = "address already in use"
)

// ClusterOptions say what cluster to start.
type ClusterOptions struct {
	// Directory holds the cluster's state; empty for a temporary one that Stop
	// removes.
	Directory string
	// Nodes is their number, the local cluster's default if 0.
	Nodes int
	// Arguments are further arguments of "localcluster up".
	Arguments []string
	// Echo receives what the local cluster prints, line by line; nil if it is not needed.
	Echo io.Writer
}

// Cluster is a running local cluster. Its methods may be used concurrently.
type Cluster struct {
	binary    string
	directory string
	temporary bool
	process   *process
	config    *rest.Config
	client    kubernetes.Interface
}

// StartCluster starts a local cluster and returns when all of it is ready. The
// cluster outlives ctx, which bounds only the start; end it with Stop.
func StartCluster(ctx context.Context, options ClusterOptions) (*Cluster, error) {
	binary, err := LocalClusterBinary()
	if err != nil {
		return nil, err
	}
	c := &Cluster{binary: binary, directory: options.Directory}
	if c.directory == "" {
		if c.directory, err = os.MkdirTemp("", "localcluster-"); err != nil {
			return nil, fmt.Errorf("make a directory for the cluster: %w", err)
		}
		c.temporary = true
	}
	err = c.start(ctx, options)
	for attempt := 1; err != nil && attempt < startAttempts && strings.Contains(err.Error(), portTaken); attempt++ {
		err = c.start(ctx, options)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("start the local cluster: %w", err), c.Stop())
	}
	return c, nil
}

func (c *Cluster) start(ctx context.Context, options ClusterOptions) error {
	arguments := []string{"up", "--dir", c.directory}
	if options.Nodes > 0 {
		arguments = append(arguments, fmt.Sprintf("--nodes=%d", options.Nodes))
	}
	if controlPlane := os.Getenv(ControlPlaneVariable); controlPlane != "" {
		arguments = append(arguments, "--control-plane="+controlPlane)
	}
	var err error
	c.process, err = startProcess(c.binary, append(arguments, options.Arguments...),
		processOptions{echo: options.Echo, onParentDeath: syscall.SIGTERM})
	if err != nil {
		return err
	}
	if err := awaitLine(ctx, clusterStartLimit, c.process, isReadyLine); err != nil {
		return err
	}
	if c.config, err = clientcmd.BuildConfigFromFlags("", c.Kubeconfig()); err != nil {
		return fmt.Errorf("read the cluster's kubeconfig: %w", err)
	}
	c.config.QPS = -1 // no limit
	if c.client, err = kubernetes.NewForConfig(c.config); err != nil {
		return fmt.Errorf("make a client of the cluster: %w", err)
	}
	return nil
}

func isReadyLine(line string) bool { return strings.HasPrefix(line, readyPrefix) }

// awaitLine returns when the process has written a line that matches; an error
// that carries the end of its output if it exits or takes too long.
func awaitLine(ctx context.Context, limit time.Duration, p *process, matches func(string) bool) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	go func() {
		select {
		case <-p.exited:
			end(p.running())
		case <-ctx.Done():
		}
	}()
	if _, err := p.output.AwaitLine(ctx, matches); err != nil {
		if exited := p.running(); exited != nil {
			return exited
		}
		return fmt.Errorf("%s is not ready: %w; the end of its output:\n%s", p.name, err, p.output.Tail(tailLines))
	}
	return nil
}

// Stop ends all components and, if the directory is a temporary one, removes it.
// It may be called again.
func (c *Cluster) Stop() error {
	var errs []error
	if c.process != nil {
		errs = append(errs, c.process.stop(clusterStopGrace))
	}
	if c.temporary {
		errs = append(errs, os.RemoveAll(c.directory))
	}
	return errors.Join(errs...)
}

// Exited is closed when the cluster has ended, by itself or by Stop.
func (c *Cluster) Exited() <-chan struct{} { return c.process.exited }

// Output is what the local cluster has printed; for the logs of its components see
// ComponentLog.
func (c *Cluster) Output() *Output { return c.process.output }

// ComponentLog reads what a component has logged so far.
func (c *Cluster) ComponentLog(component string) (string, error) {
	log, err := os.ReadFile(filepath.Join(c.directory, "logs", component+".log"))
	return string(log), err
}

// Directory holds the cluster's state, logs and kubeconfig.
func (c *Cluster) Directory() string { return c.directory }

// Kubeconfig is the path of the administrator's kubeconfig.
func (c *Cluster) Kubeconfig() string { return filepath.Join(c.directory, "kubeconfig") }

// Config returns a copy of the administrator's client configuration, without a
// limit on the rate of requests.
func (c *Cluster) Config() *rest.Config { return rest.CopyConfig(c.config) }

// Client is the administrator's, without a limit on the rate of requests.
func (c *Cluster) Client() kubernetes.Interface { return c.client }

// Kubectl runs the bundled kubectl as the administrator and returns what it
// printed on its standard output. The error carries its standard error.
func (c *Cluster) Kubectl(ctx context.Context, arguments ...string) (string, error) {
	return c.run(ctx, nil, append([]string{"kubectl", "--kubeconfig", c.Kubeconfig()}, arguments...)...)
}

// Apply applies manifests with the bundled kubectl as the administrator and
// returns what it printed.
func (c *Cluster) Apply(ctx context.Context, manifests []byte) (string, error) {
	return c.run(ctx, bytes.NewReader(manifests), "kubectl", "--kubeconfig", c.Kubeconfig(), "apply", "-f", "-")
}

// KillComponent kills a component with SIGKILL and returns when it is gone.
func (c *Cluster) KillComponent(ctx context.Context, component string) error {
	_, err := c.run(ctx, nil, "kill", "--dir", c.directory, component)
	return err
}

// StartComponent starts a killed component again and returns when it is ready.
func (c *Cluster) StartComponent(ctx context.Context, component string) error {
	_, err := c.run(ctx, nil, "start", "--dir", c.directory, component)
	return err
}

// ExitedComponents returns the components that have ended by themselves.
func (c *Cluster) ExitedComponents(ctx context.Context) (exited []string, err error) {
	status, err := c.run(ctx, nil, "status", "--dir", c.directory)
	if status == "" {
		return nil, err // otherwise the error just says that not all of them run
	}
	for line := range strings.Lines(status) {
		if fields := strings.Fields(line); len(fields) > 1 && fields[1] == "exited" {
			exited = append(exited, fields[0])
		}
	}
	return exited, nil
}

func (c *Cluster) run(ctx context.Context, input io.Reader, arguments ...string) (string, error) {
	command := exec.CommandContext(ctx, c.binary, arguments...)
	command.Stdin = input
	var output, complaint strings.Builder
	command.Stdout, command.Stderr = &output, &complaint
	if err := command.Run(); err != nil {
		return output.String(), fmt.Errorf("run localcluster %s: %w: %s",
			strings.Join(arguments, " "), err, strings.TrimSpace(complaint.String()))
	}
	return output.String(), nil
}
