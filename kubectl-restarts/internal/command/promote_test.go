package command_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

const (
	// atStep is what the deployment engine says of a release that waits at a step.
	atStep = `The release waits at step 2 of 3 (25%), with 2 of 8 pods of ReplicaSet \"web-5d4c8bb5f9\". To go on, ` +
		`set the annotation com.xing.deployment-restart.promote to web-5d4c8bb5f9/25%; to abort it, com.xing.deployment-restart.abort to web-5d4c8bb5f9/1.`
	cannotGoOn = `The release waits at no step, with 0 of 8 pods of ReplicaSet \"web-5d4c8bb5f9\". It cannot go on: \"x\" in the annotation ` +
		`com.xing.deployment-restart.steps is neither a number of pods nor a percentage. To abort it, set the annotation com.xing.deployment-restart.abort to web-5d4c8bb5f9/1.`
)

func waitsAtStep(message string) string {
	return conditionThat("Progressing", "Unknown", message) + "," + conditionThat("WaitsAtStep", "True", message)
}

func TestARolloutIsPromotedFromTheStepThatItsStatusNames(t *testing.T) {
	const write = webPath + `?%sfieldManager=kubectl-restarts {"metadata":{"annotations":{"com.xing.deployment-restart.promote":%q},"resourceVersion":"7"}}`
	const see = "See how that goes with: kubectl rollout status -n shop deployment/web\n"
	const step, all = "deployment/web annotated, to go on from step 2 of 3 (25%)", "deployment/web annotated, to wait at no step any more"
	const goesOn, rest = "\nThe deployment engine takes the next step. " + see, "\nThe deployment engine rolls out the rest. " + see
	once := []string{fmt.Sprintf(write, "", "web-5d4c8bb5f9/25%")}
	for name, test := range map[string]struct {
		spec, before, message string
		arguments             []string
		want                  string
		writes                []string
	}{
		"to the next step":  {"", "", atStep, []string{"deployment/web"}, step + goesOn, once},
		"by another name":   {"", "", atStep, []string{"deploy/web"}, step + goesOn, once},
		"when it resumes":   {`"paused":true,`, "", atStep, []string{"deployment/web"}, step + "\nIt is paused, so it takes no step before it is resumed.\n", once},
		"in a server's run": {"", "", atStep, []string{"deployment/web", "--dry-run"}, step + " (server dry run)" + goesOn, []string{fmt.Sprintf(write, "dryRun=All&", "web-5d4c8bb5f9/25%")}},
		"in a client's run": {"", "", atStep, []string{"deployment/web", "--dry-run=client"}, step + " (client dry run)" + goesOn, nil},
		"past all steps":    {"", "", atStep, []string{"deployment/web", "--all"}, all + rest, []string{fmt.Sprintf(write, "", "web-5d4c8bb5f9")}},
		"past all steps once more": {"", "web-5d4c8bb5f9", atStep, []string{"deployment/web", "--all"}, all + rest,
			[]string{fmt.Sprintf(write, "", "web-5d4c8bb5f9/all/1")}},
		"past steps that cannot be read": {"", "", cannotGoOn, []string{"deployment/web", "--all"}, all + rest, []string{fmt.Sprintf(write, "", "web-5d4c8bb5f9")}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newServer(t)
			before := fmt.Sprintf(`"annotations":{"com.xing.deployment-restart.promote":%q}`, test.before)
			s.objects[webPath] = strings.Replace(fallenBack(test.spec, waitsAtStep(test.message)), `"annotations":{}`, before, 1)
			code, stdout, stderr := s.run(t.Context(), append([]string{"promote"}, test.arguments...)...)
			if code != 0 || stdout != test.want || strings.Contains(stderr, "not enabled") || !slices.Equal(s.writes, test.writes) {
				t.Errorf("%d, %s%s, wrote %q, want %s, %q", code, stdout, stderr, s.writes, test.want, test.writes)
			}
		})
	}
}

func TestNothingIsPromotedThatCannotGoOn(t *testing.T) {
	const waitsNot = "error: deployment/web cannot be promoted: it does not wait at a step; see how far it is with: kubectl rollout status -n shop deployment/web"
	left := conditionThat("Progressing", "Unknown", "Deployment is paused") + "," + conditionThat("WaitsAtStep", "True", atStep)
	fellBack := conditionThat("Progressing", "False", failedRelease) + "," + conditionThat("FallenBack", "True", failedRelease)
	for name, test := range map[string]struct {
		conditions string
		arguments  []string
		want       string
	}{
		"it runs":                      {conditionThat("Progressing", "True", "all is well"), []string{"deployment/web"}, waitsNot},
		"it runs, and all is asked":    {conditionThat("Progressing", "True", "all is well"), []string{"deployment/web", "--all"}, waitsNot},
		"the condition is left behind": {left, []string{"deployment/web"}, waitsNot}, // another controller has replaced the other
		"its steps cannot be read": {waitsAtStep(cannotGoOn), []string{"deployment/web"}, `error: deployment/web cannot be promoted: "x" in the annotation ` +
			`com.xing.deployment-restart.steps is neither a number of pods nor a percentage; correct the annotation, or let all steps end with --all`},
		"its release has failed":       {fellBack, []string{"deployment/web"}, "to try it again: kubectl restarts retry -n shop deployment/web"},
		"there is no such Deployment":  {"", []string{"deployment/shop"}, `error: "shop" not found in namespace shop`},
		"a StatefulSet takes no steps": {"", []string{"statefulset/db"}, "error: this works for Deployments only; use deployment/NAME"},
		"a name is missing":            {"", []string{"deployment"}, "error: "},
	} {
		t.Run(name, func(t *testing.T) {
			s := newServer(t)
			s.objects[webPath] = fallenBack("", test.conditions)
			s.objects["/apis/apps/v1/namespaces/shop/statefulsets/db"] = strings.ReplaceAll(deployment("{}"), "Deployment", "StatefulSet")
			code, stdout, stderr := s.run(t.Context(), append([]string{"promote"}, test.arguments...)...)
			if code != 1 || stdout != "" || !strings.Contains(stderr, test.want) || len(s.writes) > 0 {
				t.Errorf("%d, %s%s, wrote %q, want %s", code, stdout, stderr, s.writes, test.want)
			}
		})
	}
}

func TestARolloutThatGoesOnChangingIsLeftAlone(t *testing.T) {
	s := newServer(t)
	s.objects[webPath], s.conflict = fallenBack("", waitsAtStep(atStep)), webPath
	code, stdout, stderr := s.run(t.Context(), "promote", "deployment/web")
	if code != 1 || stdout != "" || len(s.writes) > 0 || !strings.Contains(stderr, "deployment/web has just changed; try again") {
		t.Errorf("%d, %s%s, wrote %q", code, stdout, stderr, s.writes)
	}
}

func TestAControllerThatIsJustChangingARolloutIsWaitedFor(t *testing.T) {
	failed := conditionThat("Progressing", "False", failedRelease) + "," + conditionThat("FallenBack", "True", failedRelease)
	for command, conditions := range map[string]string{"promote": waitsAtStep(atStep), "abort": waitsAtStep(atStep), "retry": failed} {
		t.Run(command, func(t *testing.T) {
			s := newServer(t)
			settled := fallenBack("", conditions)
			s.objects[webPath], s.conflict, s.settles = strings.Replace(settled, `"resourceVersion":"7"`, `"resourceVersion":"7","generation":2`, 1), webPath, 1
			s.onRead = func(path string) {
				if path == webPath && s.reads[webPath] == 3 { // after the object itself, and one reading of its status
					s.objects[webPath] = settled
				}
			}
			code, stdout, stderr := s.run(t.Context(), command, "deployment/web")
			if code != 0 || len(s.writes) != 1 || s.conflict != "" || s.reads[webPath] < 4 {
				t.Errorf("%d, %s%s, wrote %q after %d readings", code, stdout, stderr, s.writes, s.reads[webPath])
			}
		})
	}
}

func TestExplainSaysAtWhichStepARolloutWaits(t *testing.T) {
	s := newServer(t)
	s.objects[webPath], s.objects[settingPath] = fallenBack("", waitsAtStep(atStep)), settings
	want := "\nAt a step:    " + strings.ReplaceAll(atStep, `\"`, `"`) + "\n"
	if code, stdout, stderr := s.run(t.Context(), "explain", "deployment/web", "--leader=false"); code != 0 || !strings.Contains(stdout, want) {
		t.Errorf("%d, %s%s, want %s", code, stdout, stderr, want)
	}
}
