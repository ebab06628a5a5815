package fairqueue

import (
	"fmt"
	"testing"
)

// The cost of an item must grow neither with how many items wait nor with how many
// namespaces they belong to.
func BenchmarkAddGetDone(b *testing.B) {
	for _, size := range []struct{ items, namespaces int }{{1, 1}, {100_000, 1}, {100_000, 10_000}} {
		b.Run(fmt.Sprintf("%d items of %d namespaces", size.items, size.namespaces), func(b *testing.B) {
			q := newTestQueue(8)
			items := make([]string, size.items)
			for i := range items {
				items[i] = fmt.Sprintf("%d/%d", i%size.namespaces, i)
				q.Add(items[i], "")
			}
			b.ReportAllocs()
			for b.Loop() {
				item, found := q.Get()
				if !found {
					b.Fatal("nothing waits")
				}
				q.Done(item)
				q.Add(item, "")
			}
		})
	}
}

// A namespace that may start nothing must cost nothing, however much of it waits.
func BenchmarkAddGetDoneBesideASlowNamespace(b *testing.B) {
	q := newTestQueue(8)
	for _, item := range names("slow", 5000) {
		q.Add(item, "")
	}
	for _, item := range getAll(q) {
		e := q.entries[item]
		q.overdue(e, e.watch)
	}
	q.Add("other/0", "")
	b.ReportAllocs()
	for b.Loop() {
		item, found := q.Get()
		if !found || item != "other/0" {
			b.Fatalf("got %q", item)
		}
		q.Done(item)
		q.Add(item, "")
	}
}
