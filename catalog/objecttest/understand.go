package objecttest

import (
	"kubernetes-deployment-restart-controller/catalog/annotation"
	"kubernetes-deployment-restart-controller/catalog/names"
)

const (
	Auto, ConfigMapAuto, SecretAuto   = "reloader.stakater.com/auto", "configmap.reloader.stakater.com/auto", "secret.reloader.stakater.com/auto"
	ConfigMapNamed, SecretNamed       = "configmap.reloader.stakater.com/reload", "secret.reloader.stakater.com/reload"
	ConfigMapExcluded, SecretExcluded = "configmaps.exclude.reloader.stakater.com/reload", "secrets.exclude.reloader.stakater.com/reload"
	Search                            = "reloader.stakater.com/search"
	PausePeriod                       = "deployment.reloader.stakater.com/pause-period"
	WaveOptIn, WaveConfigMaps         = "wave.pusher.com/update-on-config-change", "wave.pusher.com/extra-configmaps"
)

// Understood is what a workload says in its own annotations after those of other tools were understood.
type Understood struct {
	Choice             annotation.Choice
	Only, Ignore, Also string
	Grace, Problem     string
	Marked             names.Kinds
}

type Annotations = map[string]string
