package controller

import (
	"log/slog"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/record"

	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/workload"
	"kubernetes-deployment-restart-controller/internal/status"
)

// unusable are the workloads that are enabled but cannot be restarted, with their problems. Nearly all are of custom
// kinds, since the API server checks the others.
type unusable struct {
	known  noted[names.WorkloadRef, problem]
	optIns *optIns
	role   *role
	events record.EventRecorder
	log    *slog.Logger
}

func newUnusable(of *optIns, role *role, events record.EventRecorder, log *slog.Logger) *unusable {
	return &unusable{known: noted[names.WorkloadRef, problem]{countsAll: true}, optIns: of, role: role, events: events, log: log}
}

// note reports once that a workload is enabled but cannot be restarted, and that this is over. The caller holds the lock of [optIns].
func (u *unusable) note(w *workloadObservation) {
	known, _ := u.known.find(w.ref.Namespace, w.ref)
	if w.problem == nil || !u.optIns.enables(w) {
		if known.text != "" && w.problem == nil && u.role.leads() && u.optIns.enables(w) {
			u.log.Info("can restart a workload again", "workload", w.ref)
			u.events.Event(referenceTo(w.ref, known.uid), corev1.EventTypeNormal, reasonNotSupported, "config changes restart this workload again: "+
				"what was not supported is gone")
		}
		u.known.drop(w.ref.Namespace, w.ref)
		return
	}
	if known.uid == w.problem.uid && known.text == w.problem.text {
		return
	}
	noted := *w.problem
	if noted.began = u.role.beginning(time.Now()); !u.known.put(w.ref.Namespace, w.ref, noted) {
		return
	}
	u.log.Warn("cannot restart a workload that is enabled", "workload", w.ref, "problem", w.problem.text)
	if u.role.leads() {
		u.event(w.ref, *w.problem)
	}
}

// forget forgets a workload that is gone.
func (u *unusable) forget(ref names.WorkloadRef) { u.known.drop(ref.Namespace, ref) }

// keep forgets the workloads of a kind in a namespace, or in all namespaces, that are not among those that were listed.
func (u *unusable) keep(kind names.WorkloadKind, namespace string, all []*observation) {
	if u.known.size() == 0 {
		return
	}
	listed := make(map[names.WorkloadRef]bool, len(all))
	for _, o := range all {
		listed[o.workload.ref] = true
	}
	u.known.dropAll(namespace, func(ref names.WorkloadRef) bool { return ref.Kind == kind && !listed[ref] })
}

func (u *unusable) event(ref names.WorkloadRef, p problem) {
	u.events.Event(referenceTo(ref, p.uid), corev1.EventTypeWarning, reasonNotSupported, status.NotRestarted+p.text)
}

func referenceTo(ref names.WorkloadRef, uid types.UID) runtime.Object {
	return objectReference(&workload.Workload{Ref: ref, UID: uid})
}

// reportAll reports, as at the start of a leader, the workloads that cannot be restarted and were noticed before.
func (u *unusable) reportAll() {
	for ref, p := range u.known.all() {
		u.event(ref, p)
	}
}

// enables reports whether a workload is enabled, whether or not it can be restarted. The caller holds the lock.
func (o *optIns) enables(w *workloadObservation) bool {
	return o.rules.Counts(w.choice, w.ref.Namespace, o.namespaces[w.ref.Namespace])
}
