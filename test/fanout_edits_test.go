package test

import (
	"slices"
	"testing"
)

// What edits do to a fan-out that is under way.

// runHalfwayThrough runs eight readers, and returns when two of them have the edit and two further ones are
// being restarted, whose pods are held back.
func (s *scene) runHalfwayThrough() (r *readers, restarted []workload) {
	s.Helper()
	s.startController("--fan-out=gradual", "--restart-soak=1s")
	s.make(settings, set("used", "v1"))
	r = s.readersOf(s.runHeld(inWave(0), "a", "b", "c", "d", "e", "f", "g", "h")...)
	s.edit(settings, set("used", "v2"))
	for _, begun := range []int{1, 2} {
		for _, w := range r.awaitRestarted(begun) {
			s.letAllGo(w)
		}
	}
	return r, r.awaitRestarted(4)
}

// The readers that still run the former content have proven it.
func TestARevertHalfwayRestartsAllThatHadTheEditAtOnce(t *testing.T) {
	s := newSceneApart(t)
	r, restarted := s.runHalfwayThrough()
	s.letTimePass()
	r.note()
	s.edit(settings, set("used", "v1"))
	r.awaitRestarted(4) // none of their pods runs
	s.settle()
	r.requireRestarted(restarted...)
	for _, w := range restarted {
		s.letAllGo(w)
	}
	s.awaitMetric("undelivered_restarts", nil, 0)
	s.awaitMetric("held_workloads", nil, 0)
	s.settle()
	r.requireRestarted(restarted...)
}

// Those that have the former edit are due again, like all others.
func TestAnotherEditOfTheSameKeyHalfwayStartsWithOneReaderAgain(t *testing.T) {
	s := newSceneApart(t)
	r, restarted := s.runHalfwayThrough()
	r.note()
	s.edit(settings, set("used", "v3"))
	first := r.awaitRestarted(1)
	s.settle()
	r.requireRestarted(first...)
	for _, w := range restarted {
		s.letAllGo(w) // the former restarts prove nothing about this edit
	}
	if !slices.Contains(restarted, first[0]) {
		s.settle()
		r.requireRestarted(first...)
	}
	s.letAllGo(first[0])
	for _, begun := range []int{2, 4, 8} {
		for _, w := range r.awaitRestarted(begun) {
			s.letAllGo(w)
		}
	}
}
