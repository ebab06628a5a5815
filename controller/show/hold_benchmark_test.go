package show

import (
	"fmt"
	"testing"
	"time"

	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/controller/objecttest"
	"kubernetes-deployment-restart-controller/controller/tracker"
	"kubernetes-deployment-restart-controller/internal/status"
)

func BenchmarkLostPermissionsOf10000Workloads(b *testing.B) {
	table := tracker.New()
	lost := tracker.Backlog{Failure: tracker.FailedAttempts{Remedy: status.GrantPermission, Problem: objecttest.LackedPermission, Since: time.Now()}}
	for i := range 10_000 {
		ref := names.WorkloadRef{Kind: names.Deployment, Namespace: "a", Name: fmt.Sprint(i)}
		table.Update(ref, func(row *tracker.Row) { row.Backlog = &lost })
	}
	b.ReportAllocs()
	for b.Loop() {
		LostPermissions("", table)
	}
}
