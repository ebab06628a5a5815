package pending

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/controller/objecttest"
	"kubernetes-deployment-restart-controller/controller/rows"
)

// handedOver runs a queue within a synctest bubble and notes what is due when.
type handedOver struct {
	Workload, Subject string
	Count             int
	Last              bool
	After             time.Duration // since the start of the test
}

func dueFor(workload names.WorkloadRef, subject fmt.Stringer, count int, last bool, after time.Duration) handedOver {
	return handedOver{workload.Name, subject.String(), count, last, after}
}

// newQueue returns a queue with a table of its own.
func newQueue() *ChangeQueue {
	table := rows.New(func(c **Changes) bool { return *c == nil })
	return NewChangeQueue(rows.ColumnOf(table, func(c **Changes) **Changes { return c }))
}

func runQueue(t *testing.T, checkPeriod time.Duration, play func(*ChangeQueue)) []handedOver {
	t.Helper()
	var got []handedOver
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		start := time.Now()
		queue := newQueue()
		go queue.Run(ctx, checkPeriod, func(change ObservedChange) {
			got = append(got, dueFor(change.Workload, change.Subject, change.Count, change.Last, time.Since(start)))
		})
		play(queue)
		stop()
		synctest.Wait()
	})
	return got
}

func TestSeveralObservationsWithinTheGracePeriodAreOneChangeThatIsDueByTheFirst(t *testing.T) {
	got := runQueue(t, time.Minute, func(queue *ChangeQueue) {
		queue.Observe(objecttest.Web, objecttest.MapA, time.Now(), 5*time.Second)
		time.Sleep(2 * time.Second)
		queue.Observe(objecttest.Web, objecttest.MapA, time.Now(), 5*time.Second)
		queue.Observe(objecttest.Web, objecttest.Web, time.Now(), 5*time.Second)
		time.Sleep(time.Minute)
	})
	want := []handedOver{dueFor(objecttest.Web, objecttest.MapA, 2, true, 5*time.Second), dueFor(objecttest.Web, objecttest.Web, 1, true, 7*time.Second)}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestASubjectThatChangesAfterItWasDueIsAnotherChange(t *testing.T) {
	got := runQueue(t, time.Minute, func(queue *ChangeQueue) {
		for range 3 {
			queue.Observe(objecttest.Web, objecttest.MapA, time.Now(), time.Second)
			time.Sleep(time.Second + time.Millisecond)
		}
	})
	ms := time.Millisecond
	want := []handedOver{dueFor(objecttest.Web, objecttest.MapA, 1, true, 1000*ms), dueFor(objecttest.Web, objecttest.MapA, 1, true, 2001*ms), dueFor(objecttest.Web, objecttest.MapA, 1, true, 3002*ms)}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestWithoutAGracePeriodChangesAreDueAtOnce(t *testing.T) {
	got := runQueue(t, time.Hour, func(queue *ChangeQueue) {
		time.Sleep(time.Second)
		queue.Observe(objecttest.Web, objecttest.MapA, time.Now(), 0)
		synctest.Wait()
		queue.Observe(objecttest.Web, objecttest.MapB, time.Now(), 0)
		synctest.Wait()
	})
	want := []handedOver{dueFor(objecttest.Web, objecttest.MapA, 1, true, time.Second), dueFor(objecttest.Web, objecttest.MapB, 1, true, time.Second)}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestAStandbysChangesAreDueWhenItBeginsToRun(t *testing.T) {
	got := runQueue(t, time.Hour, func(*ChangeQueue) {})
	if len(got) != 0 {
		t.Fatalf("an empty queue handed over %v", got)
	}
	synctest.Test(t, func(t *testing.T) {
		queue := newQueue()
		queue.Observe(objecttest.Web, objecttest.MapA, time.Now(), time.Second)
		time.Sleep(time.Hour)
		ctx, stop := context.WithCancel(t.Context())
		handed := make(chan ObservedChange, 1)
		go queue.Run(ctx, time.Hour, func(change ObservedChange) { handed <- change })
		synctest.Wait()
		if change := <-handed; change.Subject != objecttest.MapA || time.Since(change.Since) != time.Hour {
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
		queue := newQueue()
		queue.Observe(objecttest.Web, objecttest.MapA, time.Now(), time.Hour)
		queue.Observe(objecttest.Web, objecttest.MapB, time.Now(), time.Hour)
		time.Sleep(24 * time.Hour)
		edited := time.Now()
		queue.Observe(objecttest.Web, objecttest.MapA, edited, time.Hour)
		time.Sleep(5 * time.Minute)
		queue.Observe(objecttest.Web, objecttest.MapA, time.Now(), time.Hour)
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		handed := make(chan ObservedChange)
		go queue.Run(ctx, time.Minute, func(change ObservedChange) { handed <- change })
		if change := <-handed; change.Subject != objecttest.MapB || time.Since(edited) != 5*time.Minute {
			t.Errorf("first came %v, %s after the edit", change, time.Since(edited))
		}
		if change := <-handed; change.Subject != objecttest.MapA || change.Count != 3 || !change.Since.Equal(edited) || time.Since(edited) != time.Hour {
			t.Errorf("then came %v, %s after the edit", change, time.Since(edited))
		}
	})
}

func TestAnOverlookedChangeIsDueAtTheNextCheck(t *testing.T) {
	got := runQueue(t, 500*time.Millisecond, func(queue *ChangeQueue) {
		queue.Observe(objecttest.Web, objecttest.MapA, time.Now().Add(-59*time.Second), time.Minute) // as if the clock had jumped
		time.Sleep(2 * time.Second)
	})
	want := []handedOver{dueFor(objecttest.Web, objecttest.MapA, 1, true, time.Second)}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// A workload with a longer grace period does not delay the others that use the
// same config, and one with a shorter one does not wait behind them.
func TestAChangeIsDueForEachWorkloadInItsOwnTime(t *testing.T) {
	slow, quick := objecttest.WorkloadNamed("slow"), objecttest.WorkloadNamed("quick")
	got := runQueue(t, time.Hour, func(queue *ChangeQueue) {
		now := time.Now()
		queue.Observe(slow, objecttest.MapA, now, 2*time.Minute)
		queue.Observe(objecttest.Web, objecttest.MapA, now, 5*time.Second)
		queue.Observe(quick, objecttest.MapA, now, time.Second)
		if !queue.Holds(slow, objecttest.MapA) || queue.Holds(slow, objecttest.MapB) || queue.Len() != 1 {
			t.Errorf("holds the change: %t, another one: %t; %d subjects, want 1", queue.Holds(slow, objecttest.MapA), queue.Holds(slow, objecttest.MapB), queue.Len())
		}
		time.Sleep(time.Minute)
		if !queue.Holds(slow, objecttest.MapA) || queue.Holds(objecttest.Web, objecttest.MapA) {
			t.Error("after a minute the change is to wait for the one that is slow, and no other")
		}
		queue.Observe(slow, objecttest.MapA, time.Now(), 2*time.Minute)
		queue.Observe(objecttest.Web, objecttest.MapA, time.Now(), 5*time.Second)
		time.Sleep(2 * time.Minute)
	})
	want := []handedOver{
		dueFor(quick, objecttest.MapA, 1, false, time.Second),
		dueFor(objecttest.Web, objecttest.MapA, 1, false, 5*time.Second),
		dueFor(objecttest.Web, objecttest.MapA, 1, false, 65*time.Second),
		dueFor(slow, objecttest.MapA, 2, true, 2*time.Minute),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestAShorterGracePeriodHastensWhatWaits(t *testing.T) {
	got := runQueue(t, time.Hour, func(queue *ChangeQueue) {
		queue.Observe(objecttest.Web, objecttest.MapA, time.Now(), 200*time.Hour)
		queue.Observe(objecttest.Web, objecttest.MapB, time.Now(), time.Second)
		queue.Shorten(objecttest.Web, 2*time.Second) // which MapB does not wait for
		time.Sleep(time.Minute)
	})
	want := []handedOver{dueFor(objecttest.Web, objecttest.MapB, 1, true, time.Second), dueFor(objecttest.Web, objecttest.MapA, 1, true, 2*time.Second)}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestTheChangesOfAWorkloadThatIsGoneAreForgotten(t *testing.T) {
	other := objecttest.WorkloadNamed("other")
	got := runQueue(t, time.Hour, func(queue *ChangeQueue) {
		for i, subject := range []fmt.Stringer{objecttest.MapA, objecttest.Web, objecttest.MapB} {
			queue.Observe(objecttest.Web, subject, time.Now(), time.Duration(i+1)*time.Second)
			queue.Observe(other, subject, time.Now(), time.Duration(3-i)*time.Second)
		}
		queue.Forget(objecttest.Web)
		if queue.Len() != 3 || queue.Holds(objecttest.Web, objecttest.MapA) || !queue.Holds(other, objecttest.MapA) {
			t.Errorf("%d subjects, want 3; of the one that is gone %t, of the other %t", queue.Len(), queue.Holds(objecttest.Web, objecttest.MapA), queue.Holds(other, objecttest.MapA))
		}
		time.Sleep(time.Minute)
		if queue.Len() != 0 || queue.HoldsAny(other) {
			t.Errorf("left are %d subjects", queue.Len())
		}
	})
	want := []handedOver{
		dueFor(other, objecttest.MapB, 1, true, time.Second), dueFor(other, objecttest.Web, 1, true, 2*time.Second), dueFor(other, objecttest.MapA, 1, true, 3*time.Second),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestAChangeOfAConfigThatIsGoneBecomesOneOfTheWorkloadWithItsDeadline(t *testing.T) {
	got := runQueue(t, time.Minute, func(queue *ChangeQueue) {
		queue.Observe(objecttest.Web, objecttest.MapA, time.Now(), 5*time.Second)
		queue.Observe(objecttest.Web, objecttest.MapB, time.Now(), 5*time.Second)
		time.Sleep(time.Second)
		queue.Observe(objecttest.Web, objecttest.MapA, time.Now(), 5*time.Second)
		queue.Abandon(objecttest.Web, objecttest.MapA)
		queue.Abandon(objecttest.Web, objecttest.MapA) // again
		queue.Abandon(objecttest.Web, objecttest.MapB)
		if queue.Len() != 1 || !queue.Holds(objecttest.Web, objecttest.Web) || len(queue.Configs(objecttest.Web)) != 0 {
			t.Errorf("%d subjects, of configs %v", queue.Len(), queue.Configs(objecttest.Web))
		}
		time.Sleep(time.Minute)
	})
	want := []handedOver{dueFor(objecttest.Web, objecttest.Web, 3, true, 5*time.Second)}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// sizeOf returns how many entries a queue has, and for how many changes they stand.
func sizeOf(q *ChangeQueue) (entries, changes int) {
	q.changes.Lock()
	defer q.changes.Unlock()
	for _, waiting := range q.changes.All() {
		for _, change := range waiting.All() {
			entries, changes = entries+1, changes+change.Count
		}
	}
	return entries, changes
}

func TestOneEntryStandsForAllFurtherChangesOfAWorkloadThatWaitsForMany(t *testing.T) {
	var entries, changes int
	got := runQueue(t, time.Hour, func(queue *ChangeQueue) {
		for i := range 2000 {
			config := names.ConfigRef{Kind: names.ConfigMap, Namespace: "ns", Name: fmt.Sprint("c-", i)}
			queue.Observe(objecttest.Web, config, time.Now(), time.Minute)
			queue.Observe(objecttest.Web, config, time.Now(), time.Minute)
		}
		entries, changes = sizeOf(queue)
		time.Sleep(2 * time.Minute)
	})
	if entries != maxChanges+1 || changes != 4000 {
		t.Errorf("%d entries for %d changes", entries, changes)
	}
	if last := got[len(got)-1]; len(got) != entries || last.Subject != objecttest.Web.String() || last.Count != 2*(2000-maxChanges) || last.After != time.Minute {
		t.Errorf("%d were due, the last one was %v", len(got), last)
	}
}

func TestTheWorkloadsOfANamespaceWaitForALimitedNumberOfChangesOneByOne(t *testing.T) {
	queue := newQueue()
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
	for workload := range queue.changes.All() {
		queue.Forget(workload)
	}
	if len(queue.numbers) > 0 || len(queue.subjects) > 0 {
		t.Errorf("%v and %d subjects are left", queue.numbers, len(queue.subjects))
	}
}

func TestAnotherObservationCopiesNothingAndKeepsItsTurn(t *testing.T) {
	queue, now := newQueue(), time.Now()
	second := objecttest.WorkloadNamed("second")
	for range 2 {
		queue.Observe(objecttest.Web, objecttest.MapA, now, time.Minute)
	}
	queue.Observe(second, objecttest.MapA, now, time.Minute)
	if allocated := testing.AllocsPerRun(10, func() { queue.Observe(objecttest.Web, objecttest.MapA, now, time.Minute) }); allocated > 1 { // that of the argument
		t.Errorf("%v allocations", allocated)
	}
	changes, _ := queue.TakeDue(now.Add(time.Hour), time.Hour)
	if len(changes) != 2 || changes[0].Workload != objecttest.Web || changes[1].Workload != second {
		t.Errorf("taken in the order %v", changes)
	}
}

// Everything else waits for the lock meanwhile.
func TestMuchThatIsDueIsTakenInPortions(t *testing.T) {
	queue, now := newQueue(), time.Now()
	for i := range 3 * mostTaken / 2 {
		queue.Observe(objecttest.WorkloadNamed(fmt.Sprint(i)), objecttest.MapA, now, 0)
	}
	for _, want := range []struct {
		taken int
		next  time.Duration
	}{{mostTaken, 0}, {mostTaken / 2, time.Hour}} {
		if changes, next := queue.TakeDue(now, time.Hour); len(changes) != want.taken || next != want.next {
			t.Errorf("%d are taken, the next ones in %s; want %+v", len(changes), next, want)
		}
	}
}
