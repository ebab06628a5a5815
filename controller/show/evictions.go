package show

import (
	"time"

	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/workload"
	"kubernetes-deployment-restart-controller/controller/gate"
	"kubernetes-deployment-restart-controller/controller/run"
	"kubernetes-deployment-restart-controller/controller/tracker"
	"kubernetes-deployment-restart-controller/internal/status"
)

// reasonEviction says that a restart by eviction is under way, and that its next eviction waits.
const reasonEviction gate.Reason = "eviction"

// standingOfEviction returns how a workload is that is restarted by eviction. If the restart was made long before this process knew it,
// what this process found it to wait for soon after that may have begun earlier.
func standingOfEviction(ref names.WorkloadRef, row *tracker.Eviction) tracker.Standing {
	began := time.Unix(int64(row.Of), 0)
	s := tracker.Standing{Ref: ref, State: status.Rolling, Since: began, By: tracker.WaitedFor{Text: row.Wait.Text}}
	if row.Wait.IsOutside() {
		s.State, s.Since, s.Reason = status.Held, row.Wait.Since, reasonEviction
		s.AtLeast = row.Seen.Sub(began) > run.AtStart && s.Since.Sub(row.Seen) < run.AtStart
	}
	return s
}

// addEviction adds a restart by eviction that makes no progress, whatever its pods do, or that has pods left and is not
// followed any more.
func (l entryLists) addEviction(ref names.WorkloadRef, row *tracker.Row) {
	if e := row.Eviction; e != nil && (e.Wait.IsOutside() || e.Earlier > 0 && row.Rolling == nil) {
		l.add(standingOfEviction(ref, e))
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
	row := b.Table.Of(ref).Eviction
	if row == nil {
		return
	}
	if e.Text = row.Wait.Text; row.Wait.IsOutside() {
		e.Reason = string(reasonEviction)
	}
}
