package objecttest

import (
	"kubernetes-deployment-restart-controller/catalog/annotation"
	"kubernetes-deployment-restart-controller/catalog/names"
)

// The annotations of other tools.
const (
	Auto              = "reloader.stakater.com/auto"
	ConfigMapAuto     = "configmap.reloader.stakater.com/auto"
	SecretAuto        = "secret.reloader.stakater.com/auto"
	ConfigMapNamed    = "configmap.reloader.stakater.com/reload"
	SecretNamed       = "secret.reloader.stakater.com/reload"
	ConfigMapExcluded = "configmaps.exclude.reloader.stakater.com/reload"
	SecretExcluded    = "secrets.exclude.reloader.stakater.com/reload"
	Search            = "reloader.stakater.com/search"
	PausePeriod       = "deployment.reloader.stakater.com/pause-period"
	WaveOptIn         = "wave.pusher.com/update-on-config-change"
	ReloaderPausedAt  = "deployment.reloader.stakater.com/paused-at"
	ReloaderLast      = "reloader.stakater.com/last-reloaded-from"
	WaveFinalizer     = "wave.pusher.com/finalizer"
	WaveDisabled      = "wave.pusher.com/scheduling-disabled"
	WaveHash          = "wave.pusher.com/config-hash"
	WaveConfigMaps    = "wave.pusher.com/extra-configmaps"
)

// Understood is what a workload says in its own annotations after those of other tools were understood.
type Understood struct {
	Choice             annotation.Choice
	Only, Ignore, Also string
	Grace, Problem     string
	Marked             names.Kinds
}

// Annotations are what people write.
type Annotations = map[string]string
