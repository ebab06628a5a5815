package test

import (
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
)

// Which of the configs and keys that its containers read count for a workload.

const (
	ignoreAnnotation = "com.xing.deployment-restart.ignore"
	onlyAnnotation   = "com.xing.deployment-restart.only"
)

func TestOnlyTheKeysThatCountRestartAWorkload(t *testing.T) {
	for name, filter := range map[string]struct{ annotation, value string }{
		"ignore": {ignoreAnnotation, "configmap/settings:BUILD_*, secret/other"},
		"only":   {onlyAnnotation, "configmap/settings:used, secret/credentials"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t)
			other := secret("other")
			for _, config := range []config{settings, credentials, other} {
				s.make(config, set("used", "v1"), set("BUILD_ID", "v1"))
			}
			app := s.run("app", podOf(envFrom(settings), envFrom(credentials), envFrom(other)), annotated(filter.annotation, filter.value))
			before := s.started(app)
			s.edit(settings, set("BUILD_ID", "v2"))
			s.edit(other, set("used", "v2"))
			s.settle()
			s.requireRestarts(app, before, 0)

			s.edit(settings, set("used", "v2"))
			before = s.awaitRestart(app, before)

			// Without the annotation everything counts, but not what was edited before.
			s.letTimePass()
			s.annotate(app, filter.annotation, "")
			s.settle()
			s.requireWrites(app, before, 0, 2)
			before = s.now(app)
			before.revisions = 2
			s.edit(other, set("used", "v3"))
			s.awaitRestart(app, before)
		})
	}
}

func annotated(name, value string) func(*appsv1.Deployment) {
	return func(d *appsv1.Deployment) { d.Annotations[name] = value }
}

func TestAConfigThatIsIgnoredRestartsNobodyUntilItCountsAgain(t *testing.T) {
	s := newScene(t)
	s.make(settings, set("used", "v1"))
	s.make(credentials, set("used", "v1"))
	app := s.run("app", podOf(envFrom(settings), envFrom(credentials)))
	before := s.started(app)
	s.annotateConfig(settings, ignoreAnnotation, "true")
	s.edit(settings, set("used", "v2"))
	s.settle()
	s.requireWrites(app, before, 0, 1)
	s.edit(credentials, set("used", "v2"))
	before = s.awaitRestart(app, before)

	s.edit(settings, set("used", "v3"))
	s.letTimePass()
	s.annotateConfig(settings, ignoreAnnotation, "")
	s.settle()
	s.requireWrites(app, before, 0, 1)
	before = s.now(app)
	s.edit(settings, set("used", "v4"))
	s.awaitRestart(app, before)
}

// A controller that did not run when a key began to count only records it.
func TestAFilterThatChangesWhileNoControllerRunsIsOnlyRecorded(t *testing.T) {
	s := newSceneApart(t)
	s.startController()
	other := configMap("other")
	s.make(settings, set("used", "v1"), set("BUILD_ID", "v1"))
	s.make(other, set("used", "v1"))
	app := s.run("app", podOf(envFrom(settings), envFrom(other)), annotated(ignoreAnnotation, "configmap/settings:BUILD_ID"))
	s.annotateConfig(other, ignoreAnnotation, "true")
	s.started(app)
	s.settle()
	before := s.now(app)
	s.must(s.controller.Stop())
	s.edit(settings, set("BUILD_ID", "v2"))
	s.edit(other, set("used", "v2"))
	s.annotateConfig(other, ignoreAnnotation, "")
	s.annotate(app, ignoreAnnotation, "")
	s.letTimePass()
	s.startController()
	s.settle()
	s.requireWrites(app, before, 0, 2)

	before = s.now(app)
	s.must(s.controller.Stop())
	s.edit(settings, set("BUILD_ID", "v3"))
	s.letTimePass()
	s.startController()
	s.awaitRestart(app, before)
}

func TestAFilterThatCannotBeUsedIsReportedAndLosesNoRestart(t *testing.T) {
	for name, test := range map[string]struct{ annotation, value, problem string }{
		"100 KiB":         {ignoreAnnotation, strings.Repeat("configmap/settings,", 100<<10/19), "102391 bytes are too many, the limit is 4096"},
		"another kind":    {ignoreAnnotation, "configmaps/settings", `cannot use the entry "configmaps/settings": it does not begin with "configmap/" or "secret/"`},
		"a wrong pattern": {onlyAnnotation, "secret/x, configmap/[ab]", `cannot use the entry "configmap/[ab]": a name has a character that no name has; it counts as absent, so everything counts`},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t)
			s.make(settings, set("used", "v1"))
			app := s.run("app", podOf(envFrom(settings)), annotated(test.annotation, test.value))
			before := s.started(app)
			s.awaitEvent(app, "InvalidAnnotation", "annotation "+test.annotation+": "+test.problem)
			s.edit(settings, set("used", "v2"))
			s.awaitRestart(app, before)
		})
	}
	t.Run("on a config", func(t *testing.T) {
		s := newScene(t)
		s.make(settings, set("used", "v1"))
		app := s.run("app", podOf(envFrom(settings)))
		before := s.started(app)
		s.annotateConfig(settings, ignoreAnnotation, "yes")
		s.awaitEventOn(settings, "InvalidAnnotation", `annotation `+ignoreAnnotation+`: "yes" is not "true", so changes of the config count`)
		s.edit(settings, set("used", "v2"))
		s.awaitRestart(app, before)
	})
}
