package command_test

import (
	"strings"
	"testing"
)

const (
	haltsPath = "/api/v1/namespaces/deployment-restart-controller/configmaps/kubernetes-deployment-restart-controller-halts"
	// understands are the halts of a controller that understands Reloader.
	understands = `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"halts","annotations":{
		"com.xing.deployment-restart.opt-ins":"{\"*\":{\"dialects\":[\"reloader\"],\"since\":\"2026-01-01T00:00:00Z\"}}"}}}`
	reloaders = `{"reloader.stakater.com/auto":"true","deployment.reloader.stakater.com/pause-period":"3m","secrets.exclude.reloader.stakater.com/reload":"a*"}`
)

func TestThePluginUnderstandsOtherToolsAsTheControllerDoes(t *testing.T) {
	s := newServer(t)
	s.objects[listPath], s.objects[webPath], s.objects[settingPath] = deployments(reloaders), deployment(reloaders), settings
	impact, explain, hold := []string{"impact", "cm/settings", "--exit-code"}, []string{"explain", "deploy/web"}, []string{"hold", "deploy/web", "migration", "--dry-run=client"}
	if code, stdout, stderr := s.run(t.Context(), impact...); code != 0 || !strings.Contains(stdout, "Nothing would restart.") {
		t.Errorf("nobody understands it yet, but: %d, %s%s", code, stdout, stderr)
	}
	s.objects[haltsPath] = understands
	if code, stdout, stderr := s.run(t.Context(), impact...); code != 2 || !strings.Contains(stdout, "1 workload, 2 pods would restart.") {
		t.Errorf("%d, %s%s", code, stdout, stderr)
	}
	if code, stdout, stderr := s.run(t.Context(), explain...); code != 0 || !strings.Contains(stdout, "3m0s") || !strings.Contains(stdout, "it is a pattern, not a name") {
		t.Errorf("%d, %s%s", code, stdout, stderr)
	}
	if code, _, stderr := s.run(t.Context(), hold...); code != 0 || strings.Contains(stderr, "is not enabled") {
		t.Errorf("%d, %s", code, stderr)
	}
	ignored := strings.Replace(settings, `"resourceVersion"`, `"annotations":{"reloader.stakater.com/ignore":"true"},"resourceVersion"`, 1)
	s.objects[settingPath] = ignored
	if code, stdout, stderr := s.run(t.Context(), impact...); code != 0 || !strings.Contains(stdout, "Nothing would restart.") {
		t.Errorf("it is ignored, but: %d, %s%s", code, stdout, stderr)
	}
}
