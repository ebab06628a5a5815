package command_test

import (
	"strings"
	"testing"
)

func TestWithoutTheLeaderTheSameMistakesAreToldAsByTheLeader(t *testing.T) {
	s := newServer(t)
	const wrong = `{"com.xing.deployment-restart":"enabled","com.xing.deployment-restart.grace-period":"soon"}`
	s.objects[webPath], s.objects[listPath] = deployment(wrong), deployments(wrong)
	s.objects[settingPath] = heldSettings(`"annotations":{"com.xing.deployment-restart.resume":"other"},`)
	s.objects["/api/v1/namespaces/shop/configmaps"] = `{"kind":"PartialObjectMetadataList","apiVersion":"meta.k8s.io/v1","items":[{"metadata":{"namespace":"shop","name":"settings","annotations":{"com.xing.deployment-restart.resume":"other"}}}]}`
	s.objects[haltsPath] = strings.Replace(haltOf("configmap/shop/settings"), `"data":{`, `"data":{"Hold":"incident 42",`, 1)
	for _, arguments := range [][]string{{"status", "--leader=false"}, {"status"}, {"explain", "deploy/web", "--leader=false"}, {"explain", "deploy/web"}} {
		code, stdout, stderr := s.run(t.Context(), arguments...)
		for _, want := range []string{
			`The ConfigMap of halts has an entry that cannot be read, so nothing is held by it: "Hold" (such entries: 1): it is no list of halts. An entry that holds all restarts must have the name "hold". Otherwise remove the entry.` + "\n",
			`annotation com.xing.deployment-restart.resume: "other" ends no halt of this config. To end the halt k3v7x2ab: kubectl annotate --overwrite -n shop configmap/settings com.xing.deployment-restart.resume=k3v7x2ab` + "\n",
			`annotation com.xing.deployment-restart.grace-period: "soon" is not a duration such as 90s, 2m or 1h30m, or a number of seconds; --restart-grace-period of the controller is used instead` + "\n",
		} {
			if code != 0 || !strings.HasPrefix(stdout, "What is not known, or does not work:\n") || strings.Count(stdout, want) != 1 {
				t.Errorf("%v: %d, %s%s, want once: %s", arguments, code, stdout, stderr, want)
			}
		}
	}
}

func TestWhatTheCallerMayNotReadIsSaidFirst(t *testing.T) {
	for path, want := range map[string]string{
		"/api/v1/namespaces/shop/configmaps": "You may not list ConfigMaps, so it is not known which have changed, which are missing, and which hold restarts: ",
		"/api/v1/namespaces/shop/secrets":    "You may not list Secrets, so it is not known which have changed, which are missing, and which hold restarts: ",
		"/api/v1/namespaces/shop/events":     "You may not list Events, so restarts that failed or were refused may be missing: ",
	} {
		s := newServer(t)
		s.objects[listPath], s.denied = deployments(enabled), path
		if code, stdout, stderr := s.run(t.Context(), "status", "--leader=false"); code != 0 || !strings.HasPrefix(stdout, "What is not known, or does not work:\n  "+want) {
			t.Errorf("%s: %d, %s%s", path, code, stdout, stderr)
		}
		url := "--status-url=" + statusPage(t)
		if code, stdout, stderr := s.run(t.Context(), "status", url); code != 0 || strings.Contains(stdout, "What follows is incomplete") || !strings.Contains(stderr, "note: what it says is incomplete: ") {
			t.Errorf("%s, with the leader: %d, %s%s", path, code, stdout, stderr)
		}
	}
	s := newServer(t)
	s.objects[webPath], s.denied = deployment(enabled), settingPath
	if code, stdout, stderr := s.run(t.Context(), "explain", "deploy/web", "--leader=false"); code != 0 || strings.Contains(stdout, "is up to date.") {
		t.Errorf("%d, %s%s", code, stdout, stderr)
	}
}
