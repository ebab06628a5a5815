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

// A switch from Reloader to this controller.

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
