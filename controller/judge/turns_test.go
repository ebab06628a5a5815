package judge

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"kubernetes-deployment-restart-controller/catalog"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/controller/objecttest"
	"kubernetes-deployment-restart-controller/controller/pending"
)

// A decision about a config of very many keys takes milliseconds, for each workload that reads it.
func TestWorkloadsThatAreSlowToJudgeDoNotDelayOtherNamespaces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var judged time.Time
		other := objecttest.OfNamespace("other", 0)
		s := NewStaleness(pending.NewUnjudged(), catalog.New(), func(ref names.WorkloadRef) Verdict {
			time.Sleep(5 * time.Millisecond)
			if ref == other {
				judged = time.Now()
			}
			return Stale
		})
		ctx, stop := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { s.Run(ctx) })
		for number := range 10_000 {
			s.NoteWorkload(objecttest.OfNamespace("slow", number))
		}
		time.Sleep(5 * time.Second)
		noted := time.Now()
		s.NoteWorkload(other)
		time.Sleep(time.Minute)
		synctest.Wait()
		if took := judged.Sub(noted); judged.IsZero() || took > (judgingShare+1)*judgingSlice+100*time.Millisecond {
			t.Errorf("judged after %s", took)
		}
		stop()
		running.Wait() // it may be in the middle of a judgment
	})
}
