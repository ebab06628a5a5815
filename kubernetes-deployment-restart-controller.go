// Kubernetes-deployment-restart-controller restarts the pods of Deployments,
// StatefulSets and DaemonSets when a ConfigMap or Secret that they use changes.
// See README.md.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"syscall"
	_ "time/tzdata" // users name time zones, and the image has no files that describe them

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"kubernetes-deployment-restart-controller/internal/election"
	"kubernetes-deployment-restart-controller/internal/logging"
	"kubernetes-deployment-restart-controller/internal/permissions"
	"kubernetes-deployment-restart-controller/internal/server"
	"kubernetes-deployment-restart-controller/internal/statuspage"
)

const (
	programName = "kubernetes-deployment-restart-controller"
	version     = "2.0.0"
)

// commit is set when the binary is built.
var commit = "unknown"

// How many connections there may be at the same time: from kubelets, Prometheus and other pods, and for the status page.
const (
	maxConnections     = 256
	maxPageConnections = 32
)

// The exit codes.
const (
	exitFailure = 1
	exitUsage   = 2
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// run is the program. It returns the exit code.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	o, err := parseOptions(args)
	var help errHelp
	switch {
	case errors.As(err, &help):
		fmt.Fprintln(stdout, help.text)
		return 0
	case err != nil:
		fmt.Fprintf(stderr, "%s: %v (see --help)\n", programName, err)
		return exitUsage
	case o.Version:
		fmt.Fprintf(stdout, "%s %s (commit %s, %s)\n", programName, version, commit, runtime.Version())
		return 0
	}
	config, err := apiConfig(o)
	if err != nil {
		fmt.Fprintf(stderr, "%s: %v\n", programName, err)
		return exitUsage
	}
	log := logging.New(o.LogFormat == "json", o.Verbose, stderr)
	if err := control(ctx, o, config, log); err != nil {
		log.Error("exiting", "error", err)
		return exitFailure
	}
	log.Info("stopped")
	return 0
}

// control runs the engines until the context ends or one of them has to give
// up.
func control(ctx context.Context, o *options, config *rest.Config, log *slog.Logger) error {
	log.Info("starting", "version", version, "commit", commit, "dry_run", o.DryRun, "leader_elect", o.LeaderElect, "deployment_engine", o.DeploymentEngine)
	all, err := newEngines(o, config, log)
	if err != nil {
		return err
	}
	candidate, err := o.newElection(config, log)
	if err != nil {
		return err
	}
	missing := &permissions.Missing{}
	stop, err := server.Serve(ctx, "metrics and health", o.ListenAddress, maxConnections, server.Endpoints(newRegistry(all, missing), candidate.Check, readiness(all, candidate, missing)), log)
	if err != nil {
		return err
	}
	defer stop()
	if o.StatusAddress != "" {
		stop, err := server.Serve(ctx, "the status page", o.StatusAddress, maxPageConnections, statuspage.New(statusOf(all, candidate, missing), log), log)
		if err != nil {
			return err
		}
		defer stop()
	}
	go missing.Check(ctx, config, neededPermissions(o, all), all.refused(), all.granted, log)
	return runEngines(ctx, o, candidate, all, log)
}

// runEngines keeps the engines' knowledge up to date all the time, and lets
// them act while this process leads.
func runEngines(ctx context.Context, o *options, candidate *election.Election, all engines, log *slog.Logger) error {
	watching, stop := context.WithCancel(ctx)
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		all.Watch(watching)
	}()
	defer func() {
		stop()
		<-watched
	}()
	lead := func(ctx context.Context) error {
		log.Info("leading")
		return all.Lead(ctx)
	}
	if candidate != nil {
		return candidate.Run(ctx, lead)
	}
	if o.LeaderElect {
		log.Info("a dry run takes no part in the leader election, acting as if elected")
	}
	return lead(ctx)
}

// apiConfig finds the API server: from the given kubeconfig or context,
// otherwise from the cluster that the program runs in, otherwise from the
// user's kubeconfig.
func apiConfig(o *options) (*rest.Config, error) {
	if o.Kubeconfig == "" && o.Context == "" {
		config, err := rest.InClusterConfig()
		if err == nil || !errors.Is(err, rest.ErrNotInCluster) {
			return named(config), err
		}
	}
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	if paths := filepath.SplitList(o.Kubeconfig); len(paths) > 1 {
		rules.Precedence = paths
	} else {
		rules.ExplicitPath = o.Kubeconfig
	}
	overrides := &clientcmd.ConfigOverrides{CurrentContext: o.Context}
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, overrides).ClientConfig()
	switch {
	case clientcmd.IsEmptyConfig(err): // the library recommends a variable that it does not read itself
		return nil, errors.New("find the API server: not running in a cluster, and no kubeconfig file names a cluster in its current context; name one with --kubeconfig or KUBECONFIG, or a context with --context")
	case err != nil && o.Kubeconfig != "":
		return nil, fmt.Errorf("find the API server by --kubeconfig or KUBECONFIG, which is %q: %w", o.Kubeconfig, err)
	case err != nil:
		return nil, fmt.Errorf("find the API server: %w", err)
	}
	return named(config), nil
}

// named sets the user agent, so that the API server's logs show which program
// sends a request.
func named(config *rest.Config) *rest.Config {
	if config != nil {
		config.UserAgent = programName + "/" + version
	}
	return config
}

// newRegistry returns the metrics of the engines and of the process.
func newRegistry(all engines, missing *permissions.Missing) *prometheus.Registry {
	buildInfo := prometheus.NewGauge(prometheus.GaugeOpts{
		Name:        "deployment_restart_controller_build_info",
		Help:        "The running version, always 1.",
		ConstLabels: prometheus.Labels{"version": version, "commit": commit, "go_version": runtime.Version()},
	})
	buildInfo.Set(1)
	registry := prometheus.NewRegistry()
	for _, e := range all {
		registry.MustRegister(e)
	}
	registry.MustRegister(buildInfo, missing,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return registry
}
