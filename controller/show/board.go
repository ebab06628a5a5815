package show

import (
	"slices"

	"kubernetes-deployment-restart-controller/catalog"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/controller/follow"
	"kubernetes-deployment-restart-controller/controller/gatekeeper"
	"kubernetes-deployment-restart-controller/controller/intake"
	"kubernetes-deployment-restart-controller/controller/judge"
	"kubernetes-deployment-restart-controller/controller/kinds"
	"kubernetes-deployment-restart-controller/controller/metrics"
	"kubernetes-deployment-restart-controller/controller/optedin"
	"kubernetes-deployment-restart-controller/controller/pending"
	"kubernetes-deployment-restart-controller/controller/restart"
	"kubernetes-deployment-restart-controller/controller/run"
	"kubernetes-deployment-restart-controller/controller/store"
	"kubernetes-deployment-restart-controller/controller/tracker"
	"kubernetes-deployment-restart-controller/internal/quarantine"
	"kubernetes-deployment-restart-controller/internal/status"
)

// Board shows what is under way, and counts it. It changes nothing.
type Board struct {
	Catalog    *catalog.Catalog
	Kinds      []*kinds.WorkloadKind
	Custom     kinds.Custom
	OptIns     *optedin.OptIns
	Watching   *intake.Watches
	Mistakes   *intake.Mistakes
	Unusable   *optedin.Unusable
	Absences   *judge.Absences
	Resting    *judge.Resting
	Changes    *pending.ChangeQueue
	Restarter  *restart.Restarter
	Deliveries *follow.Deliveries
	Evictions  *follow.Evictions
	Table      *tracker.Table
	Gate       *gatekeeper.Gatekeeper
	KeyObject  *store.OwnObject // that holds the key of Secrets' checksums
	Staleness  *judge.Staleness
	Quarantine *quarantine.Set
	Metrics    *metrics.Metrics
	Role       *run.Role
}

// KindsAsked describes the kinds that the controller was asked for.
func (b *Board) KindsAsked() []status.Kind {
	if len(b.Custom) == 0 {
		return nil
	}
	unusable := make(map[names.WorkloadKind]int)
	b.Unusable.Known.Each("", func(ref names.WorkloadRef, _ kinds.Problem) { unusable[ref.Kind]++ })
	kinds := make([]status.Kind, 0, len(b.Custom))
	for _, row := range b.Custom {
		kind := status.Kind{Workload: row.Custom.String()}
		kind.Missing = slices.ContainsFunc(b.Watching.All, func(w *intake.ResourceWatch) bool { return w.Workload == row && w.Status().Missing })
		kind.Unusable = unusable[row.Workload]
		kinds = append(kinds, kind)
	}
	return kinds
}
