package command_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// progressing is what the deployment engine says of a release between two steps.
const progressing = `ReplicaSet \"web-5d4c8bb5f9\" is progressing. To abort it, set the annotation com.xing.deployment-restart.abort to web-5d4c8bb5f9/2.`

// goesOn are the conditions of a Deployment between two steps, of which some pods are earlier ones.
var goesOn = conditionThat("Progressing", "True", "all is well") + "," + conditionThat("WaitsAtStep", "False", progressing)

// rolling is a Deployment with these conditions that has pods of two templates.
func rolling(spec, conditions string) string {
	return strings.Replace(fallenBack(spec, conditions), `"updatedReplicas":2`, `"updatedReplicas":1`, 1)
}

func TestARolloutThatTakesStepsIsAborted(t *testing.T) {
	const write = webPath + `?%sfieldManager=kubectl-restarts {"metadata":{"annotations":{"com.xing.deployment-restart.abort":%q},"resourceVersion":"7"}}`
	const next = "\nThe deployment engine falls back to the release before. To try this one again: kubectl restarts retry -n shop deployment/web\n"
	first, second := fmt.Sprintf(write, "", "web-5d4c8bb5f9/1"), fmt.Sprintf(write, "", "web-5d4c8bb5f9/2")
	const one, two = "deployment/web annotated, to abort web-5d4c8bb5f9/1", "deployment/web annotated, to abort web-5d4c8bb5f9/2"
	restart := strings.ReplaceAll(waitsAtStep(strings.Replace(atStep, "The release", "The restart", 1)), `"type":"WaitsAtStep","status":"True","reason":"ProgressDeadlineExceeded"`, `"type":"WaitsAtStep","status":"True","reason":"Restart"`)
	for name, test := range map[string]struct {
		spec, conditions string
		arguments        []string
		want             string
		writes           []string
	}{
		"while it waits":    {"", waitsAtStep(atStep), []string{"deployment/web"}, one + next, []string{first}},
		"while it goes on":  {"", goesOn, []string{"deploy/web"}, two + next, []string{second}},
		"when it resumes":   {`"paused":true,`, waitsAtStep(atStep), []string{"deployment/web"}, one + "\nIt is paused, so this has no effect before it is resumed.\n", []string{first}},
		"in a server's run": {"", goesOn, []string{"deployment/web", "--dry-run"}, two + " (server dry run)" + next, []string{fmt.Sprintf(write, "dryRun=All&", "web-5d4c8bb5f9/2")}},
		"in a client's run": {"", goesOn, []string{"deployment/web", "--dry-run=client"}, two + " (client dry run)" + next, nil},
		"as a restart": {"", restart, []string{"deployment/web"},
			one + "\nThe restart has failed, and stays at its step. To go on all the same: kubectl restarts promote -n shop deployment/web\n", []string{first}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newServer(t)
			s.objects[webPath] = rolling(test.spec, test.conditions)
			code, stdout, stderr := s.run(t.Context(), append([]string{"abort"}, test.arguments...)...)
			if code != 0 || stdout != test.want || strings.Contains(stderr, "not enabled") || !slices.Equal(s.writes, test.writes) {
				t.Errorf("%d, %s%s, wrote %q, want %s, %q", code, stdout, stderr, s.writes, test.want, test.writes)
			}
		})
	}
}

func TestNothingIsAbortedThatTakesNoSteps(t *testing.T) {
	aborted := strings.Replace(atStep, "To go on, ", "It was aborted. Roll back, or, to go on all the same, ", 1)
	aborted, _, _ = strings.Cut(aborted, "; to abort")
	aborted += "."
	fellBack := conditionThat("Progressing", "False", failedRelease) + "," + conditionThat("FallenBack", "True", failedRelease)
	for name, test := range map[string]struct{ conditions, argument, want string }{
		"it takes no steps": {conditionThat("Progressing", "True", "all is well"), "deployment/web",
			"error: deployment/web cannot be aborted: no rollout of it takes steps; to go back: kubectl rollout undo -n shop deployment/web"},
		"it has failed":               {fellBack, "deployment/web", "to try it again: kubectl restarts retry -n shop deployment/web"},
		"it was aborted":              {waitsAtStep(aborted), "deployment/web", "it was aborted already; to go back: kubectl rollout undo -n shop deployment/web"},
		"there is no such Deployment": {"", "deployment/shop", `error: "shop" not found in namespace shop`},
		"a config has no rollouts":    {"", "configmap/settings", "error: this works for Deployments only; use deployment/NAME"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newServer(t)
			s.objects[webPath], s.objects[settingPath] = rolling("", test.conditions), settings
			code, stdout, stderr := s.run(t.Context(), "abort", test.argument)
			if code != 1 || stdout != "" || !strings.Contains(stderr, test.want) || len(s.writes) > 0 {
				t.Errorf("%d, %s%s, wrote %q, want %s", code, stdout, stderr, s.writes, test.want)
			}
		})
	}
}
