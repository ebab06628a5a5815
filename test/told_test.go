package test

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"testing"

	registrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// told waits until an Event has been written, and fails if it is there more than once.
func (s *scene) told(w workload, reason, part string) {
	s.Helper()
	s.awaitEvent(w, reason, part)
	events, err := s.eventsOf(s.Context(), w, reason)
	s.must(err)
	if len(events) != 1 || events[0].Count != 1 {
		s.Errorf("%s of %s: %d Events, the first %d times", reason, w.name, len(events), events[0].Count)
	}
}

func TestWhatAPolicyDeniesATypoAndAHoldAreToldOnThePageAndByThePlugin(t *testing.T) {
	const typo = "annotation com.xing.deployment-restart.graceperiod looks like a misspelling of com.xing.deployment-restart.grace-period"
	s := newSceneApart(t)
	s.startController("--status-address=127.0.0.1:0")
	s.make(settings, set("used", "v1"))
	web := s.run("web", podOf(envFrom(settings)), annotated("com.xing.deployment-restart.graceperiod", "5s"))
	calm := s.run("calm", podOf(envFrom(settings)), annotated(holdAnnotation, "migration"))
	before := s.started(web)
	s.started(calm)
	s.letTimePass()
	page, leader := s.controller, "--status-url=http://"+s.controller.StatusAddress()

	s.told(web, "InvalidAnnotation", typo)
	s.awaitPage(page, "/", regexp.MustCompile(`Annotations that cannot be used(?s:.*)web\s*`+regexp.QuoteMeta(typo)+`(?s:.*)Holds(?s:.*)calm\s*migration`))
	s.awaitPlugin(regexp.MustCompile(`says: nothing is under way\.\n\nWorkloads on hold \(release with: kubectl restarts unhold -n `+s.namespace+` TYPE/NAME\):\n.*deployment/calm: migration \(since .*\)\n`), "status", leader)
	s.awaitPlugin(regexp.MustCompile(regexp.QuoteMeta(typo)), "explain", "deployment/web", leader)

	mistyped := s.run("mistyped", podOf(envFrom(settings)), plain, annotated("com.xing.deployment-restrat", "enabled"))
	s.told(mistyped, "InvalidAnnotation", "annotation com.xing.deployment-restrat looks like a misspelling of com.xing.deployment-restart, so it enables nothing")
	s.awaitPlugin(regexp.MustCompile(`^deployment/mistyped in `+s.namespace+` is not enabled, so no edit restarts it: annotation com\.xing\.deployment-restrat looks like a misspelling of com\.xing\.deployment-restart, so it enables nothing\.\n(?s:.*)`+
		`Problems: .*com\.xing\.deployment-restart, so it enables nothing \(since \S+Z\)\n(?s:.*)\nThe leader \(\S+\) knows no enabled workload of this name\.\n$`), "explain", "deployment/mistyped", leader)

	thaw := s.freeze(web)
	s.edit(settings, set("used", "v2"))
	s.awaitEvent(web, "RestartFailed", "trying again: patch deployment/"+s.namespace+"/web: ")
	s.awaitPage(page, "/", regexp.MustCompile(`1 retrying(?s:.*)web\s*retrying\s*patch .*`+denial+`; let the controller.*s account do this .*failed attempts: \d+`))
	s.awaitPlugin(regexp.MustCompile(`says: 1 retrying, 1 held\.\n(?s:.*)deployment/web +retrying .*policy '\S+' denies it: `+denial+`\n(?s:.*)What helps deployment/web: let the controller`), "status", leader)
	s.awaitPlugin(regexp.MustCompile(`and the next attempt (is under way|follows at .*): patch .*`+denial+`\. What helps: let the controller's account do this in that policy, or restart the workload by hand if it lets you\.\n`), "explain", "deployment/web", leader)
	s.must(s.controller.Kill())
	s.awaitPlugin(regexp.MustCompile(`1 not applied, 1 held.*\n(?s:.*)deployment/web +not applied .*`+denial), "status", leader)
	s.awaitPlugin(regexp.MustCompile(`has not restarted yet for what has changed in configmap/settings: (?s:.*)RestartFailed .*`+denial), "explain", "deployment/web", leader)

	thaw()
	s.startController()
	s.awaitRestart(web, before)
	s.told(web, "InvalidAnnotation", typo)
}

func TestAWebhookThatIsAwayIsNamedWithWhatHelps(t *testing.T) {
	s := newSceneApart(t)
	s.startController("--status-address=127.0.0.1:0")
	s.make(settings, set("used", "v1"))
	web := s.run("web", podOf(envFrom(settings)))
	before := s.started(web)
	s.letTimePass()
	leader := "--status-url=http://" + s.controller.StatusAddress()

	end := s.askAt(registrationv1.Update, appsv1.SchemeGroupVersion.WithResource("deployments"), registrationv1.WebhookClientConfig{URL: new("https://127.0.0.1:1/x")})
	s.edit(settings, set("used", "v2"))
	const helps = "repair the webhook or its service, or let it ignore failures"
	s.awaitEvent(web, "RestartFailed", helps)
	short := `webhook "webhook\.example\.com" cannot be called: .*connection refused`
	s.awaitPlugin(regexp.MustCompile(`deployment/web +retrying .* failed attempts: `+short+`\n(?s:.*)What helps deployment/web: `+helps+`\.\n`), "status", leader)
	s.awaitPlugin(regexp.MustCompile(`webhook "webhook\.example\.com".*connection refused\. What helps: `+helps+`\.\n`), "explain", "deployment/web", leader)
	s.must(s.controller.Kill())
	s.awaitPlugin(regexp.MustCompile(`deployment/web +not applied .*`+short+`\n(?s:.*)What helps deployment/web: `+helps+`\.\n`), "status", leader)

	end()
	s.startController()
	s.awaitRestart(web, before)
}

// Argo Rollouts makes pods from the template of a Deployment at 0 replicas, which nothing restarts by itself.
func TestATemplateOfARolloutSaysOnceWhyItsEditsRestartNothing(t *testing.T) {
	s := newSceneApart(t)
	s.define(rollouts)
	s.startController(rollouts.flag())
	s.make(settings, set("used", "v1"))
	template := s.run("web", podOf(envFrom(settings)), withoutPods)
	user := s.runOther(rollouts, "web", podOf(envFrom(settings)), func(spec map[string]any) {
		delete(spec, "template")
		spec["workloadRef"] = map[string]any{"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
	})
	s.told(user, "NotSupported", "its pod template is in another object (.spec.workloadRef)")
	recorded := s.awaitRecorded(template)
	for _, value := range []string{"v2", "v3"} {
		s.edit(settings, set("used", value))
		s.eventually("the edit is recorded", func(ctx context.Context) error {
			now, err := s.look(ctx, template)
			if err == nil && now.Annotations[checksumsAnnotation] == recorded.Annotations[checksumsAnnotation] {
				err = fmt.Errorf("the record is still %s", now.Annotations[checksumsAnnotation])
			}
			recorded = now
			return err
		})
		s.told(template, "NothingToRestart", "nothing restarts, because this workload wants no pods")
	}
}

// Flagger scales a target to 0, and runs a copy of it that has its annotations and reads copies of its configs. When it
// promotes an edit, it writes these copies, replaces the pod template, and drops annotations that it is not told to keep.
func TestFlaggersPrimaryRollsOncePerPromotion(t *testing.T) {
	copies := configMap(settings.name + "-primary")
	for name, keeps := range map[string]bool{"with the flags of Flagger by default": false, "with annotations that it keeps": true} {
		t.Run(name, func(t *testing.T) {
			s := newSceneApart(t)
			s.startController()
			s.make(settings, set("used", "v1"))
			target := s.run("web", podOf(envFrom(settings)))
			s.started(target)
			s.letTimePass()
			s.make(copies, set("used", "v1"))
			inherited := s.annotationsOf(target)
			primary := s.run("web-primary", podOf(envFrom(copies)), func(d *appsv1.Deployment) { d.Annotations = inherited })
			s.patchAs("flagger", target, `{"spec":{"replicas":0}}`)
			s.await("has a record of its own", primary, func(st state) error {
				if st.Annotations[basisAnnotation] == inherited[basisAnnotation] {
					return errors.New("it still has that of the target")
				}
				return nil
			})
			before := s.awaitRollout(primary)
			s.letTimePass()

			s.edit(settings, set("used", "v2"))
			s.told(target, "NothingToRestart", "as Argo Rollouts does with .spec.workloadRef, and Flagger, and does not act on the edit itself")
			s.requireRestarts(primary, before, 0)

			s.edit(copies, set("used", "v2"))
			object, err := s.client.AppsV1().Deployments(s.namespace).Get(t.Context(), primary.name, metav1.GetOptions{})
			s.must(err)
			object.Spec.Template.Annotations = map[string]string{"flagger-id": "2"}
			object.Annotations = nil
			if keeps {
				object.Annotations = s.annotationsOf(target)
			}
			_, err = s.client.AppsV1().Deployments(s.namespace).Update(t.Context(), object, metav1.UpdateOptions{FieldManager: "flagger"})
			s.must(err)
			if keeps {
				promoted := s.requireOneRelease(primary, before)
				s.letTimePass()
				s.edit(copies, set("used", "v3")) // as for a config that it does not track
				s.requireOneRestart(primary, promoted)
				return
			}
			s.awaitEvent(primary, "RestartDisabled", "no longer restart this workload")
			s.awaitRollout(primary)
			s.awaitIdle()
			if after := s.now(primary); after.restartedAt() != "" {
				t.Errorf("it restarts at %s, too", after.restartedAt())
			}
		})
	}
}

// annotationsOf returns the annotations of a Deployment.
func (s *scene) annotationsOf(w workload) map[string]string {
	s.Helper()
	object, err := s.client.AppsV1().Deployments(s.namespace).Get(s.Context(), w.name, metav1.GetOptions{})
	s.must(err)
	return object.Annotations
}
