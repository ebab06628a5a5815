package controller

import (
	"slices"

	"kubernetes-deployment-restart-controller/catalog"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/internal/quarantine"
	"kubernetes-deployment-restart-controller/internal/status"
)

// board shows what is under way, and counts it. It changes nothing.
type board struct {
	catalog    *catalog.Catalog
	kinds      []*workloadKind
	custom     customKinds
	optIns     *optIns
	watching   *watches
	mistakes   *mistakes
	unusable   *unusable
	absences   *absences
	resting    *resting
	changes    *changeQueue
	restarter  *restarter
	deliveries *deliveries
	evictions  *evictions
	gate       *gatekeeper
	keyObject  *ownObject // that holds the key of Secrets' checksums
	staleness  *staleness
	quarantine *quarantine.Set
	metrics    *metrics
	role       *role
}

// kindsAsked describes the kinds that the controller was asked for.
func (b *board) kindsAsked() []status.Kind {
	if len(b.custom) == 0 {
		return nil
	}
	unusable := make(map[names.WorkloadKind]int)
	b.unusable.known.each("", func(ref names.WorkloadRef, _ problem) { unusable[ref.Kind]++ })
	kinds := make([]status.Kind, 0, len(b.custom))
	for _, row := range b.custom {
		kind := status.Kind{Workload: row.custom.String()}
		kind.Missing = slices.ContainsFunc(b.watching.all, func(w *resourceWatch) bool { return w.workload == row && w.Status().Missing })
		kind.Unusable = unusable[row.workload]
		kinds = append(kinds, kind)
	}
	return kinds
}
