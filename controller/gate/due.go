package gate

import "kubernetes-deployment-restart-controller/catalog"

// Due returns how many restarts of the fan-outs of a config wait.
func (l *Ledger) Due(config catalog.ConfigRef) int {
	due := 0
	for id, f := range l.fanOuts {
		if id.Config == config {
			due += f.waiting
		}
	}
	return due
}
