package test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// eventsOf lists the events of a workload that have the reason.
func (s *scene) eventsOf(ctx context.Context, w workload, reason string) ([]corev1.Event, error) {
	of, apiVersion := w.kind, "apps/v1"
	if k, isOther := otherKindNamed(w.kind); isOther {
		of, apiVersion = k.kind, k.apiVersion()
	}
	list, err := s.client.CoreV1().Events(s.namespace).List(ctx, metav1.ListOptions{
		FieldSelector: fmt.Sprintf("reason=%s,involvedObject.kind=%s,involvedObject.apiVersion=%s,involvedObject.name=%s", reason, of, apiVersion, w.name),
	})
	if err != nil {
		return nil, err
	}
	return list.Items, nil
}

// awaitEvent waits for an event of a workload whose message has this part.
func (s *scene) awaitEvent(w workload, reason, part string) corev1.Event {
	s.Helper()
	var found corev1.Event
	s.eventually(fmt.Sprintf("an event %s of %s: …%s…", reason, w.name, part), s.hasEvent(w, reason, part, &found))
	return found
}

// hasEvent is the condition that there is such an event.
func (s *scene) hasEvent(w workload, reason, part string, found *corev1.Event) func(context.Context) error {
	return func(ctx context.Context) error {
		events, err := s.eventsOf(ctx, w, reason)
		if err != nil {
			return err
		}
		var others []string
		for _, event := range events {
			if strings.Contains(event.Message, part) {
				*found = event
				return nil
			}
			others = append(others, event.Message)
		}
		return fmt.Errorf("there are only: %q", others)
	}
}

// awaitRestartEvent waits for a Restarting event with exactly this message.
func (s *scene) awaitRestartEvent(w workload, message string) corev1.Event {
	s.Helper()
	event := s.awaitEvent(w, "Restarting", message)
	if event.Message != message {
		s.Fatalf("the event says %q, want %q", event.Message, message)
	}
	return event
}

func TestTheEventOfARestartSaysWhatChanged(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		pod     corev1.PodSpec
		edits   []edit
		message string
	}{
		{
			"the keys of a ConfigMap",
			podOf(envFrom(settings)),
			[]edit{{settings, []change{set("b", "v2"), set("a", "v2")}}},
			"restarting: configmap settings changed (keys: a, b)",
		},
		{
			"only the keys that the workload sees",
			podOf(envKey(settings, "a")),
			[]edit{{settings, []change{set("b", "v2"), set("a", "v2"), remove("c")}}},
			"restarting: configmap settings changed (keys: a)",
		},
		{
			"keys that came and keys that went",
			podOf(envFrom(settings)),
			[]edit{{settings, []change{set("d", "v1"), remove("c")}}},
			"restarting: configmap settings changed (keys: c, d)",
		},
		{
			"of a Secret only how many keys",
			podOf(envFrom(credentials)),
			[]edit{{credentials, []change{set("a", "v2"), set("b", "v2")}}},
			"restarting: secret credentials changed (2 keys)",
		},
		{
			"of a Secret one key",
			podOf(envFrom(credentials)),
			[]edit{{credentials, []change{set("b", "v2")}}},
			"restarting: secret credentials changed (1 key)",
		},
		{
			"several configs",
			podOf(envFrom(credentials), envFrom(settings)),
			[]edit{{credentials, []change{set("a", "v2")}}, {settings, []change{set("a", "v2")}}},
			"restarting: configmap settings changed (keys: a); secret credentials changed (1 key)",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newScene(t)
			s.make(settings, set("a", "v1"), set("b", "v1"), set("c", "v1"))
			s.make(credentials, set("a", "v1"), set("b", "v1"))
			app := s.run("app", c.pod)
			before := s.started(app)
			s.stretchGrace(app)
			s.apply(c.edits)
			s.endGrace(app)
			event := s.awaitRestartEvent(app, c.message)
			s.requireOwnEvent(event, before)
		})
	}
}

// requireOwnEvent fails the test unless the event is the controller's, about the
// very object.
func (s *scene) requireOwnEvent(event corev1.Event, of state) {
	s.Helper()
	if event.ReportingController != controllerName || event.Type != corev1.EventTypeNormal {
		s.Errorf("the event is %s by %q, want a Normal one by %q", event.Type, event.ReportingController, controllerName)
	}
	if event.InvolvedObject.UID != of.UID || event.InvolvedObject.APIVersion != "apps/v1" {
		s.Errorf("the event is about %+v, want the UID %s", event.InvolvedObject, of.UID)
	}
}

func TestTheEventSaysThatTheKeysAreUnknownWhereNobodyWatched(t *testing.T) {
	s := newSceneApart(t)
	s.make(settings, set("a", "v1"))
	s.make(credentials, set("a", "v1"))
	first := s.startController()
	app := s.run("app", podOf(envFrom(settings), envFrom(credentials)))
	before := s.started(app)
	s.must(first.Stop())

	s.edit(settings, set("a", "v2"))
	s.edit(credentials, set("a", "v2"))
	s.startController()
	s.awaitRestart(app, before)
	s.awaitRestartEvent(app,
		"restarting: configmap settings changed (keys unknown); secret credentials changed (keys unknown)")
}
