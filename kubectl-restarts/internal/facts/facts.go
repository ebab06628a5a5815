// Package facts holds what the commands know about a cluster, as values.
package facts

import "kubernetes-deployment-restart-controller/catalog"

// Workload is a workload as the catalog would keep it, whether or not it is enabled.
type Workload struct {
	catalog.Workload
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
