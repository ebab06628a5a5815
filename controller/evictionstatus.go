package controller

import (
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/workload"
	"kubernetes-deployment-restart-controller/controller/gate"
	"kubernetes-deployment-restart-controller/internal/status"
)

// reasonEviction says that a restart by eviction is under way, and that its next eviction waits.
const reasonEviction gate.Reason = "eviction"

func standingOfEviction(ref names.WorkloadRef, row *eviction) standing {
	s := standing{ref: ref, state: status.Rolling, since: row.seen, by: waitedFor{text: row.wait.text}}
	if row.wait.isOutside() {
		s.state, s.since, s.reason = status.Held, row.wait.since, reasonEviction
	}
	return s
}

// addEviction adds a restart by eviction that makes no progress, whatever its pods do, or that has pods left and is not
// followed any more.
func (b *board) addEviction(lists entryLists, ref names.WorkloadRef, row *eviction) {
	if row.wait.isOutside() || row.earlier > 0 && b.deliveries.of(ref) == nil {
		lists.add(standingOfEviction(ref, row))
	}
}

// shown returns a workload whose status says how far a restart by eviction has come. Only the process that evicts knows.
func (b *board) shown(w *workload.Workload) *workload.Workload {
	if !b.role.acts() {
		return w
	}
	shown, _ := b.evictions.statusOf(w)
	return shown
}

// noteEviction completes what is known about a workload that rolls with what its next eviction waits for.
func (b *board) noteEviction(e *status.Entry, ref names.WorkloadRef) {
	row, isUnderWay := b.evictions.of(ref)
	if !isUnderWay {
		return
	}
	if e.Text = row.wait.text; row.wait.isOutside() {
		e.Reason = string(reasonEviction)
	}
}
