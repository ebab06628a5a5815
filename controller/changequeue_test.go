package controller

import (
	"context"
	"fmt"
	"runtime"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"kubernetes-deployment-restart-controller/catalog/names"
)

var (
	mapA = names.ConfigRef{Kind: names.ConfigMap, Namespace: "ns", Name: "a"}
	mapB = names.ConfigRef{Kind: names.ConfigMap, Namespace: "ns", Name: "b"}
	web  = names.WorkloadRef{Kind: names.Deployment, Namespace: "ns", Name: "web"}
)

// handedOver runs a queue within a synctest bubble and notes what is due when.
type handedOver struct {
	Workload, Subject string
	Count             int
	Last              bool
	After             time.Duration // since the start of the test
}

func workloadNamed(name string) names.WorkloadRef {
	return names.WorkloadRef{Kind: names.Deployment, Namespace: "ns", Name: name}
}

func dueFor(workload names.WorkloadRef, subject fmt.Stringer, count int, last bool, after time.Duration) handedOver {
	return handedOver{workload.Name, subject.String(), count, last, after}
}

func runQueue(t *testing.T, checkPeriod time.Duration, play func(*changeQueue)) []handedOver {
	t.Helper()
	var got []handedOver
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		start := time.Now()
		queue := newChangeQueue()
		go queue.Run(ctx, checkPeriod, func(change observedChange) {
			got = append(got, dueFor(change.Workload, change.Subject, change.Count, change.Last, time.Since(start)))
		})
		play(queue)
		stop()
		synctest.Wait()
	})
	return got
}

func TestSeveralObservationsWithinTheGracePeriodAreOneChangeThatIsDueByTheFirst(t *testing.T) {
	got := runQueue(t, time.Minute, func(queue *changeQueue) {
		queue.Observe(web, mapA, time.Now(), 5*time.Second)
		time.Sleep(2 * time.Second)
		queue.Observe(web, mapA, time.Now(), 5*time.Second)
		queue.Observe(web, web, time.Now(), 5*time.Second)
		time.Sleep(time.Minute)
	})
	want := []handedOver{dueFor(web, mapA, 2, true, 5*time.Second), dueFor(web, web, 1, true, 7*time.Second)}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestASubjectThatChangesAfterItWasDueIsAnotherChange(t *testing.T) {
	got := runQueue(t, time.Minute, func(queue *changeQueue) {
		for range 3 {
			queue.Observe(web, mapA, time.Now(), time.Second)
			time.Sleep(time.Second + time.Millisecond)
		}
	})
	ms := time.Millisecond
	want := []handedOver{dueFor(web, mapA, 1, true, 1000*ms), dueFor(web, mapA, 1, true, 2001*ms), dueFor(web, mapA, 1, true, 3002*ms)}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestWithoutAGracePeriodChangesAreDueAtOnce(t *testing.T) {
	got := runQueue(t, time.Hour, func(queue *changeQueue) {
		time.Sleep(time.Second)
		queue.Observe(web, mapA, time.Now(), 0)
		synctest.Wait()
		queue.Observe(web, mapB, time.Now(), 0)
		synctest.Wait()
	})
	want := []handedOver{dueFor(web, mapA, 1, true, time.Second), dueFor(web, mapB, 1, true, time.Second)}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestAStandbysChangesAreDueWhenItBeginsToRun(t *testing.T) {
	got := runQueue(t, time.Hour, func(*changeQueue) {})
	if len(got) != 0 {
		t.Fatalf("an empty queue handed over %v", got)
	}
	synctest.Test(t, func(t *testing.T) {
		queue := newChangeQueue()
		queue.Observe(web, mapA, time.Now(), time.Second)
		time.Sleep(time.Hour)
		ctx, stop := context.WithCancel(t.Context())
		handed := make(chan observedChange, 1)
		go queue.Run(ctx, time.Hour, func(change observedChange) { handed <- change })
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

// A standby may have watched for a week. What it saw first says nothing about an edit right before it leads.
func TestAStandbysLastEditHasItsGracePeriodAfterATakeover(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		queue := newChangeQueue()
		queue.Observe(web, mapA, time.Now(), time.Hour)
		queue.Observe(web, mapB, time.Now(), time.Hour)
		time.Sleep(24 * time.Hour)
		edited := time.Now()
		queue.Observe(web, mapA, edited, time.Hour)
		time.Sleep(5 * time.Minute)
		queue.Observe(web, mapA, time.Now(), time.Hour)
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		handed := make(chan observedChange)
		go queue.Run(ctx, time.Minute, func(change observedChange) { handed <- change })
		if change := <-handed; change.Subject != mapB || time.Since(edited) != 5*time.Minute {
			t.Errorf("first came %v, %s after the edit", change, time.Since(edited))
		}
		if change := <-handed; change.Subject != mapA || change.Count != 3 || !change.Since.Equal(edited) || time.Since(edited) != time.Hour {
			t.Errorf("then came %v, %s after the edit", change, time.Since(edited))
		}
	})
}

func TestAnOverlookedChangeIsDueAtTheNextCheck(t *testing.T) {
	got := runQueue(t, 500*time.Millisecond, func(queue *changeQueue) {
		queue.Observe(web, mapA, time.Now().Add(-59*time.Second), time.Minute) // as if the clock had jumped
		time.Sleep(2 * time.Second)
	})
	want := []handedOver{dueFor(web, mapA, 1, true, time.Second)}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// A workload with a longer grace period does not delay the others that use the
// same config, and one with a shorter one does not wait behind them.
func TestAChangeIsDueForEachWorkloadInItsOwnTime(t *testing.T) {
	slow, quick := workloadNamed("slow"), workloadNamed("quick")
	got := runQueue(t, time.Hour, func(queue *changeQueue) {
		now := time.Now()
		queue.Observe(slow, mapA, now, 2*time.Minute)
		queue.Observe(web, mapA, now, 5*time.Second)
		queue.Observe(quick, mapA, now, time.Second)
		if !queue.Holds(slow, mapA) || queue.Holds(slow, mapB) || queue.Len() != 1 {
			t.Errorf("holds the change: %t, another one: %t; %d subjects, want 1", queue.Holds(slow, mapA), queue.Holds(slow, mapB), queue.Len())
		}
		time.Sleep(time.Minute)
		if !queue.Holds(slow, mapA) || queue.Holds(web, mapA) {
			t.Error("after a minute the change is to wait for the one that is slow, and no other")
		}
		queue.Observe(slow, mapA, time.Now(), 2*time.Minute)
		queue.Observe(web, mapA, time.Now(), 5*time.Second)
		time.Sleep(2 * time.Minute)
	})
	want := []handedOver{
		dueFor(quick, mapA, 1, false, time.Second),
		dueFor(web, mapA, 1, false, 5*time.Second),
		dueFor(web, mapA, 1, false, 65*time.Second),
		dueFor(slow, mapA, 2, true, 2*time.Minute),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestAShorterGracePeriodHastensWhatWaits(t *testing.T) {
	got := runQueue(t, time.Hour, func(queue *changeQueue) {
		queue.Observe(web, mapA, time.Now(), 200*time.Hour)
		queue.Observe(web, mapB, time.Now(), time.Second)
		queue.Shorten(web, 2*time.Second) // which mapB does not wait for
		time.Sleep(time.Minute)
	})
	want := []handedOver{dueFor(web, mapB, 1, true, time.Second), dueFor(web, mapA, 1, true, 2*time.Second)}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestTheChangesOfAWorkloadThatIsGoneAreForgotten(t *testing.T) {
	other := workloadNamed("other")
	got := runQueue(t, time.Hour, func(queue *changeQueue) {
		for i, subject := range []fmt.Stringer{mapA, web, mapB} {
			queue.Observe(web, subject, time.Now(), time.Duration(i+1)*time.Second)
			queue.Observe(other, subject, time.Now(), time.Duration(3-i)*time.Second)
		}
		queue.Forget(web)
		if queue.Len() != 3 || queue.Holds(web, mapA) || !queue.Holds(other, mapA) {
			t.Errorf("%d subjects, want 3; of the one that is gone %t, of the other %t", queue.Len(), queue.Holds(web, mapA), queue.Holds(other, mapA))
		}
		time.Sleep(time.Minute)
		if queue.Len() != 0 || len(queue.pending) != 0 {
			t.Errorf("left are %d subjects, %d workloads", queue.Len(), len(queue.pending))
		}
	})
	want := []handedOver{
		dueFor(other, mapB, 1, true, time.Second), dueFor(other, web, 1, true, 2*time.Second), dueFor(other, mapA, 1, true, 3*time.Second),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestAChangeOfAConfigThatIsGoneBecomesOneOfTheWorkloadWithItsDeadline(t *testing.T) {
	got := runQueue(t, time.Minute, func(queue *changeQueue) {
		queue.Observe(web, mapA, time.Now(), 5*time.Second)
		queue.Observe(web, mapB, time.Now(), 5*time.Second)
		time.Sleep(time.Second)
		queue.Observe(web, mapA, time.Now(), 5*time.Second)
		queue.Abandon(web, mapA)
		queue.Abandon(web, mapA) // again
		queue.Abandon(web, mapB)
		if queue.Len() != 1 || !queue.Holds(web, web) || len(queue.Configs(web)) != 0 {
			t.Errorf("%d subjects, of configs %v", queue.Len(), queue.Configs(web))
		}
		time.Sleep(time.Minute)
	})
	want := []handedOver{dueFor(web, web, 3, true, 5*time.Second)}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestAQueueThatIsEmptyAgainKeepsNoMemoryOfWhatItHeld(t *testing.T) {
	queue, backlogs := newChangeQueue(), newBacklogs()
	before := heapInUse()
	for i := range 10_000 {
		workload := workloadNamed(strconv.Itoa(i))
		queue.Observe(workload, workload, time.Now(), 0)
	}
	changes, _ := queue.takeDue(time.Now(), time.Second)
	for _, change := range changes {
		backlogs.note(change)
	}
	for _, change := range changes {
		backlogs.settle(change.Workload)
	}
	if kept := heapInUse() - before; kept > 64<<10 {
		t.Errorf("%d KiB are kept", kept>>10)
	}
	runtime.KeepAlive(queue)
	runtime.KeepAlive(backlogs)
}

// sizeOf returns how many entries a queue has, and for how many changes they stand.
func sizeOf(q *changeQueue) (entries, changes int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, waiting := range q.pending {
		for _, change := range waiting {
			entries, changes = entries+1, changes+change.Count
		}
	}
	return entries, changes
}

func TestOneEntryStandsForAllFurtherChangesOfAWorkloadThatWaitsForMany(t *testing.T) {
	var entries, changes int
	got := runQueue(t, time.Hour, func(queue *changeQueue) {
		for i := range 2000 {
			config := names.ConfigRef{Kind: names.ConfigMap, Namespace: "ns", Name: fmt.Sprint("c-", i)}
			queue.Observe(web, config, time.Now(), time.Minute)
			queue.Observe(web, config, time.Now(), time.Minute)
		}
		entries, changes = sizeOf(queue)
		time.Sleep(2 * time.Minute)
	})
	if entries != maxChanges+1 || changes != 4000 {
		t.Errorf("%d entries for %d changes", entries, changes)
	}
	if last := got[len(got)-1]; len(got) != entries || last.Subject != web.String() || last.Count != 2*(2000-maxChanges) || last.After != time.Minute {
		t.Errorf("%d were due, the last one was %v", len(got), last)
	}
}

func TestTheWorkloadsOfANamespaceWaitForALimitedNumberOfChangesOneByOne(t *testing.T) {
	queue := newChangeQueue()
	observe := func(namespace string, workloads, changes int) {
		for i := range workloads {
			for j := range changes {
				config := names.ConfigRef{Kind: names.ConfigMap, Namespace: namespace, Name: fmt.Sprint("c-", j)}
				queue.Observe(names.WorkloadRef{Kind: names.Deployment, Namespace: namespace, Name: fmt.Sprint("web-", i)}, config, time.Now(), time.Hour)
			}
		}
	}
	observe("hostile", 300, maxChanges)
	if entries, changes := sizeOf(queue); entries > maxChangesIn+300 || changes != 300*maxChanges {
		t.Errorf("%d entries for %d changes", entries, changes)
	}
	before, _ := sizeOf(queue)
	observe("other", 3, 50)
	if entries, _ := sizeOf(queue); entries != before+150 {
		t.Errorf("%d entries of another namespace", entries-before)
	}
	for workload := range queue.pending {
		queue.Forget(workload)
	}
	if len(queue.numbers) > 0 || len(queue.subjects) > 0 {
		t.Errorf("%v and %d subjects are left", queue.numbers, len(queue.subjects))
	}
}
