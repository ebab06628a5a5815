package controller

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"kubernetes-deployment-restart-controller/catalog"
)

func workloadNamed(name string) catalog.WorkloadRef {
	return catalog.WorkloadRef{Kind: catalog.Deployment, Namespace: "ns", Name: name}
}

// popAll empties the lanes and returns the names in order.
func popAll(l *lanes) []string {
	var names []string
	for l.Len() > 0 {
		names = append(names, l.Pop().Name)
	}
	return names
}

func push(l *lanes, name string, lane catalog.ConfigRef) {
	l.assign(workloadNamed(name), lane)
	l.Push(workloadNamed(name))
}

func TestChangesTakeTurns(t *testing.T) {
	l := newLanes()
	for i := range 4 {
		push(l, fmt.Sprintf("shared-%d", i), mapA)
	}
	push(l, "single", mapB)
	l.Push(workloadNamed("retry")) // without a config
	want := []string{"shared-0", "single", "retry", "shared-1", "shared-2", "shared-3"}
	if diff := cmp.Diff(want, popAll(l)); diff != "" {
		t.Error(diff)
	}
}

func TestAWorkloadThatWaitsMovesToTheLaneOfAShorterChange(t *testing.T) {
	l := newLanes()
	for i := range 4 {
		push(l, fmt.Sprintf("shared-%d", i), mapA)
	}
	l.assign(workloadNamed("shared-3"), mapB)
	l.Touch(workloadNamed("shared-3"))
	want := []string{"shared-0", "shared-3", "shared-1", "shared-2"}
	if diff := cmp.Diff(want, popAll(l)); diff != "" {
		t.Error(diff)
	}
}

func TestAWorkloadThatWaitsDoesNotMoveToALongerLane(t *testing.T) {
	l := newLanes()
	push(l, "single", mapB)
	for i := range 4 {
		push(l, fmt.Sprintf("shared-%d", i), mapA)
	}
	l.assign(workloadNamed("single"), mapA)
	l.Touch(workloadNamed("single"))
	want := []string{"single", "shared-0", "shared-1", "shared-2", "shared-3"}
	if diff := cmp.Diff(want, popAll(l)); diff != "" {
		t.Error(diff)
	}
}

// As a set, whatever is assigned and touched, lanes hold what was pushed and not
// popped.
func TestNoWorkloadIsLostOrDoubled(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := newLanes()
		held := make(map[catalog.WorkloadRef]bool)
		workload := rapid.Custom(func(t *rapid.T) catalog.WorkloadRef {
			return workloadNamed(rapid.StringMatching(`[a-e]`).Draw(t, "name"))
		})
		lane := rapid.SampledFrom([]catalog.ConfigRef{{}, mapA, mapB})
		t.Repeat(map[string]func(*rapid.T){
			"add": func(t *rapid.T) {
				w := workload.Draw(t, "workload")
				l.assign(w, lane.Draw(t, "lane"))
				if held[w] {
					l.Touch(w)
				} else {
					l.Push(w)
				}
				held[w] = true
			},
			"pop": func(t *rapid.T) {
				if l.Len() == 0 {
					t.Skip("nothing to pop")
				}
				w := l.Pop()
				if !held[w] {
					t.Fatalf("popped %v, which does not wait", w)
				}
				delete(held, w)
			},
			"": func(t *rapid.T) {
				if l.Len() != len(held) {
					t.Fatalf("%d wait, want %d", l.Len(), len(held))
				}
			},
		})
		for l.Len() > 0 {
			delete(held, l.Pop())
		}
		if len(held) > 0 {
			t.Fatalf("lost %v", held)
		}
	})
}
