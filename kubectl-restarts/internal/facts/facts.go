// Package facts holds what the commands know about a cluster, as values.
package facts

import (
	"strings"

	"kubernetes-deployment-restart-controller/catalog"
)

// Workload is a workload as the catalog would keep it, whether or not it is enabled.
type Workload struct {
	catalog.Workload
	// Choice is what its own annotation says, and Enabled whether it counts, as far as is known.
	Choice  catalog.Choice
	Enabled bool
	// Cause is what the pod template says about the last restart.
	Cause string
}

// Wave returns the wave of the workload.
func (w *Workload) Wave() int16 {
	if w.Policy == nil {
		return 0
	}
	return w.Policy.Wave
}

// Name names the workload as kubectl does.
func (w *Workload) Name() string { return WorkloadName(w.Ref) }

// WorkloadName names a workload as kubectl does.
func WorkloadName(ref catalog.WorkloadRef) string {
	return strings.ToLower(string(ref.Kind)) + "/" + ref.Name
}
