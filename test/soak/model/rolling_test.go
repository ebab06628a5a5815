package model

import (
	"fmt"
	"testing"
	"time"
)

// fleet is many workloads that read the settings, all recorded.
type fleet struct {
	*play
	apps []Sight
}

func newFleet(size int) *fleet {
	f := &fleet{play: newPlay(Options{Gate: Gate{Limit: 3, Deadline: 12 * time.Second}}, usesAll)}
	f.ignored = Disagreeing // others do not restart
	for i := range size {
		s := f.sight
		s.Workload, s.UID = WorkloadRef{"Deployment", fmt.Sprintf("ns/app-%d", i)}, fmt.Sprintf("app-%d", i)
		s.Version = f.version
		f.See(s)
		f.apps = append(f.apps, s)
	}
	f.edit(20, "a=2 b=1")
	return f
}

func (f *fleet) change(i int, seconds float64, change func(*Sight)) {
	s := &f.apps[i]
	change(s)
	f.version++
	s.At, s.Version = at(seconds), f.version
	f.See(*s)
}

// restartOf restarts one of them.
func (f *fleet) restartOf(i int, seconds float64) {
	f.change(i, seconds, func(s *Sight) { s.RestartedAt, s.Record, s.Whole = at(seconds), record("second"), false })
}

// The limit is three.
func TestNoMoreRestartsRollThanTheLimit(t *testing.T) {
	for name, c := range map[string]struct {
		tell func(f *fleet)
		want []string
	}{
		"as three do": {func(*fleet) {}, nil},
		"as four do":  {func(f *fleet) { f.restartOf(3, 25) }, []string{OverLimit}},
		"and a fourth may once one of them runs": {func(f *fleet) {
			f.change(1, 24, func(s *Sight) { s.Whole = true })
			f.restartOf(3, 25)
		}, nil},
		"and a fourth may once one of them is released": {func(f *fleet) {
			f.change(1, 24, func(s *Sight) { s.Template = "u" })
			f.restartOf(3, 25)
		}, nil},
		"and a fourth may once one of them is paused": {func(f *fleet) {
			f.change(1, 24, func(s *Sight) { s.Paused = true })
			f.restartOf(3, 25)
		}, nil},
		"and a fourth may once one of them is gone": {func(f *fleet) {
			f.Gone(f.apps[1].Workload, at(24))
			f.restartOf(3, 25)
		}, nil},
		"and a fourth may once one of them is stuck": {func(f *fleet) { f.restartOf(3, 34.5) }, nil},
		"and one that cannot roll does not count":    {func(f *fleet) { f.change(3, 24, func(s *Sight) { s.Paused = true }); f.restartOf(3, 25) }, nil},
		"unless that was not observed":               {func(f *fleet) { f.Gap(f.version, f.version+1); f.version++; f.restartOf(3, 25) }, nil},
		"even if a list shows the last one only then": {func(f *fleet) {
			f.change(3, 26, func(s *Sight) { s.Listed, s.RestartedAt, s.Record = true, at(25), record("second") })
		}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFleet(4)
			for i := range 3 {
				f.restartOf(i, 22+float64(i)/10)
			}
			c.tell(f)
			f.requireRules(t, c.want...)
		})
	}
}

func TestTheMostThatRollAtTheSameTimeAreCounted(t *testing.T) {
	f := newFleet(3)
	f.restartOf(0, 21)
	f.restartOf(1, 22)
	f.change(0, 23, func(s *Sight) { s.Whole = true })
	f.restartOf(2, 24)
	f.Verdict()
	if got := f.Tally().Rolling; got != 2 {
		t.Errorf("%d rolled at the same time, want 2", got)
	}
}

func TestALaterWaveBeginsOnceTheOthersRun(t *testing.T) {
	for name, c := range map[string]struct {
		second string // the name of the second one
		waves  [2]int
		whole  bool // the first one, before the second one restarts
		want   []string
	}{
		"which it does not wait for":      {"ns/second", [2]int{0, 1}, false, []string{OutOfTurn}},
		"which it waits for":              {"ns/second", [2]int{0, 1}, true, nil},
		"in another namespace":            {"elsewhere/second", [2]int{0, 1}, false, nil},
		"unless it is of the same wave":   {"ns/second", [2]int{1, 1}, false, nil},
		"unless it is of an earlier wave": {"ns/second", [2]int{1, 0}, false, nil},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFleet(1)
			second := f.apps[0]
			second.Workload.Name, second.UID = c.second, "second"
			f.See(second)
			f.apps = append(f.apps, second)
			for i := range f.apps {
				f.change(i, 10, func(s *Sight) { s.Wave = c.waves[i] })
			}
			f.restartOf(0, 21)
			if c.whole {
				f.change(0, 23, func(s *Sight) { s.Whole = true })
			}
			f.restartOf(1, 24)
			f.requireRules(t, c.want...)
		})
	}
}

// The controllers may have counted the pods of one that they judge by its pods before others can see them.
func TestOneThatIsKnownByItsPodsKeepsNobodyFromRestarting(t *testing.T) {
	f := newFleet(4)
	f.change(0, 10, func(s *Sight) { s.ByPods = true })
	for i := range 4 {
		f.restartOf(i, 22+float64(i)/10)
	}
	f.requireRules(t)
}
