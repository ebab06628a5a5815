package test

import "testing"

// The same with the deployment engine in place of Kubernetes' own deployment controller.
func TestABadContentBreaksOneOfManyDeploymentsThatTheEngineDrives(t *testing.T) {
	const count = 40
	s := newEngineSceneApart(t)
	s.startEngine("--fan-out=gradual", "--restart-soak=1s")
	s.make(settings, set("used", "v1"))
	r := s.runApps(count)
	heal := s.crashRestartedPodsUntil()
	s.edit(settings, set("used", "bad"))
	broken := r.awaitRestarted(1)
	s.awaitMetric("held_workloads", map[string]string{"reason": "halt"}, count-1)
	s.settle()
	r.requireRestarted(broken...)

	r.note()
	heal()
	s.edit(settings, set("used", "v1"))
	r.awaitRestarted(1)
	s.awaitMetric("restarts_delivered_total", map[string]string{"kind": "Deployment"}, 1)
	s.settle()
	r.requireRestarted(broken...)

	r.note()
	s.edit(settings, set("used", "v2"))
	r.awaitRestarted(count)
	s.awaitMetric("undelivered_restarts", nil, 0)
	r.requireOneRestartEach()
}
