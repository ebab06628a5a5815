package command_test

import (
	"fmt"
	"strings"
	"testing"
)

const (
	secretPath = "/api/v1/namespaces/shop/secrets/db"
	eventsPath = "/api/v1/namespaces/shop/events"
)

// secretEdited is a Secret whose data was written at a time.
func secretEdited(at string) string {
	return fmt.Sprintf(`{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":{"name":"db","namespace":"shop","resourceVersion":"9","managedFields":[
		{"manager":"kubectl","operation":"Update","time":%q,"fieldsV1":{"f:data":{"f:password":{}}}},
		{"manager":"labeller","operation":"Update","time":"2026-01-20T13:00:00Z","fieldsV1":{"f:metadata":{"f:labels":{}}}}]}}`, at)
}

func fanOutEvent(at string) string {
	return fmt.Sprintf(`{"kind":"EventList","apiVersion":"v1","items":[{"metadata":{"name":"e","namespace":"shop"},"involvedObject":{"kind":"Secret","namespace":"shop","name":"db"},
		"source":{"component":"kubernetes-deployment-restart-controller"},"reportingComponent":"kubernetes-deployment-restart-controller",
		"reason":"FanOut","message":"fan-out of 4d2877b176f6a31c: 1 of 2 delivered","lastTimestamp":%q}]}`, at)
}

func TestOnlyThePresentContentIsMarkedAsUrgent(t *testing.T) {
	s := newServer(t)
	s.objects[settingPath], s.objects[secretPath], s.objects[eventsPath] = settings, secretEdited("2026-01-20T12:00:00Z"), fanOutEvent("2026-01-20T12:00:05Z")
	requireWrite := func(version string, arguments ...string) {
		t.Helper()
		s.writes = nil
		code, stdout, stderr := s.run(t.Context(), append([]string{"urgent"}, arguments...)...)
		if code != 0 || len(s.writes) != 1 || strings.Contains(s.writes[0], `"resourceVersion":"`) != (version != "") || !strings.Contains(s.writes[0], version) {
			t.Errorf("%v: %d, %s%s, wrote %v", arguments, code, stdout, stderr, s.writes)
		}
	}
	requireWrite(`"resourceVersion":"3"`, "configmap/settings")
	requireWrite(`"resourceVersion":"9"`, "secret/db")
	requireWrite("", "secret/db", "1111222233334444") // whoever names the content means that one
	if _, stdout, _ := s.run(t.Context(), "urgent", "secret/db"); !strings.Contains(stdout, "the content 4d2877b176f6a31c, which the Event FanOut of 2026-01-20T12:00:05Z names,") {
		t.Errorf("it says %s", stdout)
	}

	for _, edited := range []string{"2026-01-20T12:00:05Z", "2026-01-20T12:00:06Z"} { // both are in whole seconds
		s.objects[secretPath], s.writes = secretEdited(edited), nil
		if code, _, stderr := s.run(t.Context(), "urgent", "secret/db"); code != 1 || len(s.writes) > 0 || !strings.Contains(stderr, "is not later than its last edit, of "+edited+": try again") {
			t.Errorf("%d, %s, wrote %v", code, stderr, s.writes)
		}
	}
}

func TestAConfigThatChangesInTheMeantimeIsNotMarked(t *testing.T) {
	for _, test := range []struct{ path, config string }{{settingPath, "configmap/settings"}, {secretPath, "secret/db"}} {
		s := newServer(t)
		s.objects[settingPath], s.objects[secretPath], s.objects[eventsPath] = settings, secretEdited("2026-01-20T12:00:00Z"), fanOutEvent("2026-01-20T12:00:05Z")
		s.conflict = test.path
		code, stdout, stderr := s.run(t.Context(), "urgent", test.config)
		if code != 1 || stdout != "" || !strings.Contains(stderr, test.config+" has just changed; try again") {
			t.Errorf("%s: %d, %s%s", test.config, code, stdout, stderr)
		}
	}
}
