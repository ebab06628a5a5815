package annotation

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

	Prefix + ".pod-replacement-policy": OnWorkload, // for the deployment engine
	Prefix + ".on-failure":             OnWorkload, // likewise
	RetryAnnotation:                    OnWorkload, // likewise
	PromoteAnnotation:                  OnWorkload, // likewise
	AbortAnnotation:                    OnWorkload, // likewise
	Prefix + ".steps":                  OnWorkload, // likewise
	Prefix + ".step-soak":              OnWorkload, // likewise
	Prefix + ".steps-for":              OnWorkload, // likewise

	// Of the deployment engine's ReplicaSets, from where kubectl rollout undo copies them.
	Prefix + ".pods-retried-at": Anywhere,
	Prefix + ".outcome":         Anywhere,
	Prefix + ".origin":          Anywhere,
	Prefix + ".runs":            Anywhere, // of Deployments that have fallen back
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
