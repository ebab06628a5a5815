package test

import (
	"encoding/base64"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// No value of a config, and no key name of a Secret, shows up anywhere, however
// much the controller is asked to tell.
func TestWhatASecretHoldsIsNeverTold(t *testing.T) {
	s := newSceneApart(t)
	controller := s.startController("-v", "10")
	const key, first, second, plain, third = "hush-key", "hush-value-one", "hush-value-two", "plain-value-one", "plain-value-two"
	s.make(credentials, set(key, first))
	s.make(settings, set("plain-key", plain))
	app := s.run("app", withVolumes(podOf(envFrom(settings), mount("files")), volumeOf("files", credentials)))
	before := s.started(app)
	s.edit(credentials, set(key, second))
	s.edit(settings, set("plain-key", third))
	s.awaitRestart(app, before)
	s.awaitRestartEvent(app, "restarting: configmap settings changed (keys: plain-key); secret credentials changed (1 key)")
	s.annotate(app, checksumsAnnotation, "{") // a warning, too
	s.settle()
	s.requireWrites(app, before, 1, 2)

	_, metrics, err := controller.Get(t.Context(), "/metrics")
	s.must(err)
	events, err := s.client.CoreV1().Events(s.namespace).List(t.Context(), metav1.ListOptions{})
	s.must(err)
	told := map[string]string{"the log": controller.Log().String(), "the metrics": metrics}
	for _, event := range events.Items {
		if event.ReportingController == controllerName {
			told["the events"] += event.Message + "\n"
		}
	}
	for where, text := range told {
		for _, secret := range []string{key, first, second, plain, third} {
			for _, form := range []string{secret, base64.StdEncoding.EncodeToString([]byte(secret))} {
				if strings.Contains(text, form) {
					t.Errorf("%s tells %q", where, form)
				}
			}
		}
	}
}
