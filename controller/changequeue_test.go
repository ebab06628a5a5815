package controller

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"kubernetes-deployment-restart-controller/catalog"
)

var (
	mapA = catalog.ConfigRef{Kind: catalog.ConfigMap, Namespace: "ns", Name: "a"}
	mapB = catalog.ConfigRef{Kind: catalog.ConfigMap, Namespace: "ns", Name: "b"}
	web  = catalog.WorkloadRef{Kind: catalog.Deployment, Namespace: "ns", Name: "web"}
)

// ripened runs a queue within a synctest bubble and notes what ripens when.
type ripened struct {
	Subject string
	Count   int
	After   time.Duration // since the start of the test
}

func runQueue(t *testing.T, grace, checkPeriod time.Duration, play func(*ChangeQueue)) []ripened {
	t.Helper()
	var got []ripened
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		start := time.Now()
		queue := NewChangeQueue(grace)
		go queue.Run(ctx, checkPeriod, func(change Change) {
			got = append(got, ripened{change.Subject.String(), change.Count, time.Since(start)})
		})
		play(queue)
		stop()
		synctest.Wait()
	})
	return got
}

func TestSeveralObservationsWithinTheGracePeriodAreOneChangeThatRipensByTheFirst(t *testing.T) {
	got := runQueue(t, 5*time.Second, time.Minute, func(queue *ChangeQueue) {
		queue.Observe(mapA, time.Now())
		time.Sleep(2 * time.Second)
		queue.Observe(mapA, time.Now())
		queue.Observe(web, time.Now())
		time.Sleep(time.Minute)
	})
	want := []ripened{{mapA.String(), 2, 5 * time.Second}, {web.String(), 1, 7 * time.Second}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestASubjectThatChangesAfterItRipenedIsAnotherChange(t *testing.T) {
	got := runQueue(t, time.Second, time.Minute, func(queue *ChangeQueue) {
		for range 3 {
			queue.Observe(mapA, time.Now())
			time.Sleep(time.Second + time.Millisecond)
		}
	})
	ms := time.Millisecond
	want := []ripened{{mapA.String(), 1, 1000 * ms}, {mapA.String(), 1, 2001 * ms}, {mapA.String(), 1, 3002 * ms}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestWithoutAGracePeriodChangesRipenAtOnce(t *testing.T) {
	got := runQueue(t, 0, time.Hour, func(queue *ChangeQueue) {
		time.Sleep(time.Second)
		queue.Observe(mapA, time.Now())
		synctest.Wait()
		queue.Observe(mapB, time.Now())
		synctest.Wait()
	})
	want := []ripened{{mapA.String(), 1, time.Second}, {mapB.String(), 1, time.Second}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestAStandbysChangesRipenWhenItBeginsToRun(t *testing.T) {
	got := runQueue(t, time.Second, time.Hour, func(*ChangeQueue) {})
	if len(got) != 0 {
		t.Fatalf("an empty queue handed over %v", got)
	}
	synctest.Test(t, func(t *testing.T) {
		queue := NewChangeQueue(time.Second)
		queue.Observe(mapA, time.Now())
		time.Sleep(time.Hour)
		ctx, stop := context.WithCancel(t.Context())
		handed := make(chan Change, 1)
		go queue.Run(ctx, time.Hour, func(change Change) { handed <- change })
		synctest.Wait()
		if change := <-handed; change.Subject != mapA || time.Since(change.Since) != time.Hour {
			t.Errorf("handed over %v", change)
		}
		if queue.Len() != 0 {
			t.Errorf("%d changes are left", queue.Len())
		}
		stop()
	})
}

func TestAnOverlookedChangeRipensAtTheNextCheck(t *testing.T) {
	got := runQueue(t, time.Minute, 500*time.Millisecond, func(queue *ChangeQueue) {
		queue.Observe(mapA, time.Now().Add(-59*time.Second)) // as if the clock had jumped
		time.Sleep(2 * time.Second)
	})
	want := []ripened{{mapA.String(), 1, time.Second}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
