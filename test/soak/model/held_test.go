package model

import (
	"strconv"
	"testing"
	"time"
)

// openFrom is a window that opens and closes at these seconds.
func openFrom(opens, closes float64) Terms {
	return Terms{Window: Window{Exists: true, Opens: at(opens), Closes: at(closes)}}
}

var onHold = Terms{Hold: true}

// agree sets the terms of the settings.
func (p *play) agree(seconds float64, terms Terms) {
	p.Agree(TermsEdit{Begin: at(seconds), End: at(seconds + 0.01), Config: settings, Terms: terms})
}

func (p *play) hold(seconds float64, terms Terms) {
	p.see(seconds, func(s *Sight) { s.Terms = terms })
}

func TestNoRestartBeginsThatIsHeld(t *testing.T) {
	unreadable := Terms{Window: Window{Exists: true}}
	for name, c := range map[string]struct {
		tell func(p *play)
		want []string
	}{
		"by a hold": {func(p *play) {
			p.hold(10, onHold)
			p.edit(20, "a=2 b=1")
			p.restart(21, "second")
		}, []string{Held}},
		"by a hold, and after it it may": {func(p *play) {
			p.hold(10, onHold)
			p.edit(20, "a=2 b=1")
			p.hold(90, Terms{})
			p.restart(91, "second")
		}, nil},
		"by a closed window": {func(p *play) {
			p.hold(10, openFrom(60, 120))
			p.edit(20, "a=2 b=1")
			p.restart(21, "second")
		}, []string{Held}},
		"by a window, and may while it is open": {func(p *play) {
			p.hold(10, openFrom(60, 120))
			p.edit(20, "a=2 b=1")
			p.restart(60.1, "second")
			p.edit(80, "a=3 b=1")
			p.restart(120.5, "third") // which was decided on before
		}, nil},
		"by a window that was open": {func(p *play) {
			p.hold(10, openFrom(60, 120))
			p.edit(130, "a=2 b=1")
			p.restart(131, "second")
		}, []string{Held}},
		"by a window that cannot be read": {func(p *play) {
			p.hold(10, unreadable)
			p.edit(20, "a=2 b=1")
			p.restart(21, "second")
		}, []string{Held}},
		"by a window, unless it is paused": {func(p *play) {
			p.see(10, func(s *Sight) { s.Terms, s.Paused = unreadable, true })
			p.edit(20, "a=2 b=1")
			p.restart(21, "second")
		}, nil},
		"by a hold, even if it is paused": {func(p *play) {
			p.see(10, func(s *Sight) { s.Terms, s.Paused = onHold, true })
			p.edit(20, "a=2 b=1")
			p.restart(21, "second")
		}, []string{Held}},
		"unless a list shows it, before which that may have ended": {func(p *play) {
			p.hold(10, onHold)
			p.edit(20, "a=2 b=1")
			p.see(22, func(s *Sight) { s.Listed, s.RestartedAt, s.Record = true, at(21), record("second") })
		}, nil},

		"by its config": {func(p *play) {
			p.agree(10, onHold)
			p.edit(20, "a=2 b=1")
			p.restart(21, "second")
		}, []string{Held}},
		"by the window of its config": {func(p *play) {
			p.agree(10, openFrom(60, 120))
			p.edit(20, "a=2 b=1")
			p.restart(21, "second")
		}, []string{Held}},
		"by the window of its config, unless it has one": {func(p *play) {
			p.hold(5, openFrom(0, 60))
			p.agree(10, openFrom(60, 120))
			p.edit(20, "a=2 b=1")
			p.restart(21, "second")
		}, nil},
		"by its config, until that ends": {func(p *play) {
			p.agree(10, onHold)
			p.edit(20, "a=2 b=1")
			p.agree(30, Terms{})
			p.restart(31, "second")
		}, nil},
		"by its config, unless it may be for an edit from before": {func(p *play) {
			p.edit(9, "a=2 b=1")
			p.agree(10, onHold)
			p.edit(20, "a=3 b=1")
			p.restart(21, "second")
		}, nil},
		"by its config, unless its pods have read that already": {func(p *play) {
			p.agree(10, onHold)
			p.edit(20, "a=2 b=1")
			p.live(2, time.Time{}, at(20.5))
			p.live(22, time.Time{}, time.Time{})
			p.restart(25, "second")
		}, nil},
		"by its config, unless it is for another one": {func(p *play) {
			p.sight.Uses = []Use{{Config: settings}, {Config: other}}
			p.Configure(Edit{Begin: at(15), End: at(15.1), Config: other, Content: map[string]string{"a": "1"}})
			p.agree(10, onHold)
			p.edit(20, "a=2 b=1")
			p.see(21, func(s *Sight) {
				s.RestartedAt, s.Record = at(21), map[string]string{"configmap/ns/settings": "first", "configmap/ns/other": "x"}
			})
		}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPlay(Options{Lag: 5 * time.Second, Stall: 10 * time.Second}, usesAll)
			p.live(2, time.Time{}, time.Time{})
			c.tell(p)
			p.requireRules(t, c.want...)
		})
	}
}

var other = ConfigRef{"configmap", "ns/other"}

// A change is overlooked if it could have been answered for a minute. The settings change at 20.
func TestTheTimeInWhichARestartIsHeldDoesNotCount(t *testing.T) {
	for name, c := range map[string]struct {
		tell func(p *play)
		want []string
	}{
		"for a hold of the workload": {func(p *play) {
			p.hold(10, onHold)
			p.edit(20, "a=2 b=1")
			p.hold(150, Terms{})
			p.restart(200, "second")
		}, nil},
		"for a hold of the config": {func(p *play) {
			p.agree(10, onHold)
			p.edit(20, "a=2 b=1")
			p.agree(150, Terms{})
			p.restart(200, "second")
		}, nil},
		"for a closed window": {func(p *play) {
			p.hold(10, openFrom(150, 300))
			p.edit(20, "a=2 b=1")
			p.restart(200, "second")
		}, nil},
		"for a halt": {func(p *play) {
			p.edit(20, "a=2 b=1")
			p.halt(25, nil)
			p.halt(150, nil)
			p.Resume(Resume{at(151), "h"})
			p.restart(200, "second")
		}, nil},
		"but that in which a halt is only remembered does": {func(p *play) {
			p.edit(20, "a=2 b=1")
			p.halt(25, nil)
			p.remember(150)
			p.restart(200, "second")
		}, []string{Overlooked}},
		"for another workload that goes first": {func(p *play) {
			p.edit(20, "a=2 b=1")
			p.neighbor(25, 1)
			p.restart(100, "second")
		}, nil},
		"for another workload that evicts its pods": {func(p *play) {
			p.edit(20, "a=2 b=1")
			p.evictor(25, 90)
			p.restart(155, "second")
		}, nil},
		"but the time after its last pod does": {func(p *play) {
			p.edit(20, "a=2 b=1")
			p.evictor(25, 90)
			p.restart(180, "second")
		}, []string{Overlooked}},
		"but the time after it does": {func(p *play) {
			p.hold(10, onHold)
			p.edit(20, "a=2 b=1")
			p.hold(150, Terms{})
			p.restart(220, "second")
		}, []string{Overlooked}},
		"for the slow start of a later content, if there are many readers": {func(p *play) {
			p.crowd(manyReaders)
			p.edit(20, "a=2 b=1")
			p.edit(70, "a=3 b=1")
			p.edit(120, "a=4 b=1")
			p.restart(170, "fourth")
		}, nil},
		"but not for that of a content that came too late": {func(p *play) {
			p.crowd(manyReaders)
			p.edit(20, "a=2 b=1")
			p.edit(90, "a=3 b=1")
			p.restart(100, "third")
		}, []string{Overlooked}},
		"nor if there are few readers": {func(p *play) {
			p.crowd(manyReaders - 1)
			p.edit(20, "a=2 b=1")
			p.edit(70, "a=3 b=1")
			p.restart(100, "third")
		}, []string{Overlooked}},
		"but a hold of something else does": {func(p *play) {
			p.Agree(TermsEdit{Begin: at(10), End: at(10), Config: other, Terms: onHold})
			p.edit(20, "a=2 b=1")
			p.restart(200, "second")
		}, []string{Overlooked}},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPlay(Options{Patience: time.Minute, Gate: Gate{Deadline: 12 * time.Second}}, usesAll)
			c.tell(p)
			p.Note(at(400), "the end")
			p.requireRules(t, c.want...)
		})
	}
}

// Another config that the pods read is gone from 10 to 150.
func TestTheTimeInWhichNewPodsLackAConfigDoesNotCount(t *testing.T) {
	for optional, want := range map[bool][]string{false: nil, true: {Overlooked}} {
		p := newPlay(Options{Patience: time.Minute}, []Use{{Config: settings}, {Config: other, Optional: optional}})
		p.ignored = Disagreeing // the records do not name the other config
		p.Configure(Edit{Begin: at(10), End: at(10), Config: other})
		p.edit(20, "a=2 b=1")
		p.Configure(Edit{Begin: at(150), End: at(150), Config: other, Content: map[string]string{"c": "3"}})
		p.restart(200, "second")
		p.Note(at(400), "the end")
		p.requireRules(t, want...)
	}
}

func TestTheTimeInWhichTheClusterIsAwayDoesNotCount(t *testing.T) {
	for back, want := range map[float64][]string{130: nil, 70: {Overlooked}} {
		p := newPlay(Options{Patience: time.Minute}, usesAll)
		p.edit(20, "a=2 b=1")
		p.Away(at(30), at(back))
		p.restart(150, "second")
		p.Note(at(400), "the end")
		p.requireRules(t, want...)
	}
}

// evictor shows that the app restarts by eviction, and when its pods were replaced, of which the last one takes a second
// to start.
func (p *play) evictor(seconds, replaced float64) {
	p.sight.ByPods = true
	p.neighbor(seconds, 0)
	for _, old := range []Pod{{Name: "app-0", Gone: at(seconds + 10)}, {Name: "app-1", Gone: at(replaced)}} {
		old.Workload, old.Created, old.Started = app, at(1), at(2)
		p.SeePod(old)
	}
	p.SeePod(Pod{Name: "app-2", Workload: app, Created: at(replaced - 1), Started: at(replaced)})
}

// crowd adds workloads that read the same, and are not enabled.
func (p *play) crowd(size int) {
	for i := range size {
		s := p.sight
		s.Workload.Name += strconv.Itoa(i)
		s.UID, s.At, s.Enabled = s.Workload.Name, at(0), false
		p.See(s)
	}
}

func TestTimeThatIsCoveredTwiceCountsOnce(t *testing.T) {
	waits := []span{{at(10), at(30)}, {at(20), at(40)}, {at(25), at(35)}, {at(500), at(600)}}
	if got, want := afterWaits(at(0), time.Minute, waits), at(90); !got.Equal(want) {
		t.Errorf("a minute with half a minute of waits ends at %s, want %s", clock(got), clock(want))
	}
}

func TestTermsAreDescribed(t *testing.T) {
	for want, terms := range map[string]Terms{
		"no hold, no window":                         {},
		"a hold, a window from 12:01:00 to 12:02:00": {Hold: true, Window: openFrom(60, 120).Window},
		"no hold, a window that never opens":         {Window: Window{Exists: true}},
	} {
		if got := terms.String(); got != want {
			t.Errorf("%+v is described as %q, want %q", terms, got, want)
		}
	}
}
