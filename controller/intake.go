package controller

import (
	"log/slog"
	"time"

	"k8s.io/client-go/tools/record"

	"kubernetes-deployment-restart-controller/catalog"
	"kubernetes-deployment-restart-controller/internal/quarantine"
)

// intake takes in what the watches show: it lets the catalog know, queues the changes, and drops what waits for what is gone.
type intake struct {
	catalog      *catalog.Catalog
	optIns       *optIns
	mistakes     *mistakes
	unusable     *unusable
	changes      *changeQueue
	gate         *gatekeeper
	restarter    *restarter
	deliveries   *deliveries
	evictions    *evictions
	unjudged     *unjudged
	haltsChanged signal
	quarantine   *quarantine.Set
	metrics      *metrics
	events       record.EventRecorder
	log          *slog.Logger
	role         *role
	grace        time.Duration // of workloads without one of their own
}
