package model

import (
	"testing"
	"time"
)

func TestARestartThatIsReverted(t *testing.T) {
	for _, c := range []struct {
		name string
		tell func(p *play)
		want []string
	}{
		{"is made again, and the record says the same", func(p *play) {
			p.strip(22)
			p.restart(23, "second")
			p.rest(24)
		}, nil},
		{"is made again, and the record says more", func(p *play) {
			p.strip(22)
			p.edit(22.5, "a=3 b=1")
			p.restart(23, "third")
			p.rest(24)
		}, nil},
		{"is not made again if all pods have the change", func(p *play) {
			p.strip(30)
			p.rest(22)
		}, nil},
		{"leaves pods behind, which is one of a loss", func(p *play) {
			p.strip(22)
			p.rest(1)
		}, []string{Lost}},
		{"is made again only once", func(p *play) {
			p.strip(22)
			p.restart(23, "second")
			p.restart(24, "second")
			p.rest(25)
		}, []string{Needless}},
		{"is made again as often as it is reverted", func(p *play) {
			p.strip(22)
			p.restart(23, "second")
			p.strip(24)
			p.restart(25, "second")
			p.rest(26)
		}, nil},
		{"twice may be made again only once", func(p *play) {
			p.strip(22)
			p.strip(22.5)
			p.restart(23, "second")
			p.restart(24, "second")
			p.rest(25)
		}, []string{Needless}},
		{"uses up no change that is not recorded", func(p *play) {
			p.edit(21.5, "a=3 b=1")
			p.strip(22)
			p.restart(23, "second") // the controller has not learned of the edit yet
			p.restart(24, "third")
			p.rest(25)
		}, nil},
		{"uses up the change that is recorded", func(p *play) {
			p.edit(21.5, "a=3 b=1")
			p.strip(22)
			p.restart(23, "third")
			p.restart(24, "third")
			p.rest(25)
		}, []string{Needless}},
		{"long before does not account for a restart", func(p *play) {
			p.strip(22)
			p.restart(90, "second")
			p.rest(91)
		}, []string{Needless}},
		{"in its own future does not account for a restart", func(p *play) {
			p.restart(23, "second")
			p.strip(24)
			p.rest(25)
		}, []string{Needless}},
		{"is no matter of a workload that is made again", func(p *play) {
			p.strip(22)
			p.Gone(web, at(23))
			p.see(24, func(s *Sight) { s.UID, s.Created = "2", at(24) })
			p.see(25, func(s *Sight) { s.Record = record("as it is") })
			p.restart(26, "as it is")
			p.rest(27)
		}, []string{Needless}},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newPlay(Options{Patience: time.Minute}, usesAll)
			p.edit(20, "a=2 b=1")
			p.restart(21, "second")
			c.tell(p)
			p.requireRules(t, c.want...)
		})
	}
}

// Whether a revert that was under way was carried out before or after a restart, nobody knows.
func TestARevertThatWasUnderWayMayAccountForTwoRestarts(t *testing.T) {
	p := newPlay(Options{}, usesAll)
	p.edit(20, "a=2 b=1")
	p.restart(21, "second")
	p.Revert(Revert{Begin: at(22), End: at(26), Workload: web})
	p.restart(24, "second")
	p.restart(27, "second")
	p.rest(28)
	p.requireRules(t)
	p.restart(29, "second")
	p.requireRules(t, Needless)
}
