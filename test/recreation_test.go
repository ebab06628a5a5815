package test

import "testing"

// What a config held counts, not which object held it.

func TestADeletedConfigIsNoReasonToRestart(t *testing.T) {
	t.Parallel()
	for _, c := range []config{settings, credentials} {
		t.Run(c.kind, func(t *testing.T) {
			s := newScene(t)
			s.make(c, set("used", "v1"))
			app := s.run("app", podOf(envFrom(c)))
			before := s.started(app)

			s.delete(c)
			s.settle()
			s.requireRestarts(app, before, 0)
		})
	}
}

func TestAConfigThatIsMadeAgain(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		// make makes the config, an ordinary or an immutable one.
		make func(*scene, config, ...change)
		// absence is what happens between the deletion and the making.
		absence func(*scene)
	}{
		{"at once", (*scene).make, func(*scene) {}},
		{"after the deletion was dealt with", (*scene).make, (*scene).settle},
		{"immutable and at once", (*scene).makeImmutable, func(*scene) {}},
		{"immutable and after the deletion was dealt with", (*scene).makeImmutable, (*scene).settle},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newScene(t)
			c.make(s, settings, set("used", "v1"), set("unused", "v1"))
			c.make(s, credentials, set("used", "v1"))
			app := s.run("app", podOf(envKey(settings, "used"), envFrom(credentials)))
			before := s.started(app)

			s.delete(settings)
			s.delete(credentials)
			c.absence(s)
			c.make(s, settings, set("used", "v1"), set("unused", "v2"), label("made", "again"))
			c.make(s, credentials, set("used", "v1"))
			s.settle()
			s.requireRestarts(app, before, 0) // what the containers see is the same

			s.delete(settings)
			c.absence(s)
			c.make(s, settings, set("used", "v2"), set("unused", "v2"))
			s.awaitRestart(app, before)
			s.settle()
			s.requireRestarts(app, before, 1)
		})
	}
}

func TestWritingTheSameContentAgainIsNotAChange(t *testing.T) {
	s := newScene(t)
	s.make(settings, set("used", "v1"))
	app := s.run("app", podOf(envFrom(settings)))
	s.started(app)
	s.stretchGrace(app)
	before := s.now(app)
	s.letTimePass() // or the pods may have read what is undone

	s.edit(settings, set("used", "v2"))
	s.edit(settings, set("used", "v1"), label("edit", "undone"))
	s.endGrace(app)
	s.settle()
	before = s.requireWrites(app, before, 0, 1)
	s.edit(settings, set("used", "v1"))
	s.edit(settings, label("edit", "none"))
	s.settle()
	s.requireRestarts(app, before, 0)
}
