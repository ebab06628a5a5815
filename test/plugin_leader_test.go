package test

import (
	"regexp"
	"strings"
	"testing"
)

func TestThePluginShowsWhatOnlyTheLeaderKnowsOfASecret(t *testing.T) {
	s := newSceneApart(t)
	s.startGradually("--status-address=127.0.0.1:0")
	s.make(credentials, set("swordfish-key", "swordfish-value"))
	web := s.run("web", podOf(envFrom(credentials)))
	before := s.started(web)
	s.annotate(web, holdAnnotation, "migration")
	s.letTimePass()
	s.edit(credentials, set("swordfish-key", "swordfish-other"))

	address := s.controller.StatusAddress()
	leader := "--status-url=http://" + address
	s.awaitPlugin(regexp.MustCompile(`(?s)has not restarted yet although secret credentials changed \(1 key\): the workload is held: migration.*`+
		`Leader: +`+regexp.QuoteMeta("http://"+address)+`.*State: +held.*Decision: +restart: .*Gate: +hold: the workload is held: migration`),
		"explain", "deployment/web", leader)
	s.awaitPlugin(regexp.MustCompile(`deployment/web +held .*migration`), "status", leader)
	for _, arguments := range [][]string{{"explain", "deployment/web"}, {"status"}} {
		stdout, stderr := s.plugin(0, append(arguments, leader, "-o", "json")...)
		if stderr != "" || strings.Contains(stdout, "swordfish") {
			t.Errorf("kubectl restarts %v says %s%s", arguments, stdout, stderr)
		}
	}

	s.plugin(0, "unhold", "deployment/web")
	s.awaitRestart(web, before)
	s.awaitPlugin(regexp.MustCompile(`Restart: +\S+, secret/credentials: 1 key, delivered after`), "explain", "deployment/web", leader)
	if stdout, _ := s.plugin(0, "status", "--status-url=http://127.0.0.1:1"); !regexp.MustCompile(`^What is not known, or does not work:\n  .* cannot be asked`).MatchString(stdout) {
		t.Errorf("without a leader, it says %s", stdout)
	}
}
