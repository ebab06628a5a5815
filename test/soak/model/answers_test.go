package model

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestAnAnswerIsARestartAndTheFirstEditThatItWasFor(t *testing.T) {
	for name, c := range map[string]struct {
		tell func(p *play)
		want []Answer // in seconds
	}{
		"of several": {func(p *play) {
			p.edit(20, "a=2 b=1")
			p.edit(21, "a=2 b=2")
			p.restart(23, "second")
		}, []Answer{answer(20, 23)}},
		"each time": {func(p *play) {
			p.edit(20, "a=2 b=1")
			p.restart(21, "second")
			p.edit(30, "a=3 b=1")
			p.restart(32, "third")
		}, []Answer{answer(20, 21), answer(30, 32)}},
		"since it was recorded": {func(p *play) {
			p.edit(20, "a=2 b=1")
			p.see(21, func(s *Sight) { s.Record = record("second") })
			p.edit(30, "a=3 b=1")
			p.restart(32, "third")
		}, []Answer{answer(30, 32)}},
		"that stayed": {func(p *play) {
			p.edit(20, "a=2 b=1")
			p.edit(21, "a=1 b=1")
			p.edit(30, "a=3 b=1")
			p.restart(32, "third")
		}, []Answer{answer(30, 32)}},
		"unless it was opted out meanwhile": {func(p *play) {
			p.edit(20, "a=2 b=1")
			p.see(21, func(s *Sight) { s.Enabled = false })
			p.see(30, func(s *Sight) { s.Enabled = true })
			p.restart(32, "second")
		}, nil},
		"unless it wanted no pods meanwhile": {func(p *play) {
			p.see(10, func(s *Sight) { s.WantsPods = false })
			p.edit(20, "a=2 b=1")
			p.see(30, func(s *Sight) { s.WantsPods = true })
			p.restart(32, "second")
		}, nil},
		"and none of what was reverted": {func(p *play) {
			p.edit(20, "a=2 b=1")
			p.restart(21, "second")
			p.strip(22)
			p.restart(23, "second")
		}, []Answer{answer(20, 21)}},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPlay(Options{}, usesAll)
			c.tell(p)
			if diff := cmp.Diff(c.want, p.Answers()); diff != "" {
				t.Errorf("other answers (-want +got):\n%s", diff)
			}
		})
	}
}

func answer(edited, restarted float64) Answer {
	end := at(edited + 0.01)
	return Answer{Edited: end, Took: at(restarted).Sub(end)}
}

func TestAVerdictTalliesWhatIsRightAndRare(t *testing.T) {
	p := newPlay(Options{Lag: 5 * time.Second}, usesAll)
	p.edit(20, "a=2 b=1")
	p.restart(21, "second")
	p.strip(22)
	p.restart(23, "second") // again
	p.edit(30, "a=3 b=1")
	p.podStarts(31)
	p.edit(32, "a=2 b=1")
	p.restart(33, "second") // since the content has returned
	p.edit(40, "a=3 b=1")
	p.edit(50, "a=2 b=1")
	p.Rest([]Pod{pod(45)}) // has read what nobody has seen
	p.requireRules(t)
	if diff := cmp.Diff(Tally{Again: 1, Returned: 1, Unknowable: 1}, p.Tally()); diff != "" {
		t.Errorf("another tally (-want +got):\n%s", diff)
	}
}
