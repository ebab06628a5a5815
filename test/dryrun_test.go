package test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestADryRunTellsWhatItWouldRestartAndWritesNothing(t *testing.T) {
	s := newSceneApart(t)
	s.grace = severalWrites
	s.make(settings, set("used", "v1"))
	s.make(credentials, set("used", "v1"))
	pod := podOf(envFrom(settings), envFrom(credentials))
	app, stateful, daemons := s.run("app", pod), s.runStateful("stateful", pod), s.runDaemons("daemons", pod)
	all := []workload{app, stateful, daemons, deployment(markerName)}

	first := s.startController() // so that there are records
	for _, w := range all {
		s.started(w)
	}
	s.must(first.Stop())
	unrecorded := s.run("unrecorded", pod)
	s.awaitRollout(unrecorded)
	before := s.versions()

	s.startController("--dry-run")
	edited := []config{settings, credentials}
	for _, config := range edited {
		s.edit(config, set("used", "v2"))
	}
	for _, w := range all[:3] {
		s.awaitEvent(w, "WouldRestart",
			"would restart: configmap settings changed (keys: used); secret credentials changed (1 key)")
		s.awaitMetric("dry_run_restarts_total", map[string]string{"kind": w.kind}, s.wouldRestart(w.kind))
	}
	s.eventually("the controller is idle", s.controller.Idle)
	s.must(s.controller.Stop()) // whatever it was about to write is written now

	after := s.versions()
	for _, config := range edited {
		key := config.kind + "s " + config.name
		delete(before, key)
		delete(after, key)
	}
	if diff := cmp.Diff(before, after); diff != "" {
		t.Errorf("resource versions (-before +after):\n%s", diff)
	}
}

// wouldRestart is how many workloads of a kind the dry run would restart: of the
// Deployments the one without a record, too.
func (s *scene) wouldRestart(kind string) float64 {
	if kind == "Deployment" {
		return 2
	}
	return 1
}
