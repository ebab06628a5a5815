package controller

import (
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/client-go/tools/record"

	"kubernetes-deployment-restart-controller/catalog/optin"
	"kubernetes-deployment-restart-controller/controller/wording"
)

func TestAnEditOfAWorkloadWithoutPodsIsReportedOnceUntilItWantsPodsAgain(t *testing.T) {
	for name, isDryRun := range map[string]bool{"a controller that acts": false, "a dry run": true} {
		t.Run(name, func(t *testing.T) {
			w := ruled(t, optin.Rules{})
			recorder := record.NewFakeRecorder(100)
			w.controller.restarter.Events = recorder
			heard := func() (texts []string) {
				for {
					select {
					case text := <-recorder.Events:
						if text == "Normal NothingToRestart "+wording.NothingRuns {
							texts = append(texts, text)
						}
					default:
						return texts
					}
				}
			}
			scale := func(replicas int32) {
				w.changed("a/web", func(d *appsv1.Deployment) { d.Spec.Replicas = &replicas })
				settle(w)
			}
			edit := func(value string) {
				time.Sleep(time.Millisecond)
				w.edited("a/c", value)
				settle(w)
			}
			edit("1")
			w.runs("a/web", nil, "c")
			settle(w)
			w.controller.restarter.DryRun = isDryRun
			scale(0)
			if got := heard(); len(got) > 0 {
				t.Errorf("before any edit, the Events are %q", got)
			}
			edit("2")
			edit("3")
			if got := heard(); len(got) != 1 {
				t.Errorf("after two edits, the Events are %q", got)
			}
			scale(3)
			edit("4")
			if got := heard(); len(got) > 0 {
				t.Errorf("while it wants pods, the Events are %q", got)
			}
			scale(0)
			edit("5")
			if got := heard(); len(got) != 1 {
				t.Errorf("after it was scaled down again, the Events are %q", got)
			}
		})
	}
}
