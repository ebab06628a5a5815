package model

import "testing"

// rolloutPlay is a Deployment of 4 pods in the middle of a rollout, 3 old and 2 new.
func rolloutPlay() *play {
	p := &play{Model: New(Options{}), sight: Sight{Workload: web, UID: "1", Created: at(0), WantsPods: true,
		Rollout: Rollout{Generation: 2, Observed: 2, Replicas: 4, Surge: 1, Unavailable: 1}}}
	p.see(0, func(*Sight) {})
	p.set(1, "old", 4, 4)
	p.set(2, "new", 1, 0)
	p.set(3, "old", 3, 4)
	p.set(4, "new", 2, 0)
	p.set(5, "old", 3, 3)
	p.set(6, "new", 2, 2)
	return p
}

func (p *play) set(seconds float64, name string, replicas, available int) {
	p.version++
	p.SeeSet(SetSight{At: at(seconds), Version: p.version, Deployment: "1", Name: name, Replicas: replicas, Available: available})
}

func (p *play) scale(seconds float64, replicas int, observed bool) {
	p.see(seconds, func(s *Sight) {
		s.Rollout.Generation++
		s.Rollout.Replicas = replicas
		if observed {
			s.Rollout.Observed = s.Rollout.Generation
		}
	})
}

func TestARollout(t *testing.T) {
	for _, c := range []struct {
		name string
		tell func(p *play)
		want []string
	}{
		{"goes on within its bounds", func(p *play) {
			p.set(7, "old", 1, 3)
			p.set(8, "new", 4, 2)
		}, nil},
		{"may not make too many pods", func(p *play) { p.set(7, "new", 3, 2) }, []string{OutOfBounds}},
		{"may not make too many pods with another ReplicaSet", func(p *play) { p.set(7, "third", 1, 0) }, []string{OutOfBounds}},
		{"may not take away too many available pods", func(p *play) { p.set(7, "old", 0, 3) }, []string{OutOfBounds}},
		{"may take away pods that are not available", func(p *play) {
			p.set(7, "old", 3, 1)
			p.set(8, "old", 1, 1)
		}, nil},
		{"may take away pods while others are lost", func(p *play) {
			p.set(7, "new", 2, 0)
			p.set(7.5, "old", 2, 3)
		}, nil},
		{"may not take away pods long after others are lost", func(p *play) {
			p.set(7, "new", 2, 0)
			p.see(12, func(s *Sight) { s.Wave = 1 })
			p.set(12.1, "old", 2, 3)
		}, []string{OutOfBounds}},
		{"may take away pods before anybody sees that others are lost", func(p *play) {
			p.set(7, "new", 2, 0)
			p.set(12, "old", 2, 3) // nothing is seen in between: etcd was killed
		}, nil},
		{"may take away pods that were lost right before", func(p *play) {
			p.set(7, "old", 3, 0)
			p.set(7.2, "old", 0, 0)
		}, nil},
		{"may grow as soon as it is scaled up", func(p *play) {
			p.scale(7, 6, false)
			p.set(8, "new", 4, 2)
		}, nil},
		{"may act on the generation that is observed", func(p *play) {
			p.scale(7, 2, false)
			p.set(8, "old", 2, 3)
			p.set(9, "new", 3, 2)
		}, nil},
		{"may not act on a generation that is gone by", func(p *play) {
			p.scale(7, 2, true)
			p.set(8, "old", 2, 3)
			p.set(9, "new", 3, 2)
		}, []string{OutOfBounds}},
		{"may lose available pods when it is scaled down", func(p *play) {
			p.scale(7, 2, true)
			p.set(8, "new", 0, 2)
		}, nil},
		{"is not judged by what a list shows", func(p *play) {
			p.SeeSet(SetSight{At: at(7), Version: 99, Listed: true, Deployment: "1", Name: "new", Replicas: 9})
		}, nil},
		{"is not judged in a gap", func(p *play) {
			p.set(7, "new", 3, 2)
			p.Gap(p.version, p.version)
		}, nil},
		{"of one that recreates does not run two templates", func(p *play) {
			p.see(6.5, func(s *Sight) { s.Rollout.Recreate, s.Rollout.Surge = true, 4 })
			p.set(7, "new", 3, 2)
		}, []string{OutOfBounds}},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := rolloutPlay()
			p.requireRules(t)
			c.tell(p)
			p.requireRules(t, c.want...)
		})
	}
}
