package controller

import (
	"log/slog"
	"slices"
	"time"

	"k8s.io/client-go/rest"

	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/optin"
	"kubernetes-deployment-restart-controller/controller/gatekeeper"
	"kubernetes-deployment-restart-controller/controller/kinds"
	"kubernetes-deployment-restart-controller/internal/apiclient"
	"kubernetes-deployment-restart-controller/internal/custom"
)

// eventRate limits the Events. They come in bursts with the patches that they report, and may
// be late so that they do not delay the patches.
var eventRate = apiclient.Rate{QPS: 50, Burst: 100}

// followRate limits the requests that follow restarts, apart from all others: they are many if many
// restarts go wrong, and must not hold up the next restarts.
var followRate = apiclient.Rate{QPS: 100, Burst: 200}

// Options configure what a controller works on and how.
type Options struct {
	// API is how to reach the API server. The controller sets its own rate limits.
	API *rest.Config
	// QPS and Burst limit the requests for workloads and pods. Events have a limit
	// of their own.
	QPS   float32
	Burst int
	// Namespaces are the namespaces to watch; empty means all.
	Namespaces []string
	// OptIns say which workloads count besides those that opt in themselves.
	OptIns optin.Rules
	// Configs are the kinds of configs to watch; empty means all. Configs of other kinds are
	// neither listed nor recorded, and their edits cause no restart.
	Configs []names.ConfigKind
	// CSI makes files that the Secrets Store CSI driver rotates count; see [content.CSIMount].
	CSI bool
	// Workloads are the kinds of workloads to watch besides those that are part of Kubernetes.
	Workloads []custom.Kind
	// OwnNamespace is where the key of the checksums of Secrets and the halts are kept; if it is
	// empty, each process makes its own key, and halts end with the process.
	OwnNamespace string
	// KeySecret is the name of the Secret in OwnNamespace that holds the key, and HaltsConfigMap
	// is the name of the ConfigMap that holds the halts.
	KeySecret, HaltsConfigMap string
	// GracePeriod is how long a change is held back. CheckPeriod is how long a due change can
	// be overlooked at most.
	GracePeriod, CheckPeriod time.Duration
	// BackoffLimit is the longest time between two restarts of a workload whose configs keep
	// changing; with 0 it restarts as often as they change.
	BackoffLimit time.Duration
	// RestartSoak is how long all pods must run after a restart until it counts as delivered, and
	// RestartDeadline is how long a rollout may make no progress until its restart counts as failed.
	RestartSoak, RestartDeadline time.Duration
	// Evict lets workloads restart by eviction that ask for it.
	Evict bool
	// FanOut determines how restarts that are due are held back.
	FanOut gatekeeper.FanOutOptions
	// DryRun reports what would be restarted, and writes nothing to workloads.
	DryRun bool
	// ExitOnError ends [Controller.Lead] at the first permanent failure whose error contains
	// none of IgnoredErrors.
	ExitOnError   bool
	IgnoredErrors []string
	// GarbagePercent is how much garbage may accumulate in the process, in percent of the
	// memory in use, once the first decisions are made; 0 changes nothing. Until then, much
	// data passes through memory; afterwards, little.
	GarbagePercent int
	Log            *slog.Logger
}

func (o *Options) watchesNamespace(namespace string) bool {
	return len(o.Namespaces) == 0 || slices.Contains(o.Namespaces, namespace)
}

// configKinds returns the kinds of configs to watch.
func (o *Options) configKinds() []*kinds.ConfigKind {
	return slices.DeleteFunc(slices.Clone(kinds.ConfigKinds), func(k *kinds.ConfigKind) bool {
		return len(o.Configs) > 0 && !slices.Contains(o.Configs, k.Config)
	})
}

// countingKinds returns the kinds of configs that count.
func (o *Options) countingKinds() []names.ConfigKind {
	var kinds []names.ConfigKind
	for _, k := range o.configKinds() {
		kinds = append(kinds, k.Config)
	}
	if o.CSI {
		kinds = append(kinds, names.SecretProviderClass)
	}
	return kinds
}

// watchesSecrets reports whether checksums of secret content are written somewhere, with a key.
func (o *Options) watchesSecrets() bool {
	return o.CSI || slices.ContainsFunc(o.configKinds(), func(k *kinds.ConfigKind) bool { return k.Config.IsSecret() })
}
