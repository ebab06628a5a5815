package overview

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"kubernetes-deployment-restart-controller/catalog/content"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/controller/gate"
	"kubernetes-deployment-restart-controller/kubectl-restarts/internal/facts"
)

// look finds what concerns a workload.
type look struct {
	*Input
	configs map[names.ConfigRef]*content.Config
	halts   map[names.ConfigRef]*gate.Halt
	// events holds the last Event of each reason on each object.
	events map[about]*facts.Event
}

type about struct{ namespace, on, reason string }

func newLook(in *Input) *look {
	l := &look{in, make(map[names.ConfigRef]*content.Config), make(map[names.ConfigRef]*gate.Halt), make(map[about]*facts.Event)}
	for _, config := range in.Configs {
		l.configs[config.Ref] = config
	}
	l.dropEndedHalts()
	for i := range in.Halts.Active {
		l.halts[in.Halts.Active[i].Config] = &in.Halts.Active[i]
	}
	for i := range in.Events {
		e := &in.Events[i]
		if e.Reason == facts.RestartsResumed && !e.EndsFailures() {
			continue
		}
		key := about{e.Namespace, e.On, e.Reason}
		if last := l.events[key]; last == nil || e.At.After(last.At) {
			l.events[key] = e
		}
	}
	return l
}

// dropEndedHalts leaves out the halts that a leader ends, as far as the caller can see; see [facts.IsOver].
func (l *look) dropEndedHalts() {
	l.Halts.Active = slices.DeleteFunc(slices.Clone(l.Halts.Active), func(h gate.Halt) bool {
		config, content := l.configs[h.Config], l.Contents[h.Config]
		switch {
		case content != nil:
			return facts.IsOver(&h, content, true)
		case config != nil:
			return facts.IsOver(&h, config, false)
		}
		return false
	})
}

// since returns the last Event of a reason on a workload if it is later than its last restart.
func (l *look) since(w *facts.Workload, reason string, restarted time.Time) *facts.Event {
	e := l.events[about{w.Ref.Namespace, w.Name(), reason}]
	if e == nil || e.At.Before(restarted.Truncate(time.Second)) {
		return nil
	}
	return e
}

// refused returns the last Event about an attempt that failed, nil if that is over.
func (l *look) refused(w *facts.Workload, restarted time.Time) *facts.Event {
	failed, over := l.since(w, facts.RestartFailed, restarted), l.events[about{w.Ref.Namespace, w.Name(), facts.RestartsResumed}]
	if failed == nil || over != nil && !over.At.Before(failed.At) {
		return nil
	}
	return failed
}

// fanOuts returns the fan-outs that have not finished, by what Events said last. That may be from a leader who did not see the
// end, so those count of which a reader is among the rows.
func (l *look) fanOuts(rows []Row) []FanOut {
	isRow, isRead := make(map[about]bool), make(map[about]bool)
	for i := range rows {
		isRow[about{namespace: rows[i].Namespace, on: rows[i].Workload}] = rows[i].State != OnHold
	}
	for i := range l.Workloads {
		w := &l.Workloads[i]
		for _, config := range w.Configs() {
			if isRow[about{namespace: w.Ref.Namespace, on: w.Name()}] {
				isRead[about{config.Namespace, facts.ConfigName(config), fanOut}] = true
			}
		}
	}
	all := []FanOut{}
	for key, e := range l.events {
		if isRead[key] && !strings.HasPrefix(e.Message, "finished") && !strings.HasPrefix(e.Message, "ended") {
			all = append(all, FanOut{key.namespace, key.on, e.At, e.Message})
		}
	}
	slices.SortFunc(all, func(a, b FanOut) int {
		return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Config, b.Config))
	})
	return all
}

// dateMistakes notes since when annotations that cannot be used are there at least: since an Event told of them.
func (l *look) dateMistakes() {
	for i := range l.Mistakes {
		mistake := &l.Mistakes[i]
		namespace, on := split(mistake.Object)
		mistake.Beginning = l.events[about{namespace, on, facts.InvalidAnnotation}].Dates(mistake.Problem)
	}
}

// config returns the metadata of a config as its readers see it, nil if it is not known, not shared, or not there.
func (l *look) config(ref names.ConfigRef) *content.Config {
	if source := l.configs[ref.Source()]; source != nil && ref.IsShared() {
		return source.As(ref)
	}
	return l.configs[ref]
}

// isKnown reports whether a config would be among those that were listed.
func (l *look) isKnown(ref names.ConfigRef) bool {
	return !l.Unlisted[ref.Kind] && !ref.Kind.IsPerPod() && l.isInside(ref.Source().Namespace)
}
