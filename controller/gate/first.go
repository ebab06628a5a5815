package gate

import (
	"time"

	"kubernetes-deployment-restart-controller/catalog"
)

// first holds, for configs whose halted content was replaced, the workloads that the former content has
// broken. It is not known yet whether a restart of them is due, and nobody else restarts for the config
// until it is, because they show best whether the present content is right.
type first map[catalog.ConfigRef]*expected

type expected struct {
	workloads map[catalog.WorkloadRef]struct{}
	until     time.Time
}

// GoFirst makes workloads go first in the fan-outs of a config. The others wait at most until the given time
// for it to be known whether a restart of them is due.
func (l *Ledger) GoFirst(config catalog.ConfigRef, workloads []catalog.WorkloadRef, until time.Time) {
	if len(workloads) == 0 {
		return
	}
	e := &expected{make(map[catalog.WorkloadRef]struct{}, len(workloads)), until}
	for _, ref := range workloads {
		e.workloads[ref] = struct{}{}
	}
	l.first[config] = e
}

// of returns how many workloads are expected to go first.
func (f first) of(config catalog.ConfigRef) int {
	if e := f[config]; e != nil {
		return len(e.workloads)
	}
	return 0
}

// decided notes that it is known whether a restart of a workload is due, and returns the configs for which
// nobody is expected any more.
func (f first) decided(ref catalog.WorkloadRef) (over []catalog.ConfigRef) {
	for config, e := range f {
		if delete(e.workloads, ref); len(e.workloads) == 0 {
			delete(f, config)
			over = append(over, config)
		}
	}
	return over
}

// passBy lets the others go if no restart of a workload is due that should have gone first.
func (l *Ledger) passBy(ref catalog.WorkloadRef) {
	for _, config := range l.first.decided(ref) {
		l.callFanOuts(config)
	}
}

// callFanOuts calls those whose turn it may be in the fan-outs of a config.
func (l *Ledger) callFanOuts(config catalog.ConfigRef) {
	for id, f := range l.fanOuts {
		if id.Config == config {
			l.callNext(f)
		}
	}
}
