package controller

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/record"

	"kubernetes-deployment-restart-controller/catalog"
	"kubernetes-deployment-restart-controller/controller/events"
	"kubernetes-deployment-restart-controller/controller/gatekeeper"
	"kubernetes-deployment-restart-controller/controller/kinds"
	"kubernetes-deployment-restart-controller/controller/metrics"
	"kubernetes-deployment-restart-controller/controller/pending"
	"kubernetes-deployment-restart-controller/controller/restart"
	"kubernetes-deployment-restart-controller/controller/tracker"
	"kubernetes-deployment-restart-controller/internal/quarantine"
)

// panics is what follows from an internal error.
type panics struct {
	catalog  *catalog.Catalog
	kinds    []*kinds.WorkloadKind
	changes  *pending.ChangeQueue
	table    *tracker.Table
	gate     *gatekeeper.Gatekeeper
	unjudged *pending.Unjudged
	metrics  *metrics.Metrics
	events   record.EventRecorder
}

// note counts a panic and creates an Event for the owner of the object that caused it.
// If the catalog could not take in a workload, it forgets the workload until it can,
// because its knowledge of the workload is outdated or incomplete. A config stays known as
// it was.
func (p *panics) note(place quarantine.Place, o quarantine.Object) {
	p.metrics.Panics.WithLabelValues(string(place)).Inc()
	if o.Name == "" {
		return // it was a list
	}
	p.events.Eventf(o.Reference(), corev1.EventTypeWarning, events.InternalError,
		"internal error: the controller leaves this object alone until it changes; the log has the details")
	if ref, isWorkload := kinds.WorkloadIn(p.kinds, o); place == quarantine.Intake && isWorkload {
		p.catalog.PurgeWorkload(ref)
		p.changes.Forget(ref)
		restart.ForgetWork(ref, p.table, p.gate)
		p.unjudged.NoteWorkload(ref)
	}
}
