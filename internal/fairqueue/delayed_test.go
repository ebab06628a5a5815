package fairqueue

import (
	"testing"
	"testing/synctest"
	"time"
)

func TestItemsAreAddedInTheOrderInWhichTheyAreDueAndKeepTheirFlows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newTestQueue(100)
		for _, item := range names("a", 3) {
			q.Add(item, "shared")
		}
		q.Add("a/alone", "single")
		for i, item := range getAll(q) { // a/0, a/alone, a/1, a/2
			q.AddAfter(item, time.Duration(10-i)*time.Second)
			q.Done(item)
		}
		q.AddAfter("a/2", time.Minute) // later than it is added anyway
		time.Sleep(10 * time.Second)
		expect(t, []string{"a/2", "a/alone", "a/1", "a/0"}, getAll(q))
	})
}

func TestAnItemThatIsHandedOutIsNotAddedForAnEarlierPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newTestQueue(100)
		q.AddAfter("a/0", time.Minute)
		q.Add("a/0", "")
		q.Done(getAll(q)[0])
		time.Sleep(time.Hour)
		if got := getAll(q); len(got) != 0 || len(q.entries) != 0 {
			t.Errorf("handed out again: %v; %d entries are left", got, len(q.entries))
		}
	})
}

func TestAPauseThatEndsWhileTheItemIsUnderWayAddsItAfterwards(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newTestQueue(100)
		q.Add("a/0", "")
		item := getAll(q)[0]
		q.AddAfter(item, time.Second)
		time.Sleep(time.Minute)
		if got := getAll(q); len(got) != 0 {
			t.Fatalf("under way twice: %v", got)
		}
		q.Done(item)
		expect(t, []string{"a/0"}, getAll(q))
	})
}
