package catalog

// Rollout is what the status of a workload says about the pods of its present template. Each kind
// of workload has fields of its own for it.
type Rollout struct {
	// Wanted is how many pods the workload wants, Updated is how many pods of the present template
	// it has, Outdated is how many other pods it has, and Available is how many of all its pods are
	// available.
	Wanted, Updated, Outdated, Available int32
	// Deadline is for how many seconds the rollout may make no progress by the workload's own
	// settings.
	Deadline int32
	// Observed means that its controller has seen the present pod template, which the numbers are
	// about.
	Observed bool
	// GaveUp means that its controller has found no progress for too long.
	GaveUp bool
	// Completed means that the rollout was complete at some time, even if pods are missing now. The
	// status of a DaemonSet does not show it.
	Completed bool
	// ByPods means that the status does not say how a rollout goes: only Wanted and Deadline are known, and what
	// follows from the pods themselves is not part of the catalog.
	ByPods bool
	// Waits means that the rollout makes no progress until a person or a timer lets it, as between the steps of a canary.
	Waits bool
	// CannotCreate means that pods cannot be created, such as for lack of quota.
	CannotCreate bool
}

// IsWhole reports whether the workload runs with all pods that it wants, all of them made from
// the present template.
func (r Rollout) IsWhole() bool {
	return r.Observed && r.Updated >= r.Wanted && r.Outdated <= 0 && r.Available >= r.Wanted
}
