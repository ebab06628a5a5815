package model

import (
	"testing"
	"time"
)

var app = WorkloadRef{"Deployment", "ns/app"}

// halt shows a halt of the settings since 25, which the app has caused.
func (p *play) halt(seconds float64, keys []string) {
	p.SeeHalt(Halt{At: at(seconds), Version: p.version, ID: "h", Config: settings, Keys: keys, Failed: []WorkloadRef{app}, Since: at(25)})
}

// remember shows that the config of the halt has another content.
func (p *play) remember(seconds float64) {
	p.SeeHalt(Halt{At: at(seconds), Version: p.version, ID: "h", Config: settings, Failed: []WorkloadRef{app}, Since: at(25), Gone: true})
}

// neighbor shows that the app restarts, and returns how it is then.
func (p *play) neighbor(seconds float64, wave int) Sight {
	p.ignored = Disagreeing // others do not restart
	s := p.sight
	s.Workload, s.UID, s.Wave = app, "app", wave
	s.At, s.Record, s.RestartedAt = at(0), record("first"), time.Time{}
	s.Version = p.version
	p.See(s)
	p.version++
	s.At, s.Version, s.RestartedAt, s.Record = at(seconds), p.version, at(seconds), record("second")
	p.See(s)
	return s
}

// The content of 20 has broken the app.
func TestNobodyRestartsForContentThatIsHalted(t *testing.T) {
	onlyB := []Use{{Config: settings, Keys: []string{"b"}}}
	for name, c := range map[string]struct {
		uses []Use // usesAll if it is nil
		keys []string
		tell func(p *play)
		want []string
	}{
		"at all":                                        {nil, nil, func(p *play) { p.restart(40, "second") }, []string{Halted}},
		"if that is kept by keys":                       {nil, []string{"a"}, func(p *play) { p.restart(40, "second") }, []string{Halted}},
		"unless somebody resumes it":                    {nil, nil, func(p *play) { p.Resume(Resume{at(35), "h"}); p.restart(40, "second") }, nil},
		"even if another one is resumed":                {nil, nil, func(p *play) { p.Resume(Resume{at(35), "i"}); p.restart(40, "second") }, []string{Halted}},
		"unless it is reverted":                         {nil, nil, func(p *play) { p.edit(35, "a=1 b=1"); p.restart(40, "again") }, nil},
		"unless it is fixed":                            {nil, []string{"a"}, func(p *play) { p.edit(35, "a=3 b=1"); p.restart(40, "third") }, nil},
		"even if another key is edited":                 {nil, []string{"a"}, func(p *play) { p.edit(35, "a=2 b=2"); p.restart(40, "third") }, []string{Halted}},
		"unless the one that failed runs":               {nil, nil, func(p *play) { p.recover(p.neighbor(22, 0), 30, 22); p.restart(55, "second") }, nil},
		"even if the one that failed runs for a moment": {nil, nil, func(p *play) { p.recover(p.neighbor(22, 0), 30, 22); p.restart(40, "second") }, []string{Halted}},
		"unless it runs after it has restarted again": {nil, nil, func(p *play) {
			p.Revert(Revert{at(28), at(28.1), app})
			p.recover(p.neighbor(22, 0), 30, 29)
			p.restart(40, "second")
		}, nil},
		"unless its pods have read it":                 {nil, nil, func(p *play) { p.live(2, time.Time{}, at(30)); p.restart(40, "second") }, nil},
		"unless it may be from the second of the halt": {nil, nil, func(p *play) { p.sight.InSeconds = true; p.restart(26.5, "second") }, nil},
		"even if it is only known to the second":       {nil, nil, func(p *play) { p.sight.InSeconds = true; p.restart(40, "second") }, []string{Halted}},
		"unless the one that failed is known by its pods": {nil, nil, func(p *play) {
			p.sight.ByPods = true
			p.neighbor(22, 0)
			p.restart(55, "second")
		}, nil},
		"but for other keys": {onlyB, []string{"a"}, func(p *play) { p.edit(35, "a=2 b=2"); p.restart(40, "third") }, nil},
	} {
		t.Run(name, func(t *testing.T) {
			if c.uses == nil {
				c.uses = usesAll
			}
			p := newPlay(Options{Lag: 5 * time.Second, Stall: 10 * time.Second}, c.uses)
			p.live(2, time.Time{}, time.Time{})
			p.edit(20, "a=2 b=1")
			p.halt(26, c.keys)
			c.tell(p)
			p.requireRules(t, c.want...)
		})
	}
}

// The app has failed with a content that somebody edits while it rolls.
func TestAHaltThatWasGoneAtFirstHeldNobody(t *testing.T) {
	for name, c := range map[string]struct {
		isEdited bool
		want     []string
	}{
		"if the config was edited since the restart that failed": {true, nil},
		"but not without an edit":                                {false, []string{Halted}},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPlay(Options{Lag: 5 * time.Second}, usesAll)
			p.live(2, time.Time{}, time.Time{})
			p.edit(20, "a=2 b=1")
			p.neighbor(22, 0)
			if c.isEdited {
				p.edit(23, "a=2 b=2")
			}
			p.remember(26)
			p.restart(40, "second")
			p.requireRules(t, c.want...)
		})
	}
}

// recover shows that all pods of a workload run, after a restart.
func (p *play) recover(s Sight, seconds, restarted float64) {
	p.version++
	s.At, s.Version, s.Whole, s.RestartedAt = at(seconds), p.version, true, at(restarted)
	p.See(s)
}

// An edit of 18 was recorded before the content of 20 broke the app.
func TestARestartIsForContentThatIsHaltedIfItRecordsWhatTheFailedOneDid(t *testing.T) {
	onlyB := []Use{{Config: settings, Keys: []string{"b"}}}
	for name, c := range map[string]struct {
		failed float64 // when the app restarted
		uses   []Use   // of the app
		tell   func(p *play)
		want   []string
	}{
		"whatever was before":                    {22, usesAll, func(p *play) { p.restart(40, "second") }, []string{Halted}},
		"unless it records something else":       {22, usesAll, func(p *play) { p.restart(40, "third") }, nil},
		"unless they read other keys":            {22, onlyB, func(p *play) { p.restart(40, "second") }, nil},
		"unless that one restarted before":       {19.5, usesAll, func(p *play) { p.restart(40, "second") }, nil},
		"unless that one restarted after":        {25.5, usesAll, func(p *play) { p.restart(40, "second") }, nil},
		"unless somebody resumes it":             {22, usesAll, func(p *play) { p.Resume(Resume{at(35), "h"}); p.restart(40, "second") }, nil},
		"unless it is reverted":                  {22, usesAll, func(p *play) { p.edit(35, "a=1 b=2"); p.restart(40, "second") }, nil},
		"unless its pods were replaced":          {22, usesAll, func(p *play) { p.see(35, func(s *Sight) { s.Template = "u" }); p.restart(40, "second") }, nil},
		"unless its pods have read it":           {22, usesAll, func(p *play) { p.live(2, time.Time{}, at(30)); p.restart(40, "second") }, nil},
		"unless that was decided before":         {22, usesAll, func(p *play) { p.restart(25.9, "second") }, nil},
		"unless one that fails later runs again": {22, usesAll, func(p *play) { p.failLater(); p.restart(40, "second") }, nil},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPlay(Options{Lag: 5 * time.Second, Stall: 10 * time.Second}, usesAll)
			p.live(2, time.Time{}, time.Time{})
			p.edit(18, "a=1 b=2")
			p.see(19, func(s *Sight) { s.Record = record("other") })
			p.edit(20, "a=2 b=2")
			p.sight.Uses = c.uses
			p.neighbor(c.failed, 0)
			p.sight.Uses = usesAll
			p.halt(26, nil)
			c.tell(p)
			p.requireRules(t, c.want...)
		})
	}
}

// failLater shows that another workload has failed, too, and restarts and runs after all.
func (p *play) failLater() {
	late := WorkloadRef{"Deployment", "ns/late"}
	p.SeeHalt(Halt{At: at(28), Version: p.version, ID: "h", Config: settings, Failed: []WorkloadRef{app, late}, Since: at(25)})
	s := p.sight
	s.Workload, s.UID = late, "late"
	p.recover(s, 32, 30)
}

func TestARestartFromBeforeAHaltWasKeptIsNotJudged(t *testing.T) {
	p := newPlay(Options{}, usesAll)
	p.edit(20, "a=2 b=1")
	p.restart(26, "second")
	p.halt(26, nil)
	p.requireRules(t)
}

func TestAHaltIsOutdatedOnceItsKeysHaveOtherContent(t *testing.T) {
	for name, c := range map[string]struct {
		keys []string
		then string
		want bool
	}{
		"which is fixed":                   {nil, "a=3 b=1", true},
		"which is reverted":                {[]string{"a"}, "a=1 b=1", true},
		"which stays":                      {nil, "", false},
		"while another key is edited":      {[]string{"a"}, "a=2 b=2", false},
		"while a key of unknown is edited": {nil, "a=2 b=2", true},
	} {
		p := newPlay(Options{}, usesAll)
		p.edit(20, "a=2 b=1")
		if c.then != "" {
			p.edit(40, c.then)
		}
		if got := p.IsOutdated(Halt{Config: settings, Keys: c.keys, Since: at(25)}); got != c.want {
			t.Errorf("the halt of a content %s: outdated %t", name, got)
		}
	}
	if p := newPlay(Options{}, usesAll); !p.IsOutdated(Halt{Config: other, Since: at(25)}) {
		t.Error("a halt of a config that never was is not outdated")
	}
}
