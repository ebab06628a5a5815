package test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestADryRunReportsWhatItWouldRestartAndWritesNothing(t *testing.T) {
	s := newSceneApart(t)
	s.grace = 3 * time.Second // far above the time between the first and the last of what was missed while suspended
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

	resume, err := s.startController("--dry-run").Suspend()
	s.must(err)
	edited := []config{settings, credentials}
	for _, config := range edited {
		s.edit(config, set("used", "v2"))
	}
	s.must(resume())
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

// What a dry run would have held is the lease of the process that does the work.
func TestADryRunActsAsIfElectedAndLeavesTheLeaseAlone(t *testing.T) {
	s := newSceneApart(t)
	flags := s.openElection(longLease)
	s.make(settings, set("used", "v1"))
	app := s.run("app", podOf(envFrom(settings)))
	s.awaitRollout(app)

	dry := s.startController(append(flags, "--dry-run")...)
	s.awaitMetric("decisions_total", map[string]string{"outcome": "record"}, 2) // the marker, too
	if len(dry.Log().Containing("takes no part in the leader election")) != 1 {
		t.Error("the log of the dry run does not say that it takes no part in the election")
	}
	acting := s.startController(flags...)
	s.awaitMetric("leader", nil, 1)
	holder := s.leaseHolder()
	s.started(app)
	s.requireLeads(dry, 0)
	s.must(dry.Stop())
	s.settle()
	s.requireLeads(acting, 1)
	if now := s.leaseHolder(); now != holder {
		t.Errorf("the lease went from %s to %s", holder, now)
	}
}

func (s *scene) leaseHolder() string {
	s.Helper()
	lease, err := s.client.CoordinationV1().Leases(s.installation.Namespace).Get(s.Context(), controllerName, metav1.GetOptions{})
	s.must(err)
	return *lease.Spec.HolderIdentity
}
