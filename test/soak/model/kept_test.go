package model

import (
	"maps"
	"testing"
	"time"
)

// newKeptPlay is a play with a second config. Its restart at 21 is reverted at 23; from 22 on the second
// config is gone unless a test says otherwise.
func newKeptPlay(isGone bool) *play {
	more := ConfigRef{"secret", "ns/more"}
	p := newPlay(Options{Patience: time.Minute}, []Use{{Config: settings}, {Config: more, Optional: true}})
	p.Configure(Edit{Begin: at(-60), End: at(-60), Config: more, Content: map[string]string{"c": "1"}})
	p.recordBoth(2, "first")
	p.edit(20, "a=2 b=1")
	p.see(21, func(s *Sight) { s.RestartedAt, s.Record = at(21), both("second") })
	if isGone {
		p.Configure(Edit{Begin: at(22), End: at(22.01), Config: more})
	}
	return p
}

func both(label string) map[string]string {
	all := maps.Clone(record(label))
	all["secret/ns/more"] = "of more"
	return all
}

func (p *play) recordBoth(seconds float64, label string) {
	p.see(seconds, func(s *Sight) { s.Record = both(label) })
}

func (p *play) moreIsBack(seconds float64) {
	p.Configure(Edit{Begin: at(seconds), End: at(seconds + 0.01), Config: ConfigRef{"secret", "ns/more"}, Content: map[string]string{"c": "1"}})
}

// live shows a pod of the template with a restart timestamp.
func (p *play) live(started float64, restarted, gone time.Time) {
	seen := pod(started)
	seen.RestartedAt, seen.Gone = restarted, gone
	p.SeePod(seen)
}

// The settings change at 30.
func TestAChangeIsNotAnsweredAfterARevertWhileAConfigOfTheRecordIsGone(t *testing.T) {
	never := time.Time{}
	for name, c := range map[string]struct {
		isGone   bool
		reverted float64 // 0 for never
		then     func(p *play)
		want     []string
	}{
		"at all":                           {true, 23, func(*play) {}, nil},
		"and is once it is back":           {true, 23, func(p *play) { p.moreIsBack(200); p.recordBoth(250, "third") }, nil},
		"and is if it is restarted":        {true, 23, func(p *play) { p.see(200, func(s *Sight) { s.RestartedAt, s.Record = at(200), both("third") }) }, nil},
		"but must be once it is back":      {true, 23, func(p *play) { p.moreIsBack(200) }, []string{Overlooked}},
		"but must be soon once it is back": {true, 23, func(p *play) { p.moreIsBack(200); p.recordBoth(270, "third") }, []string{Overlooked}},
		// The model takes the timestamp for a restart, which nobody else makes in a soak.
		"but must be if the timestamp is back": {true, 23, func(p *play) { p.see(200, func(s *Sight) { s.RestartedAt = at(21) }) }, []string{Overlooked, Needless}},
		"but must be of another template":      {true, 23, func(p *play) { p.see(200, func(s *Sight) { s.Template = "without more" }) }, []string{Overlooked}},
		"but must be for a stale pod":          {true, 23, func(p *play) { p.live(25, never, never) }, []string{Overlooked}},
		"but must be for one if it is scaled": {true, 23, func(p *play) {
			p.live(25, never, never)
			for seconds := 40.; seconds < 400; seconds += 30 {
				p.see(seconds, func(s *Sight) { s.Rollout.Replicas++ })
			}
		}, []string{Overlooked}},
		"though a stale pod was soon gone":   {true, 23, func(p *play) { p.live(25, never, at(60)) }, nil},
		"though a pod has started since":     {true, 23, func(p *play) { p.edit(33, "a=4 b=1"); p.live(40, never, never) }, nil},
		"though a pod of another is stale":   {true, 23, func(p *play) { p.live(15, at(10), never) }, nil},
		"but must be if nothing is gone":     {false, 23, func(*play) {}, []string{Overlooked}},
		"but must be if nothing is reverted": {true, 0, func(*play) {}, []string{Overlooked}},
		"but must be before it is reverted":  {true, 100, func(*play) {}, []string{Overlooked}},
		"but must be if it is not recorded": {true, 23, func(p *play) {
			p.see(24, func(s *Sight) { s.RestartedAt, s.Record = at(24), record("second") })
			p.strip(25)
		}, []string{Overlooked}},
	} {
		t.Run(name, func(t *testing.T) {
			p := newKeptPlay(c.isGone)
			if c.reverted > 0 && c.reverted < 30 {
				p.strip(c.reverted)
			}
			p.edit(30, "a=3 b=1")
			if c.reverted > 30 {
				p.strip(c.reverted)
			}
			c.then(p)
			p.Note(at(400), "the end")
			p.requireRules(t, c.want...)
		})
	}
}
