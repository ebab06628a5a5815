package controller

import (
	"slices"
	"sync"
	"time"

	"kubernetes-deployment-restart-controller/brief"
	"kubernetes-deployment-restart-controller/catalog"
	"kubernetes-deployment-restart-controller/status"
)

const (
	// maxHistory is how many restarts are remembered.
	maxHistory = 100
	// longestWhy is how many bytes are remembered of a cause, and of why a restart failed.
	longestWhy = 256
)

// restartHistory remembers the last restarts, to show them to people. Its methods may be called by several
// goroutines at once.
type restartHistory struct {
	mu   sync.Mutex
	last []pastRestart // the latest comes last
}

type pastRestart struct {
	workload catalog.WorkloadRef
	id       string
	restart  status.Restart
}

// begin notes that a restart has begun, unless that is known.
func (h *restartHistory) begin(ref catalog.WorkloadRef, id, cause string, at time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if slices.ContainsFunc(h.last, func(past pastRestart) bool { return past.workload == ref && past.id == id }) {
		return
	}
	for i := range h.last {
		if past := &h.last[i]; past.workload == ref && past.restart.Outcome == "" {
			past.restart.Outcome, past.restart.Why = status.Unknown, "another restart followed"
		}
	}
	if len(h.last) == maxHistory {
		h.last = slices.Delete(h.last, 0, 1)
	}
	h.last = append(h.last, pastRestart{ref, id, status.Restart{Time: at.UTC(), Workload: ref.String(), Cause: brief.Within(longestWhy, cause)}})
}

// fail notes that a restart has failed, why, and which command shows more.
func (h *restartHistory) fail(ref catalog.WorkloadRef, id, why, command string, now time.Time) {
	h.finish(ref, id, status.Restart{Outcome: status.Broken, Why: why, Command: command}, now)
}

// end notes what became of a restart, or that this has changed.
func (h *restartHistory) end(ref catalog.WorkloadRef, id string, outcome status.Outcome, why string, now time.Time) {
	h.finish(ref, id, status.Restart{Outcome: outcome, Why: why}, now)
}

func (h *restartHistory) finish(ref catalog.WorkloadRef, id string, end status.Restart, now time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for i := range slices.Backward(h.last) {
		if past := &h.last[i]; past.workload == ref && past.id == id {
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
	all := make([]status.Restart, 0, len(h.last))
	for i := range slices.Backward(h.last) {
		if isInside(namespace, h.last[i].workload.Namespace) {
			all = append(all, h.last[i].restart)
		}
	}
	return status.List[status.Restart]{Total: len(all), Items: all}
}

// whyOf says what became of the last restart of a workload, empty if that is not remembered.
func (h *restartHistory) whyOf(ref catalog.WorkloadRef) string {
	if last := h.of(ref); last != nil {
		return last.Why
	}
	return ""
}

// hasFailed reports whether the last restart of a workload failed, as far as that is remembered.
func (h *restartHistory) hasFailed(ref catalog.WorkloadRef) bool {
	last := h.of(ref)
	return last != nil && last.Outcome == status.Broken
}

// of returns the last restart of a workload, nil if it is not remembered.
func (h *restartHistory) of(ref catalog.WorkloadRef) *status.Restart {
	h.mu.Lock()
	defer h.mu.Unlock()
	for i := range slices.Backward(h.last) {
		if h.last[i].workload == ref {
			restart := h.last[i].restart
			return &restart
		}
	}
	return nil
}
