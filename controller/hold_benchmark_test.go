package controller

import (
	"fmt"
	"testing"
	"time"

	"kubernetes-deployment-restart-controller/catalog"
	"kubernetes-deployment-restart-controller/catalog/content"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/policy"
	"kubernetes-deployment-restart-controller/internal/status"
)

func BenchmarkPassTimeOver100000Holds(b *testing.B) {
	c := catalog.New()
	for i := range 100_000 {
		c.ObserveConfig(content.Config{
			Ref: names.ConfigRef{Kind: names.ConfigMap, Namespace: "a", Name: fmt.Sprint(i)}, Policy: &policy.ConfigPolicy{Hold: "wait"},
		}, time.Now())
	}
	b.ReportAllocs()
	for b.Loop() {
		c.PassTime(time.Now())
	}
}

func BenchmarkLostPermissionsOf10000Workloads(b *testing.B) {
	waiting, none := newBacklogs(), newEvictions(catalog.New())
	lost := backlog{failure: failedAttempts{remedy: status.GrantPermission, problem: lackedPermission, since: time.Now()}}
	for i := range 10_000 {
		ref := names.WorkloadRef{Kind: names.Deployment, Namespace: "a", Name: fmt.Sprint(i)}
		waiting.waiting[ref] = lost
	}
	b.ReportAllocs()
	for b.Loop() {
		lostPermissions("", waiting, none)
	}
}
