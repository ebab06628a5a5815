package show

import (
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/workload"
	"kubernetes-deployment-restart-controller/controller/follow"
	"kubernetes-deployment-restart-controller/controller/gate"
	"kubernetes-deployment-restart-controller/controller/pending"
	"kubernetes-deployment-restart-controller/internal/status"
)

// reasonEviction says that a restart by eviction is under way, and that its next eviction waits.
const reasonEviction gate.Reason = "eviction"

func standingOfEviction(ref names.WorkloadRef, row *follow.Eviction) pending.Standing {
	s := pending.Standing{Ref: ref, State: status.Rolling, Since: row.Seen, By: pending.WaitedFor{Text: row.Wait.Text}}
	if row.Wait.IsOutside() {
		s.State, s.Since, s.Reason = status.Held, row.Wait.Since, reasonEviction
	}
	return s
}

// addEviction adds a restart by eviction that makes no progress, whatever its pods do, or that has pods left and is not
// followed any more.
func (b *Board) addEviction(lists entryLists, ref names.WorkloadRef, row *follow.Eviction) {
	if row.Wait.IsOutside() || row.Earlier > 0 && b.Deliveries.Of(ref) == nil {
		lists.add(standingOfEviction(ref, row))
	}
}

// shown returns a workload whose status says how far a restart by eviction has come. Only the process that evicts knows.
func (b *Board) shown(w *workload.Workload) *workload.Workload {
	if !b.Role.Acts() {
		return w
	}
	shown, _ := b.Evictions.StatusOf(w)
	return shown
}

// noteEviction completes what is known about a workload that rolls with what its next eviction waits for.
func (b *Board) noteEviction(e *status.Entry, ref names.WorkloadRef) {
	row, isUnderWay := b.Evictions.Of(ref)
	if !isUnderWay {
		return
	}
	if e.Text = row.Wait.Text; row.Wait.IsOutside() {
		e.Reason = string(reasonEviction)
	}
}
