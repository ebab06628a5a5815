package catalog

// prefix begins the names of all annotations that people and the controller use: a domain, and the product.
const (
	product = "deployment-restart"
	prefix  = "com.xing." + product
)

// The annotations that people write; see [places] for the objects on which they count.
const (
	// EnabledAnnotation opts a workload, or those of a Namespace, in if its value is [Enabled].
	EnabledAnnotation = prefix
	Enabled           = "enabled"

	GracePeriodAnnotation = prefix + ".grace-period"
	WaveAnnotation        = prefix + ".wave"
	MethodAnnotation      = prefix + ".method"
	OnlyAnnotation        = prefix + ".only"
	// AlsoAnnotation names configs that a program reads through the API. They count, too.
	AlsoAnnotation = prefix + ".also"
	// IgnoreAnnotation of a workload excludes configs and keys. On a config, it has the value "true", and lets nothing of the
	// config count for any workload.
	IgnoreAnnotation = prefix + ".ignore"
	WindowAnnotation = prefix + ".window"
	HoldAnnotation   = prefix + ".hold"
	FanOutAnnotation = prefix + ".fan-out"
	// ReadersAnnotation of a config has patterns of the names of namespaces, separated by commas, whose workloads may name
	// the config in [AlsoAnnotation].
	ReadersAnnotation = prefix + ".readers"
	UrgentAnnotation  = prefix + ".urgent"
	ResumeAnnotation  = prefix + ".resume"
)

// The annotations that only the controller writes.
const (
	// ChecksumsAnnotation and BasisAnnotation of a workload hold its record.
	ChecksumsAnnotation = prefix + ".applied-config-checksums"
	BasisAnnotation     = prefix + ".applied-config-basis"
	// TimestampAnnotation is set on the pod template to restart the pods.
	TimestampAnnotation = prefix + ".timestamp"
	// CauseAnnotation is set on the pod template along with the timestamp, to tell people what the
	// restart was for. The controller never reads it.
	CauseAnnotation = prefix + ".cause"
	// OptInsAnnotation of the ConfigMap of halts holds an [OptInNote] for each set of namespaces that a controller
	// watches, so that other processes know since when its rules have applied. Pods from before have read content whose
	// edits do not count.
	OptInsAnnotation = prefix + ".opt-ins"
)

// Place is a set of the objects, and parts of objects, that can have annotations.
type Place uint8

// The places.
const (
	OnWorkload Place = 1 << iota
	OnConfig
	OnNamespace
	OnTemplate
	// anywhere is where annotations may be that nobody writes by hand: others copy them.
	anywhere = OnWorkload | OnConfig | OnNamespace | OnTemplate
)

// places says where each annotation counts.
var places = map[string]Place{
	EnabledAnnotation:     OnWorkload | OnNamespace,
	GracePeriodAnnotation: OnWorkload,
	WaveAnnotation:        OnWorkload,
	MethodAnnotation:      OnWorkload,
	OnlyAnnotation:        OnWorkload,
	AlsoAnnotation:        OnWorkload,
	IgnoreAnnotation:      OnWorkload | OnConfig,
	WindowAnnotation:      OnWorkload | OnConfig,
	HoldAnnotation:        OnWorkload | OnConfig,
	FanOutAnnotation:      OnConfig,
	ReadersAnnotation:     OnConfig,
	UrgentAnnotation:      OnConfig,
	ResumeAnnotation:      OnConfig,

	ChecksumsAnnotation: anywhere,
	BasisAnnotation:     anywhere,
	TimestampAnnotation: anywhere,
	CauseAnnotation:     anywhere,
	OptInsAnnotation:    anywhere,
	prefix + ".probe":   anywhere, // of the deployment engine's probe
	prefix + ".driving": anywhere, // likewise
}

// named names a place to people.
func (p Place) named() string {
	switch {
	case p&OnWorkload != 0 && p&OnConfig != 0:
		return "a workload, ConfigMap or Secret"
	case p&OnWorkload != 0 && p&OnNamespace != 0:
		return "a workload or, with --namespace-annotations, a Namespace"
	case p&OnConfig != 0:
		return "a ConfigMap or Secret"
	case p&OnNamespace != 0:
		return "a Namespace"
	case p&OnTemplate != 0:
		return "the pod template"
	}
	return "a workload"
}
