package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

type workflow struct {
	Permissions map[string]string
	Jobs        map[string]struct {
		Timeout int `json:"timeout-minutes"`
		Steps   []struct{ Uses, Run string }
	}
}

// What a workflow does, a maintainer can do as well: its steps call the project's own commands, and targets that exist.
func TestWorkflowsCallOnlyTheCommandsOfTheProject(t *testing.T) {
	ours := regexp.MustCompile(`^(?:\.ci/run|make ([a-z0-9-]+)(?: [A-Z]+=\S+)*)$`)
	for path, w := range workflows(t) {
		if len(w.Permissions) != 1 || w.Permissions["contents"] != "read" {
			t.Errorf("%s has the permissions %v", path, w.Permissions)
		}
		for name, job := range w.Jobs {
			if job.Timeout == 0 {
				t.Errorf("%s: job %s has no timeout", path, name)
			}
			for _, step := range job.Steps {
				if step.Uses != "" && strings.HasPrefix(step.Uses, "actions/") {
					continue
				}
				match := ours.FindStringSubmatch(step.Run)
				if match == nil {
					t.Errorf("%s: job %s calls %q", path, name, step.Uses+step.Run)
				} else if match[1] != "" && exec.CommandContext(t.Context(), "make", "-n", match[1], "VERSION=0.0.0").Run() != nil {
					t.Errorf("%s: job %s makes %s, which is no target", path, name, match[1])
				}
			}
		}
	}
}

func workflows(t *testing.T) map[string]workflow {
	t.Helper()
	paths, err := filepath.Glob(".github/workflows/*.yaml")
	if err != nil || len(paths) == 0 {
		t.Fatalf("%d workflows, %v", len(paths), err)
	}
	all := map[string]workflow{}
	for _, path := range paths {
		encoded, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var w workflow
		if err := yaml.Unmarshal(encoded, &w); err != nil || len(w.Jobs) == 0 {
			t.Fatalf("%s: %v, %d jobs", path, err, len(w.Jobs))
		}
		all[path] = w
	}
	return all
}
