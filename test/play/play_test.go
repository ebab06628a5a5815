package main

import (
	"bytes"
	"regexp"
	"strings"
	"testing"
	"time"
)

func TestTheDemoSeesEveryStep(t *testing.T) {
	skipIfShort(t)
	t.Parallel()
	var output bytes.Buffer
	if err := demo(t.Context(), &output, stepLimit); err != nil {
		t.Fatalf("%v\n%s", err, output.String())
	}
	requireTitles(t, output.String(), (&story{}).steps())
}

func TestTheDemoOfAFanOutSeesEveryStep(t *testing.T) {
	skipIfShort(t)
	t.Parallel()
	var output bytes.Buffer
	if err := demoFanOut(t.Context(), &output, plain); err != nil {
		t.Fatalf("%v\n%s", err, output.String())
	}
	requireTitles(t, output.String(), (&fanOutStory{}).steps())
	if halted := "1 crashing  19 former content"; !strings.Contains(output.String(), halted) {
		t.Errorf("the demo does not show %q:\n%s", halted, output.String())
	}
}

func TestTheDemoOfARolloutSeesEveryStep(t *testing.T) {
	skipIfShort(t)
	t.Parallel()
	var output bytes.Buffer
	if err := demoRollout(t.Context(), &output, plain); err != nil {
		t.Fatalf("%v\n%s", err, output.String())
	}
	requireTitles(t, output.String(), (&releaseStory{}).steps())
	for _, seen := range []string{`: 7 \*{7} +web-\w+: 1 X\n`, `: 8 \*{8} +web-\w+: 0\n`, `error: .* exceeded its progress deadline\n +exit code 1\n`} {
		if !regexp.MustCompile(seen).MatchString(output.String()) {
			t.Errorf("the demo does not show %s:\n%s", seen, output.String())
		}
	}
}

func requireTitles(t *testing.T, output string, steps []step) {
	t.Helper()
	for _, step := range steps {
		if !strings.Contains(output, step.title) {
			t.Errorf("the demo does not say that %s:\n%s", step.title, output)
		}
	}
}

func TestAPictureShowsEachDeploymentAndCountsThem(t *testing.T) {
	fleet := []condition{current, old, old, broken, rolling, old}
	for _, c := range []struct {
		signs signs
		want  string
	}{
		{plain, "*ooX/o   1 present content  1 rolling  1 crashing  3 former content"},
		{pretty, "●○○✗◐○   1 present content  1 rolling  1 crashing  3 former content"},
	} {
		if got := c.signs.draw(fleet); got != c.want {
			t.Errorf("got  %s\nwant %s", got, c.want)
		}
	}
}

func TestTheDemoFailsIfAStepDoesNotHappen(t *testing.T) {
	skipIfShort(t)
	for _, c := range []struct{ name, variable, value, missing string }{
		{"the engine drives other Deployments", "WATCH_NAMESPACES", "elsewhere", "step 2, the deployment engine creates its ReplicaSet"},
		{"the restart controller takes too long", "RESTART_GRACE_PERIOD", "3600", "step 4, the controller records the checksums"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Setenv(c.variable, c.value)
			var output bytes.Buffer
			err := demo(t.Context(), &output, 6*time.Second)
			if err == nil {
				t.Fatalf("the demo saw what did not happen:\n%s", output.String())
			}
			if !strings.Contains(err.Error(), c.missing) {
				t.Errorf("the error does not say what is missing: %v", err)
			}
			if !strings.Contains(output.String(), "The end of the controller's log") {
				t.Errorf("the controller's log is not shown:\n%s", output.String())
			}
		})
	}
}

func TestACommandIsNeeded(t *testing.T) {
	for _, arguments := range [][]string{nil, {"sing"}, {"run", "twice"}} {
		if code := play(arguments); code != 2 {
			t.Errorf("play %q exits with %d, want 2", arguments, code)
		}
	}
}

func skipIfShort(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("the demo starts a control plane: left out with -short")
	}
}
