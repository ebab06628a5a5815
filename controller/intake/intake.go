package intake

import (
	"log/slog"
	"time"

	"k8s.io/client-go/tools/record"

	"kubernetes-deployment-restart-controller/catalog"
	"kubernetes-deployment-restart-controller/controller/follow"
	"kubernetes-deployment-restart-controller/controller/gatekeeper"
	"kubernetes-deployment-restart-controller/controller/metrics"
	"kubernetes-deployment-restart-controller/controller/optedin"
	"kubernetes-deployment-restart-controller/controller/pending"
	"kubernetes-deployment-restart-controller/controller/restart"
	"kubernetes-deployment-restart-controller/controller/run"
	"kubernetes-deployment-restart-controller/internal/quarantine"
)

// Intake takes in what the watches show: it lets the catalog know, queues the changes, and drops what waits for what is gone.
type Intake struct {
	Catalog      *catalog.Catalog
	OptIns       *optedin.OptIns
	Mistakes     *Mistakes
	Unusable     *optedin.Unusable
	Changes      *pending.ChangeQueue
	Gate         *gatekeeper.Gatekeeper
	Restarter    *restart.Restarter
	Deliveries   *follow.Deliveries
	Evictions    *follow.Evictions
	Unjudged     *pending.Unjudged
	HaltsChanged run.Signal
	Quarantine   *quarantine.Set
	Metrics      *metrics.Metrics
	Events       record.EventRecorder
	Log          *slog.Logger
	Role         *run.Role
	Grace        time.Duration // of workloads without one of their own
}
