package annotation

// Prefix begins the names of all annotations that people and the controller use: a domain, and the product.
const (
	Product = "deployment-restart"
	Prefix  = "com.xing." + Product
)

// The annotations that people write; see [Places] for the objects on which they count.
const (
	// EnabledAnnotation opts a workload, or those of a Namespace, in if its value is [Enabled].
	EnabledAnnotation = Prefix
	Enabled           = "enabled"

	GracePeriodAnnotation = Prefix + ".grace-period"
	WaveAnnotation        = Prefix + ".wave"
	MethodAnnotation      = Prefix + ".method"
	OnlyAnnotation        = Prefix + ".only"
	// AlsoAnnotation names configs that a program reads through the API. They count, too.
	AlsoAnnotation = Prefix + ".also"
	// IgnoreAnnotation of a workload excludes configs and keys. On a config, it has the value "true", and lets nothing of the
	// config count for any workload.
	IgnoreAnnotation = Prefix + ".ignore"
	WindowAnnotation = Prefix + ".window"
	HoldAnnotation   = Prefix + ".hold"
	FanOutAnnotation = Prefix + ".fan-out"
	// ReadersAnnotation of a config has patterns of the names of namespaces, separated by commas, whose workloads may name
	// the config in [AlsoAnnotation].
	ReadersAnnotation = Prefix + ".readers"
	UrgentAnnotation  = Prefix + ".urgent"
	ResumeAnnotation  = Prefix + ".resume"
)

// The annotations that only the controller writes.
const (
	// ChecksumsAnnotation and BasisAnnotation of a workload hold its record.
	ChecksumsAnnotation = Prefix + ".applied-config-checksums"
	BasisAnnotation     = Prefix + ".applied-config-basis"
	// TimestampAnnotation is set on the pod template to restart the pods.
	TimestampAnnotation = Prefix + ".timestamp"
	// CauseAnnotation is set on the pod template along with the timestamp, to tell people what the
	// restart was for. The controller never reads it.
	CauseAnnotation = Prefix + ".cause"
	// OptInsAnnotation of the ConfigMap of halts holds an [optin.Note] for each set of namespaces that a controller
	// watches, so that other processes know since when its rules have applied. Pods from before have read content whose
	// edits do not count.
	OptInsAnnotation = Prefix + ".opt-ins"
)

// Place is a set of the objects, and parts of objects, that can have annotations.
type Place uint8

// The places.
const (
	OnWorkload Place = 1 << iota
	OnConfig
	OnNamespace
	OnTemplate
	// Anywhere is where annotations may be that nobody writes by hand: others copy them.
	Anywhere = OnWorkload | OnConfig | OnNamespace | OnTemplate
)

// Places says where each annotation counts.
var Places = map[string]Place{
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

	ChecksumsAnnotation: Anywhere,
	BasisAnnotation:     Anywhere,
	TimestampAnnotation: Anywhere,
	CauseAnnotation:     Anywhere,
	OptInsAnnotation:    Anywhere,
	Prefix + ".probe":   Anywhere, // of the deployment engine's probe
	Prefix + ".driving": Anywhere, // likewise
}

// Named names a place to people.
func (p Place) Named() string {
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

// FieldManager is the name under which the controller writes. A record whose value this manager
// does not own was written by another manager and is not trusted. See
// https://kubernetes.io/docs/reference/using-api/server-side-apply/#field-management.
const FieldManager = "kubernetes-deployment-restart-controller"

// RestartAtManager is the field manager of .spec.restartAt. With [FieldManager] itself, the API server would date the
// record anew, and with it the restart.
const RestartAtManager = FieldManager + "-restart-at"
