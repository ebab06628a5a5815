package main

import (
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jessevdk/go-flags"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/rest"

	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/optin"
	"kubernetes-deployment-restart-controller/catalog/policy"
	"kubernetes-deployment-restart-controller/controller/gatekeeper"
	"kubernetes-deployment-restart-controller/controller/window"
	"kubernetes-deployment-restart-controller/internal/custom"
	"kubernetes-deployment-restart-controller/internal/election"
	"kubernetes-deployment-restart-controller/internal/statuspage"
)

// options are the command line arguments, each with its environment variable.
type options struct {
	RestartCheckPeriod  milliseconds `short:"c" long:"restart-check-period" env:"RESTART_CHECK_PERIOD" default:"500" description:"Longest time for which a due restart can be overlooked; a number without a unit counts milliseconds"`
	RestartGracePeriod  duration     `short:"r" long:"restart-grace-period" env:"RESTART_GRACE_PERIOD" default:"5" description:"How long a change waits for further changes, so that they share one restart. A number without a unit counts seconds, as in all durations that follow"`
	RestartBackoffLimit duration     `long:"restart-backoff-limit" env:"RESTART_BACKOFF_LIMIT" default:"10m" description:"Longest time between two restarts of a workload whose configs keep changing; 0 restarts it whenever they change"`
	RestartSoak         duration     `long:"restart-soak" env:"RESTART_SOAK" default:"30s" description:"How long all pods must run after a restart until it counts as delivered"`
	RestartDeadline     duration     `long:"restart-deadline" env:"RESTART_DEADLINE" default:"10m" description:"How long the rollout after a restart may make no progress until the restart counts as failed. A longer progress deadline of a Deployment takes precedence"`
	FanOut              string       `long:"fan-out" env:"FAN_OUT" default:"all-at-once" choice:"gradual" choice:"all-at-once" description:"How a changed config restarts the workloads that read it: gradual restarts one first, and more as restarts are delivered; all-at-once restarts all as soon as they are due. An annotation of the config takes precedence"`
	FanOutLimit         int          `base:"10" long:"fan-out-limit" env:"FAN_OUT_LIMIT" default:"50" description:"How many restarts may be under way at the same time with --fan-out=gradual"`
	FanOutFailures      int          `base:"10" long:"fan-out-failures" env:"FAN_OUT_FAILURES" default:"0" description:"How many gradual restarts may fail for the same content of a config before no other workload is restarted for it"`
	FanOutGroups        list         `long:"fan-out-group" env:"FAN_OUT_GROUPS" description:"ConfigMaps with copies in many namespaces, such as 'configmap/*/ca-bundle'; the restarts of all their readers form one fan-out. Can be given several times or have several, separated by commas"`
	RestartWindow       string       `long:"restart-window" env:"RESTART_WINDOW" description:"When restarts may begin, unless an annotation of the workload or of the config says otherwise: a time zone, a cron expression and a duration, such as 'CRON_TZ=Europe/Berlin 0 22 * * 1-5 6h' (default: at any time)"`
	IgnoredErrors       []string     `long:"ignored-errors" env:"IGNORED_ERRORS" env-delim:";" description:"Text, can be given several times: an error that contains one of them only causes a warning. Useful for objects that cannot be updated for a known reason, such as a new admission policy. The environment variable splits on ; (semicolon)"`
	Verbose             int          `base:"10" short:"v" long:"verbose" env:"VERBOSE" default:"0" description:"Verbosity: 1 logs every change; 4 and above also log the client library's messages"`
	Version             bool         `long:"version" description:"Print version information and exit"`

	Kubeconfig    string  `long:"kubeconfig" env:"KUBECONFIG" description:"Path of a kubeconfig file (default: the service account in a cluster, else the user's kubeconfig)"`
	Context       string  `long:"context" env:"KUBE_CONTEXT" description:"Context of the kubeconfig to use (default: its current one)"`
	Namespaces    list    `long:"namespace" env:"WATCH_NAMESPACES" description:"Namespace to watch, can be given several times or be a list separated by commas (default: all)"`
	Configs       string  `long:"configs" env:"CONFIGS" default:"all" choice:"all" choice:"configmaps" choice:"secrets" description:"Kinds of configs whose changes restart workloads. The controller does not read the others and needs no permissions for them"`
	ListenAddress string  `long:"listen-address" env:"LISTEN_ADDRESS" default:"0.0.0.0:10254" description:"Address for /metrics, /healthz and /readyz; port 0 selects a free one"`
	StatusAddress string  `long:"status-address" env:"STATUS_ADDRESS" description:"Loopback address for the status page, such as 127.0.0.1:10255, to be reached with kubectl port-forward (default: no status page); port 0 selects a free one"`
	LogFormat     string  `long:"log-format" env:"LOG_FORMAT" default:"text" choice:"text" choice:"json" description:"Log format"`
	DryRun        bool    `long:"dry-run" env:"DRY_RUN" description:"Report in the log, in Events and in metrics what would be restarted and why, without writing to workloads or taking part in the leader election"`
	ExitOnError   bool    `long:"exit-on-error" env:"EXIT_ON_ERROR" description:"Exit if an update of a workload is forbidden, invalid, denied or without effect, instead of retrying"`
	KubeAPIQPS    float32 `long:"kube-api-qps" env:"KUBE_API_QPS" default:"300" description:"Requests per second to the API server, for each engine, apart from Events and watches"`
	KubeAPIBurst  int     `base:"10" long:"kube-api-burst" env:"KUBE_API_BURST" default:"600" description:"Burst of requests to the API server beyond that rate"`

	NamespaceAnnotations bool   `long:"namespace-annotations" env:"NAMESPACE_ANNOTATIONS" description:"Workloads without the annotation com.xing.deployment-restart follow that of their Namespace. Needs rbac-namespaces.yaml"`
	EnableByDefault      bool   `long:"enable-by-default" env:"ENABLE_BY_DEFAULT" description:"Workloads are enabled unless they or their Namespaces opt out; in namespaces whose names begin with kube- only if they opt in, or with --namespace. Includes --namespace-annotations"`
	NamespaceSelector    string `long:"namespace-selector" env:"NAMESPACE_SELECTOR" description:"Label selector: workloads count only in the Namespaces that it selects. Needs rbac-namespaces.yaml"`
	IgnoredNamespaces    list   `long:"ignore-namespace" env:"IGNORE_NAMESPACES" description:"Name or pattern, can be given several times or be a list separated by commas: in namespaces whose names it matches, such as 'preview-*', nothing counts"`

	Understood list `long:"understand" env:"UNDERSTAND" description:"Tool whose annotations count besides the controller's own: reloader or wave. Can be given several times or be a list separated by commas"`
	Workloads  list `long:"workload" env:"WORKLOADS" description:"Another kind of workload, can be given several times or be a list separated by commas: RESOURCE.VERSION.GROUP, such as rollouts.v1alpha1.argoproj.io, or RESOURCE.VERSION.GROUP=PATH if its pod template is not at .spec.template. Needs rbac-workloads.yaml"`

	CSI   bool `long:"csi" env:"CSI" description:"Restart workloads when the Secrets Store CSI driver has rotated files in their pods. Needs rbac-csi.yaml"`
	Evict bool `long:"evict" env:"EVICT" description:"Restart workloads with the annotation com.xing.deployment-restart.method: evict, and Deployments that have fallen back, pod by pod, through the Eviction API. Needs rbac-evict.yaml"`

	DeploymentEngine  string `long:"deployment-engine" env:"DEPLOYMENT_ENGINE" default:"off" choice:"on" choice:"standby" choice:"off" description:"Drive Deployments in place of kube-controller-manager's deployment controller (docs/engine.md explains how to turn that one off): on starts as soon as no other controller drives them, standby when the other controller falls silent"`
	DeploymentWorkers int    `base:"10" long:"deployment-workers" env:"DEPLOYMENT_WORKERS" default:"10" description:"How many Deployments the deployment engine works on at once"`

	ChecksumKeySecret   string `long:"checksum-key-secret" env:"CHECKSUM_KEY_SECRET" default:"kubernetes-deployment-restart-controller-checksum-key" description:"Name of the Secret, in the namespace of --controller-namespace, that holds the key of the recorded checksums of Secrets"`
	HaltsConfigMap      string `long:"halts-config-map" env:"HALTS_CONFIG_MAP" default:"kubernetes-deployment-restart-controller-halts" description:"Name of the ConfigMap, in the namespace of --controller-namespace, that holds the halts of fan-outs"`
	ControllerNamespace string `long:"controller-namespace" env:"CONTROLLER_NAMESPACE" description:"Namespace of the controller's own objects (default: the one that it runs in)"`

	LeaderElect              bool     `long:"leader-elect" env:"LEADER_ELECT" description:"Act only while holding a lease, so that several replicas can run"`
	LeaderElectLeaseName     string   `long:"leader-elect-lease-name" env:"LEADER_ELECT_LEASE_NAME" default:"kubernetes-deployment-restart-controller" description:"Name of the lease, in the namespace of --controller-namespace"`
	LeaderElectLeaseDuration duration `long:"leader-elect-lease-duration" env:"LEADER_ELECT_LEASE_DURATION" default:"15s" description:"How long a standby waits for a silent leader before it takes over"`
	LeaderElectRenewDeadline duration `long:"leader-elect-renew-deadline" env:"LEADER_ELECT_RENEW_DEADLINE" default:"10s" description:"How long a leader tries to renew its lease before it gives up"`
	LeaderElectRetryPeriod   duration `long:"leader-elect-retry-period" env:"LEADER_ELECT_RETRY_PERIOD" default:"2s" description:"Time between two attempts to get or renew the lease"`

	window    window.Window     // of RestartWindow
	groups    []names.ConfigRef // of FanOutGroups
	selector  labels.Selector   // of NamespaceSelector, nil if there is none
	workloads []custom.Kind     // of Workloads
}

// errHelp carries the help text that the user asked for.
type errHelp struct{ text string }

func (e errHelp) Error() string { return e.text }

// parseOptions reads the command line and the environment. An error other than errHelp
// describes in one line what is wrong.
func parseOptions(args []string) (*options, error) {
	var o options
	parser := flags.NewNamedParser(programName, flags.HelpFlag|flags.PassDoubleDash|flags.AllowBoolValues)
	if _, err := parser.AddGroup("Application Options", "", &o); err != nil {
		return nil, fmt.Errorf("define options: %w", err)
	}
	ignoreEmptyVariables(parser.Command.Group)
	rest, err := parser.ParseArgs(args)
	var flagsError *flags.Error
	switch {
	case errors.As(err, &flagsError) && flagsError.Type == flags.ErrHelp:
		return nil, errHelp{flagsError.Message}
	case flagsError != nil:
		return nil, plain(flagsError)
	case err != nil:
		return nil, err
	case len(rest) > 0:
		return nil, fmt.Errorf("unexpected argument %q", rest[0])
	}
	// An empty text would be in every error.
	o.IgnoredErrors = slices.DeleteFunc(o.IgnoredErrors, func(text string) bool { return text == "" })
	return &o, o.validate()
}

// ignoreEmptyVariables treats an environment variable without a value as not set. The
// library would treat it as a switch that is on.
func ignoreEmptyVariables(group *flags.Group) {
	for _, subgroup := range group.Groups() {
		ignoreEmptyVariables(subgroup)
	}
	for _, option := range group.Options() {
		if value, isSet := os.LookupEnv(option.EnvDefaultKey); isSet && value == "" {
			option.EnvDefaultKey = ""
		}
	}
}

// longestPeriod limits the periods. Nobody wants to wait longer.
const longestPeriod = 24 * time.Hour

func (o *options) validate() error {
	switch {
	case o.Version:
		return nil
	case o.Verbose < 0:
		return fmt.Errorf("--verbose must not be negative, but is %d", o.Verbose)
	case o.DeploymentWorkers < 1:
		return fmt.Errorf("--deployment-workers must be at least 1, not %d", o.DeploymentWorkers)
	case o.DryRun && o.drivesDeployments():
		return fmt.Errorf("--dry-run writes nothing to workloads, so it excludes --deployment-engine=%s", o.DeploymentEngine)
	}
	for _, check := range []func() error{o.validatePeriods, o.validateFanOut, o.validateRequests, o.validateNamespaces, o.validateOptIns, o.validateWorkloads, o.validateListenAddress, o.validateStatusAddress, o.takeOwnNamespace, o.validateOwnObjects, o.validateEngine, o.validateLeaderElection} {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

func (o *options) validatePeriods() error {
	for _, period := range []struct {
		option       string
		value, least time.Duration
	}{
		{"--restart-check-period", o.RestartCheckPeriod.Duration, time.Millisecond},
		{"--restart-grace-period", o.RestartGracePeriod.Duration, 0},
		{"--restart-backoff-limit", o.RestartBackoffLimit.Duration, 0},
		{"--restart-soak", o.RestartSoak.Duration, 0},
		{"--restart-deadline", o.RestartDeadline.Duration, time.Nanosecond},
	} {
		switch {
		case period.value > longestPeriod:
			return fmt.Errorf("%s must be at most %s, not %s", period.option, longestPeriod, period.value)
		case period.value < 0:
			return fmt.Errorf("%s must not be negative, but is %s", period.option, period.value)
		case period.value < period.least && period.least == time.Nanosecond:
			return fmt.Errorf("%s must be more than 0", period.option)
		case period.value < period.least:
			return fmt.Errorf("%s must be at least %s, not %s", period.option, period.least, period.value)
		}
	}
	return nil
}

// mostRestarts limits how many restarts may be under way, or fail. Nobody needs more.
const mostRestarts = 1_000_000

func (o *options) validateFanOut() error {
	switch {
	case o.FanOutLimit < 1 || o.FanOutLimit > mostRestarts:
		return fmt.Errorf("--fan-out-limit must be at least 1 and at most %d, not %d", mostRestarts, o.FanOutLimit)
	case o.FanOutFailures < 0 || o.FanOutFailures > mostRestarts:
		return fmt.Errorf("--fan-out-failures must not be negative and at most %d, but is %d", mostRestarts, o.FanOutFailures)
	}
	for _, text := range o.FanOutGroups {
		group, err := gatekeeper.ParseGroup(text)
		if err != nil {
			return fmt.Errorf("--fan-out-group: %w", err)
		}
		o.groups = append(o.groups, group)
	}
	if o.RestartWindow == "" {
		return nil
	}
	var err error
	if o.window, err = window.Parse(o.RestartWindow); err != nil {
		return fmt.Errorf("--restart-window: %w", err)
	}
	return nil
}

// fanOut returns how restarts that are due are held back.
func (o *options) fanOut() gatekeeper.FanOutOptions {
	return gatekeeper.FanOutOptions{
		Gradual: o.FanOut == string(policy.Gradual), Limit: o.FanOutLimit, Failures: o.FanOutFailures, Groups: o.groups, Window: o.window,
	}
}

func (o *options) validateRequests() error {
	switch {
	case !(o.KubeAPIQPS > 0 && o.KubeAPIQPS <= math.MaxInt32): // neither NaN nor infinite
		return fmt.Errorf("--kube-api-qps must be more than 0 and at most %d, not %v", math.MaxInt32, o.KubeAPIQPS)
	case o.KubeAPIBurst < 1:
		return fmt.Errorf("--kube-api-burst must be at least 1, not %d", o.KubeAPIBurst)
	}
	return nil
}

// configKinds returns the kinds that --configs selects; empty means all.
func (o *options) configKinds() []names.ConfigKind {
	return map[string][]names.ConfigKind{"configmaps": {names.ConfigMap}, "secrets": {names.Secret}}[o.Configs]
}

// The values of --deployment-engine.
const (
	engineStandby = "standby"
	engineOff     = "off"
)

// drivesDeployments reports whether the deployment engine runs.
func (o *options) drivesDeployments() bool { return o.DeploymentEngine != engineOff }

// validateOwnObjects checks the names, so that an invalid name does not look like a missing
// object.
func (o *options) validateOwnObjects() error {
	for _, object := range []struct{ option, name string }{
		{"--checksum-key-secret", o.ChecksumKeySecret},
		{"--halts-config-map", o.HaltsConfigMap},
		{"--leader-elect-lease-name", o.LeaderElectLeaseName},
	} {
		if problems := validation.IsDNS1123Subdomain(object.name); len(problems) > 0 {
			return fmt.Errorf("%s %q cannot be the name of an object", object.option, object.name)
		}
	}
	return nil
}

// validateEngine checks that the deployment engine has a place for its probe.
func (o *options) validateEngine() error {
	if o.drivesDeployments() && o.ControllerNamespace == "" {
		return fmt.Errorf("--deployment-engine=%s needs --controller-namespace outside a cluster", o.DeploymentEngine)
	}
	return nil
}

func (o *options) validateNamespaces() error {
	for _, namespace := range o.Namespaces {
		if problems := validation.IsDNS1123Label(namespace); len(problems) > 0 {
			return fmt.Errorf("--namespace %q cannot be the name of a namespace", namespace)
		}
	}
	slices.Sort(o.Namespaces)
	o.Namespaces = slices.Compact(o.Namespaces) // one watch per namespace
	return nil
}

// validateOptIns reads which workloads count.
func (o *options) validateOptIns() error {
	for _, pattern := range o.IgnoredNamespaces {
		if !canMatchNamespace(pattern) {
			return fmt.Errorf("--ignore-namespace %q can match no namespace; write names or patterns such as preview-*", pattern)
		}
	}
	for _, name := range o.Understood {
		if dialect := optin.Dialect(name); dialect != optin.Reloader && dialect != optin.Wave {
			return fmt.Errorf("--understand %q is not a tool whose annotations can count; write reloader or wave", name)
		}
	}
	if o.NamespaceSelector == "" {
		return nil
	}
	var err error
	if o.selector, err = labels.Parse(o.NamespaceSelector); err != nil {
		return fmt.Errorf("--namespace-selector %q is not a label selector such as restarts=enabled or tier in (web, api)", o.NamespaceSelector)
	}
	return nil
}

// validateWorkloads reads the kinds of workloads that are asked for.
func (o *options) validateWorkloads() error {
	var err error
	if o.workloads, err = custom.ParseKinds(o.Workloads); err != nil {
		return fmt.Errorf("--workload: %w", err)
	}
	return nil
}

// optIns returns which workloads count besides those that opt in themselves.
func (o *options) optIns() optin.Rules {
	return optin.Rules{
		ByNamespace: o.NamespaceAnnotations, ByDefault: o.EnableByDefault, Named: o.Namespaces,
		Selector: o.selector, Ignored: o.IgnoredNamespaces, Dialects: o.dialects(),
	}
}

// dialects returns the tools whose annotations count, each once.
func (o *options) dialects() []optin.Dialect {
	var dialects []optin.Dialect
	for _, name := range o.Understood {
		dialects = append(dialects, optin.Dialect(name))
	}
	slices.Sort(dialects)
	return slices.Compact(dialects)
}

func (o *options) validateListenAddress() error {
	if !isAddress(o.ListenAddress) {
		return fmt.Errorf("--listen-address must be host:port, such as 0.0.0.0:10254, not %q", o.ListenAddress)
	}
	return nil
}

// validateStatusAddress makes sure that nobody reaches the status page who may not forward a port of the pod.
func (o *options) validateStatusAddress() error {
	switch {
	case o.StatusAddress == "":
	case !isAddress(o.StatusAddress):
		return fmt.Errorf("--status-address must be host:port, such as 127.0.0.1:10255, not %q", o.StatusAddress)
	case !statuspage.IsLoopback(o.StatusAddress):
		return fmt.Errorf("--status-address must be a loopback address, such as 127.0.0.1:10255, not %q: use kubectl port-forward to reach it", o.StatusAddress)
	}
	return nil
}

func isAddress(text string) bool {
	_, port, err := net.SplitHostPort(text)
	if err == nil {
		_, err = strconv.ParseUint(port, 10, 16)
	}
	return err == nil
}

// elects reports whether this process takes part in the leader election. A dry run does
// not: if it held the lease, the process that does the work would stand by.
func (o *options) elects() bool { return o.LeaderElect && !o.DryRun }

// newElection returns this process's part in the leader election, nil if it takes part in none.
func (o *options) newElection(config *rest.Config, log *slog.Logger) (*election.Election, error) {
	if !o.elects() {
		return nil, nil
	}
	return election.New(config, election.Options{
		Namespace: o.ControllerNamespace, Name: o.LeaderElectLeaseName, LeaseDuration: o.LeaderElectLeaseDuration.Duration,
		RenewDeadline: o.LeaderElectRenewDeadline.Duration, RetryPeriod: o.LeaderElectRetryPeriod.Duration,
	}, log)
}

// validateLeaderElection checks the requirements of client-go's leader election.
func (o *options) validateLeaderElection() error {
	switch {
	case !o.elects():
		return nil
	case o.LeaderElectRetryPeriod.Duration <= 0:
		return fmt.Errorf("--leader-elect-retry-period must be more than 0, not %s", o.LeaderElectRetryPeriod.Duration)
	case float64(o.LeaderElectRenewDeadline.Duration) <= 1.2*float64(o.LeaderElectRetryPeriod.Duration):
		return fmt.Errorf("--leader-elect-renew-deadline (%s) must be more than 1.2 times --leader-elect-retry-period (%s)", o.LeaderElectRenewDeadline.Duration, o.LeaderElectRetryPeriod.Duration)
	case o.LeaderElectLeaseDuration.Duration <= o.LeaderElectRenewDeadline.Duration:
		return fmt.Errorf("--leader-elect-lease-duration (%s) must be more than --leader-elect-renew-deadline (%s)", o.LeaderElectLeaseDuration.Duration, o.LeaderElectRenewDeadline.Duration)
	case o.ControllerNamespace == "":
		return errors.New("--leader-elect needs --controller-namespace outside a cluster")
	}
	return nil
}

// serviceAccountNamespace is the file in which the kubelet gives a pod its namespace.
const serviceAccountNamespace = "/var/run/secrets/kubernetes.io/serviceaccount/namespace"

// takeOwnNamespace makes the controller keep its own objects in the namespace that it runs
// in, unless another namespace is given. Outside a cluster, there is no such namespace.
func (o *options) takeOwnNamespace() error {
	if o.ControllerNamespace == "" {
		if own, err := os.ReadFile(serviceAccountNamespace); err == nil {
			o.ControllerNamespace = strings.TrimSpace(string(own))
		}
		return nil
	}
	if problems := validation.IsDNS1123Label(o.ControllerNamespace); len(problems) > 0 {
		return fmt.Errorf("--controller-namespace %q cannot be the name of a namespace", o.ControllerNamespace)
	}
	return nil
}
