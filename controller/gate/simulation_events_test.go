package gate

import (
	"maps"
	"time"
)

// happen lets one thing happen.
func (f *fleet) happen() {
	a, c := f.apps[f.random.IntN(len(f.apps))], f.configs[f.random.IntN(len(f.configs))]
	switch n := f.random.IntN(100); {
	case n < 25:
		f.editSome(c)
	case n < 32:
		f.editSome(c)
		f.editSome(f.configs[f.random.IntN(len(f.configs))])
	case n < 37:
		f.release(a)
	case n < 41:
		f.undo(a)
	case n < 44:
		f.remove(a)
	case n < 50:
		f.togglePause(a)
	case n < 53:
		a.isUnwell = !a.isUnwell
	case n < 55:
		f.outage()
	case n < 60:
		f.recover(a)
	case n < 64:
		a.refusals = 1 + f.random.IntN(6)
	case n < 70:
		f.kill()
	case n < 73:
		a.slowedUntil = f.now.Add(f.upTo(5 * time.Minute))
	case !f.isOff:
		f.ask(a, c, n)
	}
}

// ask lets a person ask for something by an annotation.
func (f *fleet) ask(a *app, c *simConfig, n int) {
	switch {
	case n < 78:
		f.say("%s held: %v", a, !a.isHeld)
		a.isHeld = !a.isHeld
		f.look(a)
	case n < 81:
		f.say("%s held: %v", c.ref, !c.isHeld)
		c.isHeld = !c.isHeld
		f.look(f.readers(c.keys)...)
	case n < 86:
		a.closedUntil = f.now.Add(f.upTo(10 * time.Minute))
		f.look(a)
	case n < 89:
		c.isUrgent = true
		f.look(f.readers(c.keys)...)
	case n < 92:
		c.isGradual = !c.isGradual
		f.say("%s is gradual: %v", c.ref, c.isGradual)
		f.look(f.readers(c.keys)...)
	case n < 95:
		a.wave = int16(f.random.IntN(3) - 1)
		f.say("%s in wave %d", a, a.wave)
		f.expect(a)
	default:
		f.resume()
	}
}

// look has the leader look at workloads again.
func (f *fleet) look(apps ...*app) {
	f.tell(func(l *leader) {
		for _, a := range apps {
			l.enqueue(a)
		}
	})
}

// expect has the leader look at a workload after its grace period.
func (f *fleet) expect(a *app) {
	if a.isGone {
		return
	}
	f.tell(func(l *leader) {
		l.ledger.Expect(a.ref, a.wave)
		l.pending[a] = true
		l.enqueueAfter(a, 5*time.Second)
	})
}

func (f *fleet) editSome(c *simConfig) {
	var keys []*simKey
	for _, k := range c.keys {
		if len(keys) == 0 || f.chance(3) {
			keys = append(keys, k)
		}
	}
	if f.chance(2) {
		keys = []*simKey{c.keys[f.random.IntN(len(c.keys))]}
	}
	f.edit(c, keys, func(k *simKey) *content {
		if len(k.past) > 0 && f.chance(4) {
			return k.past[f.random.IntN(len(k.past))]
		}
		return &content{number: int(f.moment), breaks: []int{0, 0, 0, 1, 2, 3}[f.random.IntN(6)]}
	})
}

func (f *fleet) edit(c *simConfig, keys []*simKey, next func(*simKey) *content) {
	f.moment++
	c.isUrgent = false
	for _, k := range keys {
		k.past = append(k.past, k.content)
		if content := next(k); content != k.content {
			k.content, k.moment = content, f.moment
		}
		f.say("edit %d of %s %s: content %d breaks one of %d", f.moment, c.ref, k.name, k.content.number, k.content.breaks)
	}
	f.tell(func(l *leader) { l.noteContent(c) })
	for _, a := range f.readers(keys) {
		f.expect(a)
	}
}

// release is a new template. Its pods have the present content, and the restart before is over.
func (f *fleet) release(a *app) {
	if a.isGone {
		return
	}
	f.say("%s is released", a)
	a.previous, a.recorded = a.recorded, maps.Clone(a.recorded)
	for _, k := range a.reads {
		a.recorded[k] = k.content
	}
	f.abandon(a)
}

// undo goes back to the template and the record of before.
func (f *fleet) undo(a *app) {
	if !a.isGone && a.previous != nil {
		f.say("%s is undone", a)
		a.recorded = a.previous
		f.abandon(a)
	}
}

// abandon ends a restart that says nothing any more.
func (f *fleet) abandon(a *app) {
	f.tell(func(l *leader) {
		l.end(a, neutral)
		l.enqueue(a)
	})
	a.rollout = nil
}

func (f *fleet) remove(a *app) {
	f.say("%s is deleted", a)
	a.isGone, a.rollout = true, nil
	f.look(a)
}

func (f *fleet) togglePause(a *app) {
	if a.isGone {
		return
	}
	f.say("%s paused: %v", a, !a.cannotRoll)
	if a.cannotRoll = !a.cannotRoll; a.cannotRoll {
		f.abandon(a)
	}
	f.look(a)
}

// outage takes nodes away for some minutes. The pods of many workloads are gone, and restarts that are under
// way say nothing any more.
func (f *fleet) outage() {
	share := 1 + f.random.IntN(3)
	for _, a := range f.apps {
		if !f.chance(share) || a.isGone || a.isUnwell {
			continue
		}
		f.say("%s loses its pods", a)
		f.outages++
		a.isUnwell = true
		if r := a.rollout; r != nil {
			f.after(f.upTo(time.Minute), func() { f.finish(a, r, neutral) })
		}
		f.after(f.upTo(5*time.Minute), func() {
			f.say("%s has its pods again", a)
			a.isUnwell = false
		})
	}
}

// calmDown lets nothing more happen than what has begun. Nobody looks at a workload unless it was held,
// so a wake-up that was lost stays lost.
func (f *fleet) calmDown() {
	f.say("calm")
	f.isQuiet = true
	if f.leader == nil {
		f.lead()
	}
	for _, c := range f.configs {
		if c.isHeld {
			c.isHeld = false
			f.look(f.readers(c.keys)...)
		}
	}
	for _, a := range f.apps {
		if a.isHeld {
			a.isHeld = false
			f.look(a)
		}
	}
}

// fixEverything makes all contents good. What failed for another reason runs again.
func (f *fleet) fixEverything() {
	f.say("fixed")
	for _, h := range f.halts {
		for _, k := range h.config.keys {
			k.content = &content{number: k.content.number, breaks: 1}
		}
	}
	for _, c := range f.configs {
		var bad []*simKey
		for _, k := range c.keys {
			if k.content.breaks > 0 {
				bad = append(bad, k)
			}
		}
		if len(bad) > 0 {
			f.edit(c, bad, func(*simKey) *content { return &content{number: int(f.moment)} })
		}
	}
}
