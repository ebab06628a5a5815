package test

import (
	"fmt"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// The annotations of other tools, by what their documentation says about them.

const (
	reloaderAuto   = "reloader.stakater.com/auto"
	reloaderSearch = "reloader.stakater.com/search"
	reloaderNamed  = "configmap.reloader.stakater.com/reload"
	waveOptIn      = "wave.pusher.com/update-on-config-change"
)

// foreign is a Deployment with annotations of another tool, and an edit of one config. Its containers read the
// ConfigMap read-N and the Secret read-N, of which they see the key used, but not the ConfigMap extra-N. N is the
// number of the Deployment, which is written # in annotations.
type foreign struct {
	does          string
	own, template map[string]string
	onConfig      map[string]string // annotations of the config that is edited
	edits         string            // "configmap/read", "secret/read", "configmap/extra" or "unused"
	restarts      bool

	app    workload
	before state
}

type notes = map[string]string

func foreigners() []*foreign {
	return []*foreign{
		{does: "auto counts ConfigMaps", own: notes{reloaderAuto: "true"}, edits: "configmap/read", restarts: true},
		{does: "auto counts Secrets", own: notes{reloaderAuto: "true"}, edits: "secret/read", restarts: true},
		{does: "auto counts on the pod template", template: notes{reloaderAuto: "true"}, edits: "configmap/read", restarts: true},
		{does: "auto counts no key that nobody reads", own: notes{reloaderAuto: "true"}, edits: "unused"},
		{does: "auto counts no config that nobody reads", own: notes{reloaderAuto: "true"}, edits: "configmap/extra"},
		{does: "auto may opt out", own: notes{reloaderAuto: "false"}, template: notes{reloaderAuto: "true"}, edits: "configmap/read"},
		{does: "one kind counts", own: notes{"secret.reloader.stakater.com/auto": "true"}, edits: "secret/read", restarts: true},
		{does: "the other kind does not", own: notes{"secret.reloader.stakater.com/auto": "true"}, edits: "configmap/read"},
		{does: "a name counts that no container refers to", own: notes{reloaderNamed: "other,extra-#"}, edits: "configmap/extra", restarts: true},
		{does: "only names count", own: notes{reloaderNamed: "extra-#"}, edits: "configmap/read"},
		{does: "a pattern counts", own: notes{reloaderNamed: "re.*-#"}, edits: "configmap/read", restarts: true},
		{does: "a pattern counts only what containers refer to", own: notes{reloaderNamed: "ext.*-#"}, edits: "configmap/extra"},
		{does: "a marked config counts", own: notes{reloaderSearch: "true"}, onConfig: notes{"reloader.stakater.com/match": "true"}, edits: "configmap/read", restarts: true},
		{does: "a config without the mark does not", own: notes{reloaderSearch: "true"}, edits: "configmap/read"},
		{does: "what is excluded does not count", own: notes{reloaderAuto: "true", "secrets.exclude.reloader.stakater.com/reload": "read-#"}, edits: "secret/read"},
		{does: "what is ignored does not count", own: notes{reloaderAuto: "true"}, onConfig: notes{"reloader.stakater.com/ignore": "true"}, edits: "configmap/read"},
		{does: "our own annotation opts out", own: notes{reloaderAuto: "true", enabledAnnotation: "disabled"}, edits: "configmap/read"},
		{does: "our own filter counts", own: notes{reloaderNamed: "extra-#", ignoreAnnotation: "secret/*"}, edits: "configmap/read", restarts: true},
		{does: "wave counts", own: notes{waveOptIn: "true"}, edits: "secret/read", restarts: true},
		{does: "wave counts what it names", own: notes{waveOptIn: "true", "wave.pusher.com/extra-configmaps": "extra-#"}, edits: "configmap/extra", restarts: true},
		{does: "wave's names do not opt in", own: notes{"wave.pusher.com/extra-configmaps": "read-#"}, edits: "configmap/read"},
	}
}

func TestOtherToolsAnnotationsRestartWhatTheyShould(t *testing.T) {
	s := newSceneApart(t)
	all := foreigners()
	for i, f := range all {
		f.run(s, i)
	}
	s.startController("--understand=reloader", "--understand=wave")
	for i, f := range all {
		f.before = s.awaitRollout(f.app)
		if f.counts() {
			f.before = s.awaitEnabled(f.app)
		}
		if restarted := f.before.restartedAt(); restarted != "" {
			t.Errorf("%d: %s: it restarted at the switch", i, f.does)
		}
	}
	s.letTimePass()
	for i, f := range all {
		f.edit(s, i)
	}
	for _, f := range all {
		if f.restarts {
			s.awaitRestart(f.app, f.before)
		}
	}
	s.settle()
	for i, f := range all {
		if now := s.now(f.app); (now.restartedAt() != "") != f.restarts || now.revisions > 2 {
			t.Errorf("%d: %s: it restarted at %q, and has %d revisions", i, f.does, now.restartedAt(), now.revisions)
		}
	}
}

func (f *foreign) run(s *scene, i int) {
	s.Helper()
	number := fmt.Sprint(i)
	numbered := func(all notes) notes {
		written := notes{}
		for name, value := range all {
			written[name] = strings.ReplaceAll(value, "#", number)
		}
		return written
	}
	read := configMap("read-" + number)
	credentials := secret("read-" + number)
	for _, c := range []config{read, credentials, configMap("extra-" + number)} {
		s.make(c, set("used", "1"), set("unused", "1"))
	}
	if f.edits == "configmap/read" {
		for name, value := range f.onConfig {
			s.annotateConfig(read, name, value)
		}
	}
	f.app = s.run("app-"+number, podOf(envKey(read, "used"), envFrom(credentials)), func(d *appsv1.Deployment) {
		d.Annotations, d.Spec.Template.Annotations = numbered(f.own), numbered(f.template)
	})
}

// counts reports whether the controller records the Deployment.
func (f *foreign) counts() bool {
	return f.restarts || f.own[reloaderAuto] != "false" && f.own[enabledAnnotation] == "" && !strings.HasPrefix(f.does, "wave's names")
}

func (f *foreign) edit(s *scene, i int) {
	s.Helper()
	kind, name, isWhole := strings.Cut(f.edits, "/")
	if !isWhole {
		s.edit(configMap(fmt.Sprintf("read-%d", i)), set("unused", "2"))
		return
	}
	s.edit(config{kind, fmt.Sprintf("%s-%d", name, i)}, set("used", "2"))
}

// reloads does what Reloader does to a Deployment when a config has changed.
func (s *scene) reloads(app workload, digest string) state {
	s.Helper()
	patch := fmt.Sprintf(`{"spec":{"template":{"spec":{"containers":[{"name":"main","env":[{"name":"STAKATER_SETTINGS_CONFIGMAP","value":%q}]}]}}}}`, digest)
	_, err := s.client.AppsV1().Deployments(s.namespace).Patch(s.Context(), app.name, types.StrategicMergePatchType, []byte(patch), metav1.PatchOptions{FieldManager: "Reloader"})
	s.must(err)
	return s.awaitRollout(app)
}

// A cluster that switches starts this controller, and then stops Reloader, so that no edit is missed.
func TestASwitchFromReloaderMissesNoEditAndRestartsNothingTwice(t *testing.T) {
	s := newSceneApart(t)
	s.make(settings, set("used", "v1"))
	app := s.run("app", podOf(envFrom(settings)), func(d *appsv1.Deployment) { d.Annotations = notes{reloaderAuto: "true"} })
	s.awaitRollout(app)
	s.letTimePass()
	s.edit(settings, set("used", "v2"))
	s.reloads(app, "2")
	s.letTimePass()

	controller := s.startController("--understand=reloader")
	recorded, err := s.awaitEnabled(app).checksums()
	s.must(err)
	s.edit(settings, set("used", "v3"))
	s.reloads(app, "3")
	s.awaitRecordAbout(app, settings, recorded)
	s.settle()
	before := s.now(app)
	if before.restartedAt() != "" {
		t.Errorf("it restarted although Reloader restarted it, at %s", before.restartedAt())
	}

	// From here on there is no Reloader.
	s.edit(settings, set("used", "v4"))
	before = s.awaitRestart(app, before)
	s.settle()
	before = s.requireRestarts(app, before, 0)
	s.must(controller.Stop())
	s.edit(settings, set("used", "v5")) // while no controller runs
	s.startController("--understand=reloader")
	before = s.awaitRestart(app, before)
	s.settle()
	s.requireRestarts(app, before, 0)
	if outcomes := s.impact(2, "configmap/"+settings.name, "--key=used", "--controller-namespace="+s.installation.Namespace); outcomes["app"] != "restarts" {
		t.Errorf("the plugin expects %v", outcomes)
	}

	// Our own annotation takes the place of theirs.
	s.patch(app, fmt.Sprintf(`{"metadata":{"annotations":{%q:null,%q:"enabled"}}}`, reloaderAuto, enabledAnnotation))
	s.settle()
	if now := s.now(app); now.restartedAt() != before.restartedAt() {
		t.Errorf("it restarted when its annotation was replaced, at %s", now.restartedAt())
	}
	s.edit(settings, set("used", "v6"))
	s.awaitRestart(app, before)
}

func TestADeploymentThatReloaderHasLeftPausedIsReported(t *testing.T) {
	s := newSceneApart(t)
	s.make(settings, set("used", "v1"))
	app := s.run("app", podOf(envFrom(settings)), func(d *appsv1.Deployment) {
		d.Annotations = notes{reloaderAuto: "true", "deployment.reloader.stakater.com/pause-period": "1s"}
	})
	s.awaitRollout(app)
	s.patch(app, `{"metadata":{"annotations":{"deployment.reloader.stakater.com/paused-at":"2026-01-01T00:00:00Z"}},"spec":{"paused":true}}`)
	s.startController("--understand=reloader")
	event := s.awaitEvent(app, "LeftBehind", "Reloader has paused this Deployment")
	if event.Type != corev1.EventTypeWarning {
		t.Errorf("the Event is %s", event.Type)
	}
	before := s.awaitEnabled(app)
	s.requirePlugin("1s", "explain", "deployment/app", "--controller-namespace="+s.installation.Namespace)
	if events := s.kubectl("get", "events", "-n", s.namespace, "--field-selector", "reason=LeftBehind"); !strings.Contains(events, "deployment/app") {
		t.Errorf("kubectl shows no Event about the Deployment:\n%s", events)
	}
	s.edit(settings, set("used", "v2"))
	s.kubectl("-n", s.namespace, "rollout", "resume", "deployment/app")
	s.kubectl("-n", s.namespace, "annotate", "deployment/app", "deployment.reloader.stakater.com/paused-at-")
	s.awaitRestart(app, before)
}
