package controller

import (
	"fmt"
	"testing"
	"time"

	"kubernetes-deployment-restart-controller/catalog"
	"kubernetes-deployment-restart-controller/catalog/content"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/policy"
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
