package main

import (
	"bytes"
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
	for _, step := range stepTitles() {
		if !strings.Contains(output.String(), step) {
			t.Errorf("the demo does not say that %s:\n%s", step, output.String())
		}
	}
}

func stepTitles() []string {
	var titles []string
	for _, step := range (&story{}).steps() {
		titles = append(titles, step.title)
	}
	return titles
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
