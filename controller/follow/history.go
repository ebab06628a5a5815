package follow

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/internal/brief"
	"kubernetes-deployment-restart-controller/internal/notes"
	"kubernetes-deployment-restart-controller/internal/status"
)

const (
	// maxHistoryOf is how many restarts of a namespace are remembered.
	maxHistoryOf = 100
	// MaxHistory is how many are in all: if there are more, the namespace of which most are remembered loses its earliest one.
	MaxHistory = 1000
	// LongestWhy is how many bytes are remembered of a cause, and of why a restart failed.
	LongestWhy = 256
)

// History remembers the last restarts, to show them to people. Its methods may be called by several
// goroutines at once.
type History struct {
	mu   sync.Mutex
	in   map[string][]pastRestart // by namespace, the latest comes last
	kept int                      // in all namespaces
	seen int                      // including those that are forgotten
}

type pastRestart struct {
	workload names.WorkloadRef
	id       string
	configs  []names.ConfigRef // for which it was made, as far as they are named
	number   int               // in the order in which restarts became known
	restart  status.Restart
}

// Begin notes that a restart has begun for some configs, unless that is known.
func (h *History) Begin(ref names.WorkloadRef, id, cause string, at time.Time, configs ...names.ConfigRef) {
	h.mu.Lock()
	defer h.mu.Unlock()
	last := h.in[ref.Namespace]
	if slices.ContainsFunc(last, func(past pastRestart) bool { return past.workload == ref && past.id == id }) {
		return
	}
	for i := range last {
		if past := &last[i]; past.workload == ref && past.restart.Outcome == "" {
			past.restart.Outcome, past.restart.Why = status.Unknown, "another restart followed"
		}
	}
	h.makeRoom(ref.Namespace)
	if h.in == nil {
		h.in = make(map[string][]pastRestart)
	}
	h.kept++
	h.seen++
	h.in[ref.Namespace] = append(h.in[ref.Namespace], pastRestart{ref, id, configs, h.seen, status.Restart{Time: at.UTC(), Workload: ref.String(), Cause: brief.Within(LongestWhy, cause)}})
}

// makeRoom forgets a restart if there is no room for another one of a namespace.
func (h *History) makeRoom(namespace string) {
	if len(h.in[namespace]) < maxHistoryOf {
		if h.kept < MaxHistory {
			return
		}
		for other, last := range h.in {
			most := h.in[namespace]
			if len(last) > len(most) || len(last) == len(most) && len(last) > 0 && last[0].number < most[0].number {
				namespace = other
			}
		}
	}
	h.kept--
	if h.in[namespace] = slices.Delete(h.in[namespace], 0, 1); len(h.in[namespace]) == 0 {
		delete(h.in, namespace)
	}
}

// fail notes that a restart has failed, why, and which command shows more.
func (h *History) fail(ref names.WorkloadRef, id, why, command string, now time.Time) {
	h.finish(ref, id, status.Restart{Outcome: status.Broken, Why: why, Command: command}, now)
}

// End notes what became of a restart, or that this has changed.
func (h *History) End(ref names.WorkloadRef, id string, outcome status.Outcome, why string, now time.Time) {
	h.finish(ref, id, status.Restart{Outcome: outcome, Why: why}, now)
}

func (h *History) finish(ref names.WorkloadRef, id string, end status.Restart, now time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	last := h.in[ref.Namespace]
	for i := range slices.Backward(last) {
		if past := &last[i]; past.workload == ref && past.id == id {
			past.restart.Outcome, past.restart.Why, past.restart.Command = end.Outcome, brief.Within(LongestWhy, end.Why), end.Command
			past.restart.Took = int(now.Sub(past.restart.Time).Seconds())
			return
		}
	}
}

// All returns the last restarts in a namespace, or in all if it is empty, the latest first.
func (h *History) All(namespace string) status.List[status.Restart] {
	h.mu.Lock()
	defer h.mu.Unlock()
	latest := status.NewShortlist(func(a, b *pastRestart) int { return cmp.Compare(b.number, a.number) })
	for _, last := range notes.Inside(h.in, namespace) {
		for i := range last {
			latest.Add(&last[i])
		}
	}
	return status.ListOf(latest, func(past *pastRestart) status.Restart { return past.restart })
}

// For returns the restarts for a config since a time, the earliest first.
func (h *History) For(config names.ConfigRef, since time.Time) status.List[status.Restart] {
	h.mu.Lock()
	defer h.mu.Unlock()
	earliest := status.NewShortlist(func(a, b *pastRestart) int {
		return cmp.Or(a.restart.Time.Compare(b.restart.Time), cmp.Compare(a.number, b.number))
	})
	last := h.in[config.Namespace]
	for i := range last {
		if past := &last[i]; !past.restart.Time.Before(since) && slices.Contains(past.configs, config) {
			earliest.Add(past)
		}
	}
	return status.ListOf(earliest, func(past *pastRestart) status.Restart { return past.restart })
}

// WhyOf says what became of the last restart of a workload, empty if that is not remembered.
func (h *History) WhyOf(ref names.WorkloadRef) string {
	if last := h.Of(ref); last != nil {
		return last.Why
	}
	return ""
}

// Of returns the last restart of a workload, nil if it is not remembered.
func (h *History) Of(ref names.WorkloadRef) *status.Restart {
	h.mu.Lock()
	defer h.mu.Unlock()
	last := h.in[ref.Namespace]
	for i := range slices.Backward(last) {
		if last[i].workload == ref {
			restart := last[i].restart
			return &restart
		}
	}
	return nil
}
