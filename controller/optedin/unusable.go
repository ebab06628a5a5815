package optedin

import (
	"log/slog"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/record"

	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/controller/events"
	"kubernetes-deployment-restart-controller/controller/kinds"
	"kubernetes-deployment-restart-controller/controller/run"
	"kubernetes-deployment-restart-controller/internal/notes"
	"kubernetes-deployment-restart-controller/internal/status"
)

// Unusable are the workloads that are enabled but cannot be restarted, with their problems. Nearly all are of custom
// kinds, since the API server checks the others.
type Unusable struct {
	Known  notes.Notes[names.WorkloadRef, kinds.Problem]
	optIns *OptIns
	role   *run.Role
	Events record.EventRecorder
	Log    *slog.Logger
}

// NewUnusable knows of no workloads yet.
func NewUnusable(of *OptIns, role *run.Role, events record.EventRecorder, log *slog.Logger) *Unusable {
	return &Unusable{Known: notes.Notes[names.WorkloadRef, kinds.Problem]{CountsAll: true}, optIns: of, role: role, Events: events, Log: log}
}

// Note reports once that a workload is enabled but cannot be restarted, and that this is over. The caller holds the lock of [OptIns].
func (u *Unusable) Note(w *kinds.WorkloadObservation) {
	known, _ := u.Known.Find(w.Ref.Namespace, w.Ref)
	if w.Problem == nil || !u.optIns.enables(w) {
		if known.Text != "" && w.Problem == nil && u.role.Leads() && u.optIns.enables(w) {
			u.Log.Info("can restart a workload again", "workload", w.Ref)
			u.Events.Event(kinds.ReferenceTo(w.Ref, known.UID), corev1.EventTypeNormal, events.NotSupported, "config changes restart this workload again: "+
				"what was not supported is gone")
		}
		u.Known.Drop(w.Ref.Namespace, w.Ref)
		return
	}
	if known.UID == w.Problem.UID && known.Text == w.Problem.Text {
		return
	}
	noted := *w.Problem
	if noted.Began = u.role.Beginning(time.Now()); !u.Known.Put(w.Ref.Namespace, w.Ref, noted) {
		return
	}
	u.Log.Warn("cannot restart a workload that is enabled", "workload", w.Ref, "problem", w.Problem.Text)
	if u.role.Leads() {
		u.event(w.Ref, *w.Problem)
	}
}

// Forget forgets a workload that is gone.
func (u *Unusable) Forget(ref names.WorkloadRef) { u.Known.Drop(ref.Namespace, ref) }

// Keep forgets the workloads of a kind in a namespace, or in all namespaces, that are not among those that were listed.
func (u *Unusable) Keep(kind names.WorkloadKind, namespace string, all []*kinds.Observation) {
	if u.Known.Size() == 0 {
		return
	}
	listed := make(map[names.WorkloadRef]bool, len(all))
	for _, o := range all {
		listed[o.Workload.Ref] = true
	}
	u.Known.DropAll(namespace, func(ref names.WorkloadRef) bool { return ref.Kind == kind && !listed[ref] })
}

func (u *Unusable) event(ref names.WorkloadRef, p kinds.Problem) {
	u.Events.Event(kinds.ReferenceTo(ref, p.UID), corev1.EventTypeWarning, events.NotSupported, status.NotRestarted+p.Text)
}

// ReportAll reports, as at the start of a leader, the workloads that cannot be restarted and were noticed before.
func (u *Unusable) ReportAll() {
	for ref, p := range u.Known.All() {
		u.event(ref, p)
	}
}

// enables reports whether a workload is enabled, whether or not it can be restarted. The caller holds the lock.
func (o *OptIns) enables(w *kinds.WorkloadObservation) bool {
	return o.Rules.Counts(w.Choice, w.Ref.Namespace, o.Namespaces[w.Ref.Namespace])
}
