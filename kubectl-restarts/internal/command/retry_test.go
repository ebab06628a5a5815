package command_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// failedRelease is what the deployment engine says of a release that has failed twice.
const failedRelease = `The release of ReplicaSet \"web-5d4c8bb5f9\" has failed: container main of pod web-5d4c8bb5f9-x2x7k: CrashLoopBackOff. ` +
	`ReplicaSet web-7b9c6d5f48, which was complete before, runs instead; to keep it, roll back to its revision 3. ` +
	`To try the failed release again, set the annotation com.xing.deployment-restart.retry to web-5d4c8bb5f9/3.`

// fallenBack is a Deployment with conditions, and with further fields of its spec.
func fallenBack(spec, conditions string) string {
	return strings.NewReplacer(`"spec":{"replicas"`, `"spec":{`+spec+`"replicas"`, `"status":{`, `"status":{"conditions":[`+conditions+`],`).Replace(deployment("{}"))
}

func conditionThat(kind, status, message string) string {
	return fmt.Sprintf(`{"type":%q,"status":%q,"reason":"ProgressDeadlineExceeded","message":"%s"}`, kind, status, message)
}

func TestAReleaseThatHasFallenBackIsTriedAgain(t *testing.T) {
	both := conditionThat("Progressing", "False", failedRelease) + "," + conditionThat("FallenBack", "True", failedRelease)
	const write = webPath + `?%sfieldManager=kubectl-restarts {"metadata":{"annotations":{"com.xing.deployment-restart.retry":"web-5d4c8bb5f9/3"},"resourceVersion":"7"}}`
	const asked = "deployment/web annotated, to be tried again as web-5d4c8bb5f9/3"
	const next = "\nThe deployment engine rolls it out again. See how that goes with: kubectl rollout status -n shop deployment/web\n"
	for name, test := range map[string]struct {
		spec, want string
		writes     []string
		arguments  []string
	}{
		"at once":           {"", asked + next, []string{fmt.Sprintf(write, "")}, []string{"deployment/web"}},
		"by another name":   {"", asked + next, []string{fmt.Sprintf(write, "")}, []string{"deploy/web"}},
		"when it resumes":   {`"paused":true,`, asked + "\nIt is paused, so nothing is rolled out before it is resumed.\n", []string{fmt.Sprintf(write, "")}, []string{"deployment/web"}},
		"in a server's run": {"", asked + " (server dry run)" + next, []string{fmt.Sprintf(write, "dryRun=All&")}, []string{"deployment/web", "--dry-run"}},
		"in a client's run": {"", asked + " (client dry run)" + next, nil, []string{"deployment/web", "--dry-run=client"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newServer(t)
			s.objects[webPath] = fallenBack(test.spec, both)
			code, stdout, stderr := s.run(t.Context(), append([]string{"retry"}, test.arguments...)...)
			if code != 0 || stdout != test.want || strings.Contains(stderr, "not enabled") || !slices.Equal(s.writes, test.writes) {
				t.Errorf("%d, %s%s, wrote %q, want %s, %q", code, stdout, stderr, s.writes, test.want, test.writes)
			}
		})
	}
}

func TestNothingIsTriedAgainThatHasNotFallenBack(t *testing.T) {
	const nothing = "error: deployment/web does not say that a release has failed and fallen back, so there is nothing to try again"
	timedOut := conditionThat("Progressing", "False", `ReplicaSet \"web-5d4c8bb5f9\" has timed out progressing.`)
	fellBack := conditionThat("FallenBack", "True", failedRelease)
	for name, test := range map[string]struct{ conditions, argument, want string }{
		"it runs":                       {conditionThat("Progressing", "True", "all is well"), "deployment/web", nothing},
		"it has no status":              {"", "deployment/web", nothing},
		"it has only timed out":         {timedOut, "deployment/web", nothing},
		"the condition is left behind":  {timedOut + "," + fellBack, "deployment/web", nothing}, // another controller has replaced the other
		"only one condition says so":    {conditionThat("Progressing", "False", failedRelease), "deployment/web", nothing},
		"the message names no attempt":  {conditionThat("Progressing", "False", "it has failed") + "," + fellBack, "deployment/web", nothing},
		"there is no such Deployment":   {"", "deployment/shop", `error: "shop" not found in namespace shop`},
		"a StatefulSet has no releases": {"", "statefulset/db", "error: this works for Deployments only; use deployment/NAME"},
		"nor has a config":              {"", "configmap/settings", "error: this works for Deployments only; use deployment/NAME"},
		"a name is missing":             {"", "deployment", "error: "},
	} {
		t.Run(name, func(t *testing.T) {
			s := newServer(t)
			s.objects[webPath], s.objects[settingPath] = fallenBack("", test.conditions), settings
			s.objects["/apis/apps/v1/namespaces/shop/statefulsets/db"] = strings.ReplaceAll(deployment("{}"), "Deployment", "StatefulSet")
			code, stdout, stderr := s.run(t.Context(), "retry", test.argument)
			if code != 1 || stdout != "" || !strings.Contains(stderr, test.want) || len(s.writes) > 0 {
				t.Errorf("%d, %s%s, wrote %q, want %s", code, stdout, stderr, s.writes, test.want)
			}
		})
	}
}
