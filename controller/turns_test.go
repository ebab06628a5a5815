package controller

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"kubernetes-deployment-restart-controller/catalog"
	"kubernetes-deployment-restart-controller/catalog/names"
)

func ofNamespace(namespace string, number int) names.WorkloadRef {
	return names.WorkloadRef{Kind: names.Deployment, Namespace: namespace, Name: fmt.Sprint(number)}
}

func TestNamespacesTakeTurns(t *testing.T) {
	var waiting turns
	for number := range 3 {
		waiting.add(ofNamespace("a", number))
		waiting.add(ofNamespace("a", number))
	}
	waiting.add(ofNamespace("b", 0))
	var got []names.WorkloadRef
	for !waiting.isEmpty() {
		ref := waiting.next()
		if got = append(got, ref); ref.Namespace == "b" {
			waiting.add(ofNamespace("c", 0))
			waiting.add(ofNamespace("a", 0)) // again
		}
	}
	want := []names.WorkloadRef{
		ofNamespace("a", 0), ofNamespace("b", 0), ofNamespace("a", 1), ofNamespace("c", 0), ofNamespace("a", 2), ofNamespace("a", 0),
	}
	if !slices.Equal(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
	if waiting.held.Len()+waiting.waiting.Len() != 0 {
		t.Errorf("%+v is left", waiting)
	}
}

// A decision about a config of very many keys takes milliseconds, for each workload that reads it.
func TestWorkloadsThatAreSlowToJudgeDoNotDelayOtherNamespaces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var judged time.Time
		other := ofNamespace("other", 0)
		s := newStaleness(newUnjudged(), catalog.New(), func(ref names.WorkloadRef) verdict {
			time.Sleep(5 * time.Millisecond)
			if ref == other {
				judged = time.Now()
			}
			return stale
		})
		ctx, stop := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { s.run(ctx) })
		for number := range 10_000 {
			s.noteWorkload(ofNamespace("slow", number))
		}
		time.Sleep(5 * time.Second)
		noted := time.Now()
		s.noteWorkload(other)
		time.Sleep(time.Minute)
		synctest.Wait()
		if took := judged.Sub(noted); judged.IsZero() || took > (judgingShare+1)*judgingSlice+100*time.Millisecond {
			t.Errorf("judged after %s", took)
		}
		stop()
		running.Wait() // it may be in the middle of a judgment
	})
}
