package controller

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"kubernetes-deployment-restart-controller/catalog/optin"
	"kubernetes-deployment-restart-controller/controller/objecttest"
)

// Whoever comes from another tool has only its annotations, and must learn just as well what does not restart.
func TestAWorkloadOfAnotherToolThatCannotBeRestartedIsReportedIfTheToolIsUnderstood(t *testing.T) {
	const own, auto = `"com.xing.deployment-restart": "enabled"`, `"reloader.stakater.com/auto": "true"`
	says := func(annotation, object string) string { return strings.Replace(object, own, annotation, 1) }
	referring := objecttest.ObjectText("Rollout", "5", `"workloadRef": {"kind": "Deployment", "name": "web"}`, "")
	withoutTemplate := objecttest.ObjectText("Rollout", "5", `"template": {}`, "")
	ofTemplate := objecttest.ObjectText("Rollout", "5", strings.Replace(objecttest.PodTemplateText, `"metadata": {`, `"metadata": {"annotations": {`+auto+`}, `, 1), "")
	withoutSelector := strings.Replace(ofTemplate, `"selector"`, `"unselected"`, 1)
	for name, test := range map[string]struct {
		object   string
		dialects []optin.Dialect
		want     int
	}{
		"of Reloader, with a workloadRef":     {says(auto, referring), []optin.Dialect{optin.Reloader}, 1},
		"of Reloader, without a template":     {says(auto, withoutTemplate), []optin.Dialect{optin.Reloader}, 1},
		"of Reloader, without a selector":     {says("", withoutSelector), []optin.Dialect{optin.Reloader}, 1},
		"of wave":                             {says(`"wave.pusher.com/update-on-config-change": "true"`, referring), []optin.Dialect{optin.Reloader, optin.Wave}, 1},
		"of Reloader, which is not asked for": {says(auto, referring), nil, 0},
		"of Reloader, if only wave is":        {says(auto, referring), []optin.Dialect{optin.Wave}, 0},
		"that opts out":                       {says(strings.Replace(auto, "true", "false", 1), referring), []optin.Dialect{optin.Reloader}, 0},
		"of nobody":                           {says("", referring), []optin.Dialect{optin.Reloader}, 0},
		"of Reloader that can be restarted":   {says("", ofTemplate), []optin.Dialect{optin.Reloader}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			var log bytes.Buffer
			w := newCustomWorldWith(t, "rollouts.v1alpha1.argoproj.io", understands(test.dialects...))
			w.controller.intake.Unusable.Log = slog.New(slog.NewTextHandler(&log, nil))
			w.controller.role.Leading.Store(true)
			w.show(test.object)
			w.show(strings.Replace(test.object, `"resourceVersion": "5"`, `"resourceVersion": "6"`, 1)) // with another status
			events, lines := objecttest.EventsOf(w.recorder), strings.Count(log.String(), "cannot restart a workload that is enabled")
			unusable := w.controller.Board.KindsAsked()[0].Unusable
			if len(events) != test.want || lines != test.want || unusable != test.want {
				t.Errorf("%d lines, %d unusable workloads and the Events %q, want %d each", lines, unusable, events, test.want)
			}
			if test.want > 0 && len(events) > 0 && !strings.Contains(events[0], "NotSupported") {
				t.Errorf("the Event is %s", events[0])
			}
		})
	}
}
