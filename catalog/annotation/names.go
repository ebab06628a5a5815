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
	// RetryAnnotation on a Deployment asks the deployment engine for another attempt at a release that has failed.
	RetryAnnotation = Prefix + ".retry"
	// PromoteAnnotation lets a rollout of the deployment engine that waits at a step go on, and AbortAnnotation makes it fail.
	PromoteAnnotation = Prefix + ".promote"
	AbortAnnotation   = Prefix + ".abort"

	// ChecksumsAnnotation and BasisAnnotation of a workload hold its record.
	ChecksumsAnnotation = Prefix + ".applied-config-checksums"
	BasisAnnotation     = Prefix + ".applied-config-basis"
	// TimestampAnnotation is set on the pod template to restart the pods.
	TimestampAnnotation = Prefix + ".timestamp"
	// CauseAnnotation is set on the pod template along with the timestamp, to tell people what the
	// restart was for. The restart controller never reads it.
	CauseAnnotation = Prefix + ".cause"
	// KubectlRestartAnnotation is what kubectl rollout restart sets on the pod template; see
	// https://kubernetes.io/docs/reference/labels-annotations-taints/#kubectl-k8s-io-restart-at.
	KubectlRestartAnnotation = "kubectl.kubernetes.io/restartedAt"
	// OptInsAnnotation of the ConfigMap of halts holds an [optin.Note] for each set of namespaces that a controller
	// watches, so that other processes know since when its rules have applied. Pods from before have read content whose
	// edits do not count.
	OptInsAnnotation = Prefix + ".opt-ins"
)
