package gate

import (
	"time"

	"kubernetes-deployment-restart-controller/catalog/names"
)

// first holds, for configs that were edited, the workloads that an earlier content has broken, or may have. It is not
// known yet whether a restart of them is due, and nobody else restarts for the config until it is, because they show
// best whether the present content is right.
type first struct {
	of map[names.ConfigRef]*expected
	by map[names.WorkloadRef]map[names.ConfigRef]struct{} // the configs for which each is expected
}

type expected struct {
	workloads map[names.WorkloadRef]struct{}
	until     time.Time
}

func newFirst() first {
	return first{of: make(map[names.ConfigRef]*expected), by: make(map[names.WorkloadRef]map[names.ConfigRef]struct{})}
}

// GoFirst makes workloads go first in the fan-outs of a config, beside those that do already. The others, in a group those of the
// same namespace, wait at most until the given time for it to be known whether a restart of them is due.
func (l *Ledger) GoFirst(config names.ConfigRef, workloads []names.WorkloadRef, until time.Time) {
	if len(workloads) == 0 {
		return
	}
	e := l.first.of[config]
	if e == nil {
		e = &expected{workloads: make(map[names.WorkloadRef]struct{}, len(workloads))}
	}
	e.until = until
	for _, ref := range workloads {
		e.workloads[ref] = struct{}{}
		if l.first.by[ref] == nil {
			l.first.by[ref] = make(map[names.ConfigRef]struct{})
		}
		l.first.by[ref][config] = struct{}{}
	}
	l.first.of[config] = e
	l.noteExpected(config)
}

// noteExpected notes that it has changed who is expected to go first for a config, if it is a copy of a group.
func (l *Ledger) noteExpected(config names.ConfigRef) {
	for f := range l.byConfig[GroupOf(config.Kind, config.Name)] {
		f.noteExpected(config.Namespace)
	}
}

// count returns how many workloads of a namespace are expected to go first for a config, or for its copy of a group.
func (f *first) count(config names.ConfigRef, namespace string) int {
	if e := f.of[CopyOf(config, namespace)]; e != nil {
		return len(e.workloads)
	}
	return 0
}

// decided notes that it is known whether a restart of a workload is due for a config, and reports whether nobody is
// expected for it any more.
func (f *first) decided(ref names.WorkloadRef, config names.ConfigRef) (isOver bool) {
	if delete(f.by[ref], config); len(f.by[ref]) == 0 {
		delete(f.by, ref)
	}
	e := f.of[config]
	if delete(e.workloads, ref); len(e.workloads) > 0 {
		return false
	}
	delete(f.of, config)
	return true
}

// late expects nobody any more for the configs whose time is up, and returns these configs.
func (f *first) late(now time.Time) (over []names.ConfigRef) {
	for config, e := range f.of {
		if !now.After(e.until) {
			continue
		}
		for ref := range e.workloads {
			if delete(f.by[ref], config); len(f.by[ref]) == 0 {
				delete(f.by, ref)
			}
		}
		delete(f.of, config)
		over = append(over, config)
	}
	return over
}

// passBy lets the others go if no restart of a workload is due that should have gone first.
func (l *Ledger) passBy(ref names.WorkloadRef) {
	l.passByFor(ref, func(names.ConfigRef) bool { return true })
}

// passByFor does that for some of the configs. An edit may have come since the others were looked at.
func (l *Ledger) passByFor(ref names.WorkloadRef, isDecided func(names.ConfigRef) bool) {
	for config := range l.first.by[ref] {
		if isDecided(config) && l.first.decided(ref, config) {
			l.callFanOuts(config)
		}
	}
}

// callFanOuts calls those whose turn it may be in the fan-outs of a config for which nobody is expected any more.
func (l *Ledger) callFanOuts(config names.ConfigRef) {
	l.noteExpected(config)
	for _, of := range []names.ConfigRef{config, GroupOf(config.Kind, config.Name)} {
		for f := range l.byConfig[of] {
			l.callNext(f)
		}
	}
}

// expects reports whether a workload is expected to go first for a config, or for its copy of a group.
func (f *first) expects(ref names.WorkloadRef, config names.ConfigRef) bool {
	_, isExpected := f.by[ref][CopyOf(config, ref.Namespace)]
	return isExpected
}
