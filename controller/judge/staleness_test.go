package judge

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"kubernetes-deployment-restart-controller/catalog"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/controller/objecttest"
	"kubernetes-deployment-restart-controller/controller/pending"
	"kubernetes-deployment-restart-controller/internal/series"
)

func TestANamespaceKeepsItsSeriesWhileItHasStaleWorkloads(t *testing.T) {
	s, now := NewStaleness(pending.NewUnjudged(), catalog.New(), nil), time.Now()
	put := func(i int, v Verdict) {
		s.Put(names.WorkloadRef{Kind: names.Deployment, Namespace: fmt.Sprintf("namespace-%03d", i), Name: "web"}, v, now)
	}
	put(999, Stale)
	for i := range 100 {
		now = now.Add(time.Second)
		put(i, Stale)
	}
	counts := objecttest.Counted(s.Samples())
	if len(counts) != NamedNamespaces+1 || counts["namespace-999"] != 1 || counts[series.Other] != 101-NamedNamespaces {
		t.Errorf("counts %v", counts)
	}
	for i := range 100 {
		put(i, Fresh)
	}
	if diff := cmp.Diff(map[string]float64{"namespace-999": 1, series.Other: 0}, objecttest.Counted(s.Samples())); diff != "" {
		t.Errorf("counts (-want +got):\n%s", diff)
	}
}

// However often a workload changes, it is judged once a second, and once at once.
func TestAWorkloadIsJudgedOnceASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		judged := 0
		s := NewStaleness(pending.NewUnjudged(), catalog.New(), func(names.WorkloadRef) Verdict { judged++; return Stale })
		ctx, stop := context.WithCancel(t.Context())
		go s.Run(ctx)
		for range 30 {
			s.NoteWorkload(objecttest.Web)
			time.Sleep(100 * time.Millisecond)
		}
		time.Sleep(time.Second)
		synctest.Wait() // and what it has counted is to be seen
		if judged != 4 {
			t.Errorf("judged %d times within four seconds", judged)
		}
		stop()
		synctest.Wait()
	})
}

// A slow round is followed by a long pause, and what is noted meanwhile is judged after it.
func TestJudgingLeavesTheProcessorToOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var judged []time.Duration
		start := time.Now()
		s := NewStaleness(pending.NewUnjudged(), catalog.New(), func(names.WorkloadRef) Verdict {
			judged = append(judged, time.Since(start))
			time.Sleep(2 * time.Second)
			return Stale
		})
		ctx, stop := context.WithCancel(t.Context())
		go s.Run(ctx)
		s.NoteWorkload(objecttest.Web)
		synctest.Wait()
		s.NoteWorkload(objecttest.Web)
		time.Sleep(time.Minute)
		synctest.Wait() // and what it has noted is to be seen
		if diff := cmp.Diff([]time.Duration{0, 22 * time.Second}, judged); diff != "" {
			t.Errorf("judged (-want +got):\n%s", diff)
		}
		stop()
		synctest.Wait()
	})
}
