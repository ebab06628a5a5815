package controller

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/internal/brief"
	"kubernetes-deployment-restart-controller/internal/status"
)

const (
	// maxHistoryOf is how many restarts of a namespace are remembered, and maxHistory how many in all: if there are more,
	// the namespace of which most are remembered loses its earliest one.
	maxHistoryOf, maxHistory = 100, 1000
	// longestWhy is how many bytes are remembered of a cause, and of why a restart failed.
	longestWhy = 256
)

// restartHistory remembers the last restarts, to show them to people. Its methods may be called by several
// goroutines at once.
type restartHistory struct {
	mu   sync.Mutex
	in   map[string][]pastRestart // by namespace, the latest comes last
	kept int                      // in all namespaces
	seen int                      // including those that are forgotten
}

type pastRestart struct {
	workload names.WorkloadRef
	id       string
	number   int // in the order in which restarts became known
	restart  status.Restart
}

// begin notes that a restart has begun, unless that is known.
func (h *restartHistory) begin(ref names.WorkloadRef, id, cause string, at time.Time) {
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
	h.in[ref.Namespace] = append(h.in[ref.Namespace], pastRestart{ref, id, h.seen, status.Restart{Time: at.UTC(), Workload: ref.String(), Cause: brief.Within(longestWhy, cause)}})
}

// makeRoom forgets a restart if there is no room for another one of a namespace.
func (h *restartHistory) makeRoom(namespace string) {
	if len(h.in[namespace]) < maxHistoryOf {
		if h.kept < maxHistory {
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
func (h *restartHistory) fail(ref names.WorkloadRef, id, why, command string, now time.Time) {
	h.finish(ref, id, status.Restart{Outcome: status.Broken, Why: why, Command: command}, now)
}

// end notes what became of a restart, or that this has changed.
func (h *restartHistory) end(ref names.WorkloadRef, id string, outcome status.Outcome, why string, now time.Time) {
	h.finish(ref, id, status.Restart{Outcome: outcome, Why: why}, now)
}

func (h *restartHistory) finish(ref names.WorkloadRef, id string, end status.Restart, now time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	last := h.in[ref.Namespace]
	for i := range slices.Backward(last) {
		if past := &last[i]; past.workload == ref && past.id == id {
			past.restart.Outcome, past.restart.Why, past.restart.Command = end.Outcome, brief.Within(longestWhy, end.Why), end.Command
			past.restart.Took = int(now.Sub(past.restart.Time).Seconds())
			return
		}
	}
}

// all returns the last restarts in a namespace, or in all if it is empty, the latest first.
func (h *restartHistory) all(namespace string) status.List[status.Restart] {
	h.mu.Lock()
	defer h.mu.Unlock()
	latest := status.NewShortlist(func(a, b *pastRestart) int { return cmp.Compare(b.number, a.number) })
	for _, last := range inside(h.in, namespace) {
		for i := range last {
			latest.Add(&last[i])
		}
	}
	return status.ListOf(latest, func(past *pastRestart) status.Restart { return past.restart })
}

// whyOf says what became of the last restart of a workload, empty if that is not remembered.
func (h *restartHistory) whyOf(ref names.WorkloadRef) string {
	if last := h.of(ref); last != nil {
		return last.Why
	}
	return ""
}

// of returns the last restart of a workload, nil if it is not remembered.
func (h *restartHistory) of(ref names.WorkloadRef) *status.Restart {
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
