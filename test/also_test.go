package test

import "testing"

// Configs that a program reads through the API, of its own namespace and of others.

const (
	alsoAnnotation    = "com.xing.deployment-restart.also"
	readersAnnotation = "com.xing.deployment-restart.readers"
)

// elsewhere opens another namespace of the same cluster, which the same controller watches.
func (s *scene) elsewhere() *scene {
	s.Helper()
	return enter(s.T, &place{cluster: s.cluster, installation: s.installation, controller: s.controller, hasEngine: s.hasEngine, auditLog: s.auditLog})
}

func TestAWorkloadRestartsForWhatItNamesIfThatIsSharedWithIt(t *testing.T) {
	s := newScene(t)
	other := s.elsewhere()
	flags, hidden := configMap("flags"), configMap("hidden")
	s.make(flags, set("used", "v1"))
	other.make(flags, set("used", "v1"))
	other.make(hidden, set("used", "v1"))
	app := s.run("app", podOf(), annotated(alsoAnnotation, "configmap/flags:us*, configmap/"+other.namespace+"/flags, configmap/"+other.namespace+"/hidden"))
	before := s.started(app)

	s.edit(flags, set("other", "v1"))
	other.edit(flags, set("used", "v2"))
	other.edit(hidden, set("used", "v2"))
	s.settle()
	s.requireRestarts(app, before, 0)
	s.edit(flags, set("used", "v2"))
	before = s.awaitRestart(app, before)

	// Sharing a config is only recorded; what follows counts, and no longer after the end of it.
	other.annotateConfig(flags, readersAnnotation, "e2e-*")
	s.letTimePass()
	s.settle()
	s.requireWrites(app, before, 0, 1)
	before = s.now(app)
	other.edit(flags, set("used", "v3"))
	before = s.awaitRestart(app, before)
	other.annotateConfig(flags, readersAnnotation, "")
	other.edit(flags, set("used", "v4"))
	s.settle()
	s.requireRestarts(app, before, 0)
	other.annotateConfig(flags, readersAnnotation, s.namespace)
	s.letTimePass()
	s.settle()
	s.requireWrites(app, before, 0, 1)

	before = s.now(app)
	s.annotate(app, alsoAnnotation, "")
	s.edit(flags, set("used", "v3"))
	other.edit(flags, set("used", "v5"))
	s.settle()
	s.requireWrites(app, before, 0, 2)
}

func TestASharedSecretThatIsEditedWhileNoControllerRunsRestartsItsReaders(t *testing.T) {
	s := newSceneApart(t)
	other := s.elsewhere()
	other.make(credentials, set("used", "v1"))
	other.annotateConfig(credentials, readersAnnotation, s.namespace)
	s.startController()
	app := s.run("app", podOf(), annotated(alsoAnnotation, "secret/"+other.namespace+"/credentials:used"))
	s.started(app)
	s.awaitEvent(app, "InvalidAnnotation", "annotation "+alsoAnnotation+": the controller does not watch configs in "+other.namespace+"; they do not count")
	both := func() { s.startController("--namespace", other.namespace) }
	s.must(s.controller.Stop())
	both()
	s.settle()
	before := s.now(app)
	s.must(s.controller.Stop())
	other.edit(credentials, set("unused", "v2"))
	both()
	s.settle()
	s.requireWrites(app, before, 0, 0)
	s.must(s.controller.Stop())
	other.edit(credentials, set("used", "v2"))
	both()
	s.awaitRestart(app, before)
}
