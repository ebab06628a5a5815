package test

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
)

// This runs both engines of this project, without Kubernetes' own deployment controller.
func TestAnEditIsSeenThroughToThePodsOfTheNewReplicaSet(t *testing.T) {
	s := newEngineScene(t)
	s.make(settings, set("used", "v1"))
	app := s.run("app", podOf(envFrom(settings)), func(d *appsv1.Deployment) { d.Spec.Replicas = new(int32(3)) })
	before := s.started(app)
	s.letTimePass()

	s.edit(settings, set("used", "v2"))
	s.awaitRestart(app, before)
	s.settle()
	after := s.requireRestarts(app, before, 1)
	sets := s.awaitSizes(app, 0, 3)
	s.requirePodsOf(app, &sets[1], 3)
	s.requireNewRecord(before, after, settings)
	requireContains(t, s.kubectl("rollout", "status", app.ref()), "successfully rolled out")
	if got := sets[1].Spec.Template.Annotations[timestampAnnotation]; got != after.restartedAt() || got == "" {
		t.Errorf("the new ReplicaSet was restarted at %q, the Deployment at %q", got, after.restartedAt())
	}
	for i, want := range []state{before, after} {
		if got := sets[i].Annotations[enabledAnnotation]; got != want.Annotations[enabledAnnotation] {
			t.Errorf("the ReplicaSet of revision %d has %s: %s, want %s", i+1, enabledAnnotation, got, want.Annotations[enabledAnnotation])
		}
		for _, name := range []string{checksumsAnnotation, basisAnnotation} {
			if got, copied := sets[i].Annotations[name]; copied {
				t.Errorf("the ReplicaSet of revision %d has the record %s: %s", i+1, name, got)
			}
		}
	}

	// Undo brings the earlier template and its annotations back. The pods that it starts
	// read the config as it is now.
	s.kubectl("rollout", "undo", app.ref())
	s.awaitHistory(app, "2 <none>", "3 <none>")
	undone := s.awaitRollout(app)
	if undone.restartedAt() != "" {
		t.Errorf("the template that was brought back was restarted at %s", undone.restartedAt())
	}
	s.settle()
	last := s.now(app)
	if last.restartedAt() != "" || last.revisions != 2 {
		t.Errorf("after the undo it was restarted at %q; %d ReplicaSets, want 2", last.restartedAt(), last.revisions)
	}
	sets = s.awaitSizes(app, 0, 3)
	s.requirePodsOf(app, &sets[1], 3)

	s.edit(settings, set("used", "v3"))
	s.awaitRestart(app, last)
	s.settle()
	s.requireRestarts(app, last, 1)
}
