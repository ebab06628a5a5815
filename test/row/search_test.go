package row

import (
	"bytes"
	"flag"
	"hash/maphash"
	"runtime/debug"
	"testing"
)

var searchedEvents = flag.Int("search.events", defaultEvents, "how many events the search draws")

// TestOneBadContentBreaksOneWorkload searches all that can happen within a number of events, at any time, and checks the
// invariant at each step. The first event is an edit.
func TestOneBadContentBreaksOneWorkload(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(400))
	for _, byEviction := range []bool{false, true} {
		s := newSearch(byEviction)
		for events := range *searchedEvents + 1 {
			s.events = events
			if s.run(*searchedEvents - events); s.problem != "" {
				t.Fatalf("by eviction: %t: %s\n%s", byEviction, s.problem, script(s.worst, s.all, byEviction))
			}
		}
		t.Logf("by eviction: %t: %d states", byEviction, len(s.seen))
	}
}

// search is a search by breadth in the number of events, and by depth in time.
type search struct {
	all    []event
	seeds  [2]maphash.Seed
	seen   map[[2]uint64]int32 // the states, with the number of the line of ticks in which they were seen first
	lines  int32
	next   []node // the states that are new after so many events
	events int
	buffer []byte

	problem string
	worst   *step
}

// node is a state, and how it came about.
type node struct {
	world *world
	path  *step
	line  int32
}

type step struct {
	former *step
	event  int // its index, or tick
}

const tick = -1

func newSearch(byEviction bool) *search {
	return &search{
		all: allEvents(), seeds: [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}, seen: make(map[[2]uint64]int32),
		next: []node{{newWorld(byEviction), nil, 0}},
	}
}

// run goes on from all states that are new after so many events. So many more may follow. All that time brings comes first:
// what an event brings as well is known with one event less.
func (s *search) run(left int) {
	level := s.next
	for i := 0; i < len(level); i++ {
		if m, isOver := s.pass(level[i]); !isOver {
			level = append(level, m)
		}
	}
	s.next = nil
	for i := range level {
		if left > 0 && s.problem == "" {
			s.draw(level[i], left)
		}
		level[i] = node{} // to save memory
	}
}

func (s *search) newLine() int32 {
	s.lines++
	return s.lines
}

// draw lets each event happen in a state.
func (s *search) draw(n node, left int) {
	for i := range s.all {
		if n.path == nil && i >= edits || n.path != nil && s.events == 0 {
			return // it begins with an edit
		}
		if !s.all[i].may(n.world) {
			continue
		}
		m := node{n.world.clone(), &step{n.path, i}, s.newLine()}
		s.all[i].do(m.world)
		if m.world.isVoid || m.world.isExcused {
			continue
		}
		if isKnown, _ := s.note(m, m.world.check()); isKnown {
			continue
		}
		if left > 1 {
			s.next = append(s.next, m)
			continue
		}
		for isOver := false; !isOver && s.problem == ""; {
			m, isOver = s.pass(m)
		}
	}
}

// pass lets time pass, and reports whether all is known that follows.
func (s *search) pass(n node) (next node, isOver bool) {
	next = node{n.world.clone(), &step{n.path, tick}, n.line}
	next.world.tick()
	if next.world.isExcused {
		return next, true
	}
	isKnown, line := s.note(next, next.world.check())
	switch {
	case !isKnown:
		return next, false
	case bytes.Equal(next.world.encode(nil), n.world.encode(nil)): // nothing happens any more
		s.report(next, next.world.checkEnd())
	case line == n.line:
		s.report(next, "it goes round in circles")
	}
	return next, true
}

// note notes a state, and reports whether it is known, and in which line it was seen first.
func (s *search) note(n node, problem string) (isKnown bool, line int32) {
	s.report(n, problem)
	s.buffer = n.world.encode(s.buffer[:0])
	key := [2]uint64{maphash.Bytes(s.seeds[0], s.buffer), maphash.Bytes(s.seeds[1], s.buffer)}
	if line, isKnown = s.seen[key]; !isKnown {
		s.seen[key] = n.line
	}
	return isKnown, line
}

func (s *search) report(n node, problem string) {
	if problem != "" && s.problem == "" {
		s.problem, s.worst = problem, n.path
	}
}
