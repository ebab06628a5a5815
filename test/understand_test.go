package test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"kubernetes-deployment-restart-controller/test/harness"
)

// The annotations of other tools, by what their documentation says about them.

const (
	reloaderAuto        = "reloader.stakater.com/auto"
	reloaderSearch      = "reloader.stakater.com/search"
	reloaderNamed       = "configmap.reloader.stakater.com/reload"
	reloaderNamedSecret = "secret.reloader.stakater.com/reload"
	reloaderMaps        = "configmap.reloader.stakater.com/auto"
	reloaderSecrets     = "secret.reloader.stakater.com/auto"
	reloaderNoMaps      = "configmaps.exclude.reloader.stakater.com/reload"
	reloaderNoSecrets   = "secrets.exclude.reloader.stakater.com/reload"
	reloaderPause       = "deployment.reloader.stakater.com/pause-period"
	reloaderPausedAt    = "deployment.reloader.stakater.com/paused-at"
	waveOptIn           = "wave.pusher.com/update-on-config-change"
	waveConfigMaps      = "wave.pusher.com/extra-configmaps"
	waveSecrets         = "wave.pusher.com/extra-secrets"
)

// foreign is a Deployment with annotations of another tool, and an edit of one config. Its containers read the
// ConfigMap read-N and the Secret read-N, of which they see the key used, but neither the ConfigMap nor the Secret
// extra-N. N is the number of the Deployment, which is written # in annotations.
type foreign struct {
	does          string
	own, template map[string]string
	onConfig      map[string]string // annotations of the config that is edited
	edits         string            // a kind and "/read" or "/extra", or "unused"
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
		{does: "Secrets count", own: notes{reloaderSecrets: "true"}, edits: "secret/read", restarts: true},
		{does: "ConfigMaps do not then", own: notes{reloaderSecrets: "true"}, edits: "configmap/read"},
		{does: "ConfigMaps count", own: notes{reloaderMaps: "true"}, edits: "configmap/read", restarts: true},
		{does: "Secrets do not then", own: notes{reloaderMaps: "true"}, edits: "secret/read"},
		{does: "a name counts that no container refers to", own: notes{reloaderNamed: "other,extra-#"}, edits: "configmap/extra", restarts: true},
		{does: "only names count", own: notes{reloaderNamed: "extra-#"}, edits: "configmap/read"},
		{does: "a name of a Secret counts", own: notes{reloaderNamedSecret: "extra-#"}, edits: "secret/extra", restarts: true},
		{does: "only names of Secrets count then", own: notes{reloaderNamedSecret: "extra-#"}, edits: "secret/read"},
		{does: "a name of a Secret is none of a ConfigMap", own: notes{reloaderNamedSecret: "extra-#"}, edits: "configmap/extra"},
		{does: "names count on the pod template", template: notes{reloaderNamed: "other,extra-#"}, edits: "configmap/extra", restarts: true},
		{does: "only names count on the pod template", template: notes{reloaderNamed: "other,extra-#"}, edits: "configmap/read"},
		{does: "a pattern counts", own: notes{reloaderNamed: "re.*-#"}, edits: "configmap/read", restarts: true},
		{does: "a pattern counts only what containers refer to", own: notes{reloaderNamed: "ext.*-#"}, edits: "configmap/extra"},
		{does: "a marked config counts", own: notes{reloaderSearch: "true"}, onConfig: notes{"reloader.stakater.com/match": "true"}, edits: "configmap/read", restarts: true},
		{does: "a config without the mark does not", own: notes{reloaderSearch: "true"}, edits: "configmap/read"},
		{does: "an excluded Secret does not count", own: notes{reloaderAuto: "true", reloaderNoSecrets: "read-#"}, edits: "secret/read"},
		{does: "a ConfigMap counts beside an excluded Secret", own: notes{reloaderAuto: "true", reloaderNoSecrets: "read-#"}, edits: "configmap/read", restarts: true},
		{does: "an excluded ConfigMap does not count", own: notes{reloaderAuto: "true", reloaderNoMaps: "read-#"}, edits: "configmap/read"},
		{does: "a Secret counts beside an excluded ConfigMap", own: notes{reloaderAuto: "true", reloaderNoMaps: "read-#"}, edits: "secret/read", restarts: true},
		{does: "what is ignored does not count", own: notes{reloaderAuto: "true"}, onConfig: notes{"reloader.stakater.com/ignore": "true"}, edits: "configmap/read"},
		{does: "our own annotation opts out", own: notes{reloaderAuto: "true", enabledAnnotation: "disabled"}, edits: "configmap/read"},
		{does: "our own filter counts", own: notes{reloaderNamed: "extra-#", ignoreAnnotation: "secret/*"}, edits: "configmap/read", restarts: true},
		{does: "wave counts", own: notes{waveOptIn: "true"}, edits: "secret/read", restarts: true},
		{does: "wave counts what it names", own: notes{waveOptIn: "true", waveConfigMaps: "extra-#"}, edits: "configmap/extra", restarts: true},
		{does: "wave counts Secrets that it names", own: notes{waveOptIn: "true", waveSecrets: "extra-#"}, edits: "secret/extra", restarts: true},
		{does: "wave counts no others", own: notes{waveOptIn: "true", waveSecrets: "extra-#"}, edits: "configmap/extra"},
		{does: "wave's names do not opt in", own: notes{waveConfigMaps: "read-#"}, edits: "configmap/read"},
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
	for _, c := range []config{read, credentials, configMap("extra-" + number), secret("extra-" + number)} {
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

// With a pause period, all edits of that time cause one restart, and the Deployment is not paused. A Deployment without
// one, which reads the same, shows that the first edit has been seen before the second one is made.
func TestAPausePeriodOfReloaderIsWaitedForWithoutAPause(t *testing.T) {
	s := newSceneApart(t)
	s.startController("--understand=reloader")
	version := 0
	s.make(settings, set("used", fmt.Sprint(version)))
	const period = 10 * time.Second
	prompt := s.run("prompt", podOf(envFrom(settings)), func(d *appsv1.Deployment) { d.Annotations = notes{reloaderAuto: "true"} })
	patient := s.run("patient", podOf(envFrom(settings)), func(d *appsv1.Deployment) {
		d.Annotations = notes{reloaderAuto: "true", reloaderPause: period.String()}
	})
	edit := func() (began, ended time.Time) {
		began, version = time.Now(), version+1
		s.edit(settings, set("used", fmt.Sprint(version)))
		return began, time.Now()
	}
	harness.Again(t, func() (held bool) {
		last, before := s.running(prompt), s.running(patient)
		first, _ := edit()
		last = s.awaitRestart(prompt, last)
		_, second := edit()
		s.awaitRestart(prompt, last)
		if s.now(patient).paused() {
			t.Error("the Deployment is paused")
		}
		restarted := s.awaitRestart(patient, before).restartTime(s)
		s.settle()
		if restarted.Before(first.Add(period)) {
			t.Errorf("it restarted at %s, within the pause period that began after %s", restarted, first)
		}
		if held = restarted.After(second); held { // the second edit came within the pause period
			s.requireRestarts(patient, before, 1)
		}
		return held
	})
	s.requireRecordOfPresentContent(patient, settings)
}

func TestWhatWaveHasLeftBehindIsReportedAndNothingElseIs(t *testing.T) {
	s := newSceneApart(t)
	s.make(settings, set("used", "v1"))
	run := func(name, finalizer, scheduler string) workload {
		return s.run(name, podOf(envFrom(settings)), func(d *appsv1.Deployment) {
			d.Annotations, d.Finalizers, d.Spec.Template.Spec.SchedulerName = notes{waveOptIn: "true"}, []string{finalizer}, scheduler
		})
	}
	kept := run("kept", "wave.pusher.com/finalizer", "")
	forgotten := configMap("forgotten")
	s.make(forgotten, set("used", "v1"))
	for _, owned := range []config{settings, forgotten} { // as wave makes it
		s.kubectl("patch", "configmap", owned.name, "--type=merge", "--patch",
			fmt.Sprintf(`{"metadata":{"ownerReferences":[{"apiVersion":"apps/v1","kind":"Deployment","name":"kept","uid":"%s","blockOwnerDeletion":true}]}}`, s.kubectl("get", "deployment", kept.name, "-o", "jsonpath={.metadata.uid}")))
	}
	pending := run("pending", "example.com/finalizer", "wave.pusher.com/invalid")
	own := run("own", "example.com/finalizer", "")
	s.awaitRollout(own)
	s.startController("--understand=wave")
	for w, message := range map[workload]string{kept: "the workload has the finalizer wave.pusher.com/finalizer", pending: "the pod template names a scheduler by which wave keeps pods pending"} {
		if event := s.awaitEvent(w, "LeftBehind", message); event.Type != corev1.EventTypeWarning {
			t.Errorf("the Event about %s is %s", w.name, event.Type)
		}
	}
	before := s.awaitEnabled(own)
	s.edit(settings, set("used", "v2"))
	s.awaitRestart(own, before)
	s.settle()
	for w, want := range map[workload]int{kept: 1, pending: 1, own: 0} {
		if events, err := s.eventsOf(t.Context(), w, "LeftBehind"); err != nil || len(events) != want {
			t.Errorf("%d Events about %s, want %d; %v", len(events), w.name, want, err)
		}
	}

	// The remedies that the Events name.
	s.patch(pending, `{"spec":{"template":{"spec":{"schedulerName":null}}}}`)
	s.awaitRollout(pending)
	s.kubectl("patch", "configmap", settings.name, "--type=merge", "--patch", `{"metadata":{"ownerReferences":null}}`)
	s.patch(kept, `{"metadata":{"finalizers":null}}`)
	s.kubectl("delete", "deployment", kept.name, "--timeout=3m")
	s.kubectl("wait", "configmap/"+forgotten.name, "--for=delete", "--timeout=3m")
	s.kubectl("get", "configmap", settings.name)
}

// Only with --workload, as any other kind.
func TestReloadersAnnotationsCountOnARolloutToo(t *testing.T) {
	s := newSceneApart(t)
	s.define(rollouts)
	s.startController(rollouts.flag(), "--understand=reloader")
	s.make(settings, set("used", "v1"))
	pod := podOf(envFrom(settings))
	app := s.runOtherAs(rollouts, "app", notes{reloaderAuto: "true"}, pod)
	out := s.runOtherAs(rollouts, "out", notes{reloaderAuto: "false"}, pod)
	unusable := s.runOtherAs(rollouts, "unusable", notes{reloaderAuto: "true"}, pod, func(spec map[string]any) { delete(spec, "template") })
	silent := s.runOtherAs(rollouts, "silent", nil, pod, func(spec map[string]any) { delete(spec, "template") })
	before := map[workload]state{app: s.awaitRecorded(app), out: s.mustLookOther(out)}
	s.awaitEvent(unusable, "NotSupported", "config changes do not restart this workload: it has no pod template")

	s.edit(settings, set("used", "v2"))
	s.awaitRestart(app, before[app])
	s.settle()
	s.requireRestarts(app, before[app], 1)
	s.requireUnwritten(out, before[out])
	for w, want := range map[workload]int{unusable: 1, silent: 0, out: 0} {
		if events, err := s.eventsOf(t.Context(), w, "NotSupported"); err != nil || len(events) != want {
			t.Errorf("%d Events about %s, want %d; %v", len(events), w.name, want, err)
		}
	}
}
