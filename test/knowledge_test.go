package test

import (
	"context"
	"errors"
	"html"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"

	"kubernetes-deployment-restart-controller/test/harness"
)

// What a person sees: the text of a page without its markup.
var markup = regexp.MustCompile(`<[^>]*>`)

// awaitPage waits until a page of the status has a text that matches, and returns the text.
func (s *scene) awaitPage(c *harness.Controller, path string, want *regexp.Regexp) string {
	s.Helper()
	var shown string
	s.eventually(path+" shows "+want.String(), func(ctx context.Context) error {
		_, page, err := c.GetStatus(ctx, path)
		shown = html.UnescapeString(markup.ReplaceAllString(page, ""))
		if err == nil && !want.MatchString(shown) {
			err = errors.New("it shows " + shown)
		}
		return err
	})
	return shown
}

// withoutPermission installs the controller for the scene's namespace, without these verbs of a resource there.
func (s *scene) withoutPermission(resource string, verbs ...string) (home string) {
	s.Helper()
	manifests, home := s.manifestsApart("rbac-namespaced.yaml")
	var err error
	s.installation, err = s.cluster.Install(s.Context(), manifests)
	s.must(err)
	s.takeAway(resource, verbs...)
	return home
}

// takeAway takes these verbs of a resource away from the controller in the scene's namespace.
func (s *scene) takeAway(resource string, verbs ...string) {
	s.Helper()
	role, rules := s.inOneRole(s.namespace)
	isTaken := func(r rbacv1.PolicyRule) bool {
		return r.Resources[0] == resource && slices.Contains(verbs, r.Verbs[0])
	}
	s.setRules(role, slices.DeleteFunc(slices.Clone(rules), isTaken))
	for _, rule := range rules {
		if isTaken(rule) {
			s.awaitAccess(s.namespace, rule, false)
		}
	}
}

func TestAPageThatCannotSeeTheSecretsSaysSoFirstAndCountsNothing(t *testing.T) {
	s := newSceneApart(t)
	s.withoutPermission("secrets", "list", "watch")
	c, err := s.installation.LaunchController(t.Context(), nil, "--namespace", s.namespace, "--status-address=127.0.0.1:0")
	s.must(err)
	s.controller = c
	t.Cleanup(func() { s.must(c.Stop()) })
	s.make(settings, set("used", "v1"))
	s.make(credentials, set("hush-key", "hush-value"))
	s.run("web", podOf(envFrom(settings), envFrom(credentials)))

	why := regexp.MustCompile(`What is under way\s*The controller cannot list secrets in ` + s.namespace + `, so no workload restarts there, at least since .*forbidden.*Apply the RBAC manifest`)
	shown := s.awaitPage(c, "/", why)
	for _, unknown := range []string{"Nothing waits", "enabled workload", "0 halts", "0 failed"} {
		if strings.Contains(shown, unknown) {
			t.Errorf("the page claims %q although it does not know: %s", unknown, shown)
		}
	}
	s.awaitPage(c, "/workload/deployment/"+s.namespace+"/web", regexp.MustCompile(`The controller cannot list secrets in `+s.namespace+`(?s:.*)/settingsall 1environmentyes\s*secret/\S+/credentialsallenvironmentnot known`))
	s.awaitPage(c, "/config/"+credentials.key(s.namespace), regexp.MustCompile(`The controller cannot list secrets in `+s.namespace+`(?s:.*)It is not known whether it exists`))
	s.awaitPage(c, "/configs", regexp.MustCompile(`The controller cannot list secrets in `+s.namespace+`(?s:.*)What is known, sorted by name`))
	leader := "--status-url=http://" + c.StatusAddress()
	s.awaitPlugin(regexp.MustCompile(`^What is not known, or does not work:\n  The controller cannot list secrets in `+s.namespace), "status", leader)
	s.awaitPlugin(regexp.MustCompile(`^What is not known, or does not work:\n  The controller cannot list secrets in `+s.namespace), "explain", "deployment/web", leader)
	stdout, _ := s.plugin(0, "status", leader)
	if strings.Contains(stdout, "nothing is under way") {
		t.Errorf("the plugin claims what it cannot know: %s", stdout)
	}
	status, body, err := c.Get(t.Context(), "/readyz")
	s.must(err)
	if status != http.StatusServiceUnavailable || !regexp.MustCompile(`\[-\] watch secrets in \S+: not synced yet, broken since \S+: .*forbidden.*Apply the RBAC manifest`).MatchString(body) {
		t.Errorf("/readyz: %d %s", status, body)
	}
}

func TestThePluginSaysThatNoReplicaLeadsAndWhoMayHaveMissedAnEdit(t *testing.T) {
	s := newSceneApart(t)
	flags := s.openElection(15 * time.Second) // long enough for a busy machine
	leader := s.startController(flags...)
	s.make(settings, set("used", "v1"))
	s.make(credentials, set("hush-key", "hush-value"))
	web, db, calm := s.run("web", podOf(envFrom(settings))), s.run("db", podOf(envFrom(credentials))), s.run("calm", podOf(envKey(settings, "calm-key")))
	for _, w := range []workload{web, db, calm} {
		s.started(w)
	}
	s.letTimePass()
	s.must(leader.Kill())
	s.edit(settings, set("used", "v2"))
	s.edit(credentials, set("hush-key", "hush-other"))

	place := "--controller-namespace=" + s.installation.Namespace
	want := `(?s)^What is not known, or does not work:\n  Probably no replica of the controller leads, so nothing restarts: pod \S+ has not renewed its lease of 15 s since \S+ .*kubectl get pods -n \S+, kubectl logs -n .*` +
		`4 workloads enabled in ` + s.namespace + `: 2 behind, 2 settled.*` +
		`deployment/db +behind .*secret/credentials.*\n.*deployment/web +behind .*configmap/settings`
	s.awaitPlugin(regexp.MustCompile(want), "status", place)
	s.awaitPlugin(regexp.MustCompile(`(?s)^What is not known, or does not work:\n  Probably no replica of the controller leads`), "explain", "deployment/web", place)
	if stdout, stderr := s.plugin(0, "status", place); strings.Contains(stdout+stderr, "hush-key") {
		t.Error(stdout, stderr)
	}
}

func TestARefusedRestartIsShownWithItsErrorAttemptsAndNextTry(t *testing.T) {
	s := newSceneApart(t)
	s.withoutPermission("secrets", "none")
	s.startController("--status-address=127.0.0.1:0")
	s.make(settings, set("used", "v1"))
	web := s.run("web", podOf(envFrom(settings)))
	before := s.started(web)
	s.letTimePass()
	s.takeAway("deployments", "patch")
	s.edit(settings, set("used", "v2"))

	leader := "--status-url=http://" + s.controller.StatusAddress()
	s.awaitPage(s.controller, "/", regexp.MustCompile(`1 retrying(?s:.*)web\s*retrying\s*patch deployment/\S+/web: .*forbidden.*failed attempts: \d+`))
	s.awaitPlugin(regexp.MustCompile(`says: 1 retrying\.\n(?s:.*)deployment/web +retrying +\S+ +\S+Z +\d+ failed attempts?: patch deployment/\S+/web: .*forbidden`), "status", leader, "-o", "wide")
	s.awaitPlugin(regexp.MustCompile(`^What is not known, or does not work:\n  The controller lacks a permission that it needs to restart workloads of the kind Deployment \(waiting: 1\) since .*\n\ndeployment/web in \S+ could not be restarted or recorded, and the next attempt (is under way|follows at \S+Z( \(in \S+\))?): patch .*forbidden`), "explain", "deployment/web", leader)
	s.awaitPlugin(regexp.MustCompile(`1 not applied.*\n(?s:.*)deployment/web +not applied .*the last attempt failed: forbidden: it cannot patch deployments\n(?s:.*)What helps deployment/web: the controller lacks this permission: apply `), "status", "--leader=false")

	role, rules := s.inOneRole(s.namespace)
	s.setRules(role, append(rules, rbacv1.PolicyRule{Verbs: []string{"patch"}, APIGroups: []string{"apps"}, Resources: []string{"deployments"}}))
	s.awaitRestart(web, before)
	s.awaitPlugin(regexp.MustCompile(`says: (nothing is under way|1 rolling)`), "status", leader)
}

func TestAWorkloadWhoseRequiredConfigIsDeletedIsNotSettled(t *testing.T) {
	s := newSceneApart(t)
	flags := append(s.openElection(longLease), "--status-address=127.0.0.1:0")
	leader := s.startController(flags...)
	s.make(settings, set("used", "v1"))
	web := s.run("web", podOf(envFrom(settings)))
	s.started(web)
	s.delete(settings)

	s.awaitPage(leader, "/", regexp.MustCompile(`1 lacking(?s:.*)web\s*lacking\s*configmap/settings does not exist: without it, pods that run go on, but no new one can start`))
	at := "--status-url=http://" + leader.StatusAddress()
	s.awaitPlugin(regexp.MustCompile(`says: 1 lacking a config\.\n(?s:.*)deployment/web +lacking +(at least )?\S+ +configmap/settings does not exist`), "status", at)
	s.awaitPlugin(regexp.MustCompile(`^deployment/web in \S+ waits for no restart, but configmap/settings does not exist\. Pods need it to start: without it, `), "explain", "deployment/web", at)
	s.awaitPlugin(regexp.MustCompile(`1 lacking.*\n(?s:.*)deployment/web +lacking .*configmap/settings does not exist`), "status", "--leader=false")
	s.awaitMetric("lacking_workloads", nil, 1)
	s.awaitEvent(web, "MissingConfig", "configmap/settings does not exist")

	s.must(leader.Kill())
	s.expireLease()
	s.controller = s.startController(flags...)
	s.awaitMetric("lacking_workloads", nil, 1)
	other := s.run("other", podOf(envFrom(settings)))
	s.awaitEvent(other, "MissingConfig", "configmap/settings does not exist") // by the new leader, which had to wait as long for the first
	for w, want := range map[workload]int{web: 1, other: 1} {
		events, err := s.eventsOf(t.Context(), w, "MissingConfig")
		s.must(err)
		if len(events) != want {
			t.Errorf("%s has %d Events, want %d", w.name, len(events), want)
		}
	}
	s.make(settings, set("used", "v1"))
	s.awaitMetric("lacking_workloads", nil, 0)
	s.awaitEvent(web, "ConfigFound", "no config is missing any more that pods need to start")
}

func TestNoWorkloadRestartsWhileAConfigIsMissingThatItsPodsNeed(t *testing.T) {
	s := newSceneApart(t)
	leader := s.startController("--status-address=127.0.0.1:0", "--fan-out=gradual", "--restart-soak=1s")
	needed := secret("needed")
	s.make(settings, set("used", "v1"))
	s.make(needed, set("used", "v1"))
	web, api := s.run("web", podOf(envFrom(settings), envFrom(needed))), s.run("api", podOf(envFrom(settings), envFrom(needed)))
	before := map[workload]state{web: s.started(web), api: s.started(api)}
	s.letTimePass()
	s.delete(needed)
	s.edit(settings, set("used", "v2"))

	for w := range before {
		s.awaitEvent(w, "RestartHeld", "restart is held: secret/needed does not exist, which new pods need to start")
	}
	s.awaitMetric("held_workloads", map[string]string{"reason": "missing-config"}, 2)
	s.awaitPage(leader, "/", regexp.MustCompile(`web\s*lacking\s*secret/needed does not exist: without it, pods that run go on, but no new one can start`))
	s.awaitPlugin(regexp.MustCompile(`deployment/web +lacking +(at least )?\S+ +secret/needed does not exist`), "status", "--status-url=http://"+leader.StatusAddress(), "-o", "wide")
	s.awaitPlugin(regexp.MustCompile(`deployment/web +(held|lacking) .*secret/needed does not exist`), "status", "--leader=false", "-o", "wide")
	s.make(needed, set("used", "v1"))
	for w, at := range before {
		s.awaitRestart(w, at)
	}
}
