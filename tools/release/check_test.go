package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// annotated is the image in the annotations of a chart.
const annotated = "  image: registry.example.com/x:2.1.0\n"

// repository returns the directory of a repository in which everything names version 2.1.0, with one file changed.
func repository(t *testing.T, file, content string) string {
	t.Helper()
	top := t.TempDir()
	files := map[string]string{
		program + ".go":                      "const (\n\tprogramName = \"" + program + "\"\n\tversion     = \"2.1.0\"\n)\n",
		"k8s-manifests/deployment.yaml":      "          image: " + program + ":2.1.0\n",
		"k8s-manifests/kustomization.yaml":   "#     newTag: 2.1.0\n",
		"charts/" + program + "/Chart.yaml":  "apiVersion: v2\nversion: 2.1.0\nappVersion: 2.1.0\n" + annotated,
		"charts/" + program + "/values.yaml": "image:\n  repository: registry.example.com/" + program + "\n",
		"examples/gitops/wait/job.yaml":      "          image: kubectl-restarts:2.1.0\n",
		"README.md":                          "crane push dist/oci registry.example.com/" + program + ":2.1.0\n",
		"Dockerfile":                         "# docker build --build-arg VERSION=2.1.0\n",
		"docs/installation.md":               "docker load -i dist/" + program + "-2.1.0-linux-amd64.tar\n    newTag: 2.1.0\n",
		"CHANGELOG.md":                       "# Changelog\n\n## [Unreleased]\n\n## [2.1.0] - 2026-12-01\n\n- More.\n\n## [2.0.0]\n",
		".gitignore":                         "/bin/\n",
		"bin/" + program:                     "#!/bin/sh\necho " + program + " 2.1.0 '(commit 0123abcd, go1.26)'\n",
	}
	if file != "" {
		files[file] = content
	}
	for name, content := range files {
		path := filepath.Join(top, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	git(t, top, "init", "-q")
	git(t, top, "add", "-A")
	git(t, top, "-c", "user.name=Test", "-c", "user.email=test@example.com", "commit", "-q", "-m", "all")
	return top
}

func git(t *testing.T, top string, arguments ...string) {
	t.Helper()
	command := exec.CommandContext(t.Context(), "git", arguments...)
	command.Dir = top
	command.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null")
	if output, err := command.CombinedOutput(); err != nil {
		t.Fatalf("git %q: %v: %s", arguments, err, output)
	}
}

func TestAReleaseOnWhichAllAgreePasses(t *testing.T) {
	top := repository(t, "", "")
	git(t, top, "tag", "v2.1.0")
	if differences, err := check(t.Context(), top, "2.1.0"); err != nil || len(differences) > 0 {
		t.Errorf("%q, %v", differences, err)
	}
}

func TestEachPlaceThatNamesAnotherVersionIsFound(t *testing.T) {
	chart := "charts/" + program + "/Chart.yaml"
	for want, change := range map[string]struct{ file, content string }{
		program + ".go:1 says 2.0.0 instead of 2.1.0":                  {program + ".go", "\tversion     = \"2.0.0\"\n"},
		program + ".go names no version":                               {program + ".go", "package main\n"},
		"k8s-manifests/deployment.yaml:1 says latest instead of 2.1.0": {"k8s-manifests/deployment.yaml", "  image: " + program + ":latest\n"},
		"k8s-manifests/kustomization.yaml:1 says 2.0.0":                {"k8s-manifests/kustomization.yaml", "#     newTag: 2.0.0\n"},
		chart + ":1 says 2.0.0 instead of 2.1.0: version: 2.0.0":       {chart, "version: 2.0.0\nappVersion: 2.1.0\n" + annotated},
		chart + ":2 says 2.0.1 instead of 2.1.0: appVersion: 2.0.1":    {chart, "version: 2.1.0\nappVersion: 2.0.1\n" + annotated},
		chart + ":3 says 2.0.1 instead of 2.1.0: image:":               {chart, "version: 2.1.0\nappVersion: 2.1.0\n  image: x:2.0.1\n"},
		chart + " does not say where the repository is":                {chart, "version: 2.1.0\nappVersion: 2.1.0\nhome: https://example.com/x\n" + annotated},
		program + "/values.yaml does not say where the image is":       {"charts/" + program + "/values.yaml", "image:\n  repository: " + program + "\n"},
		"examples/gitops/wait/job.yaml:1 says 2.0.0 instead":           {"examples/gitops/wait/job.yaml", "          image: kubectl-restarts:2.0.0\n"},
		"README.md:1 says 2.0.0 instead":                               {"README.md", "crane push dist/oci registry.example.com/" + program + ":2.0.0\n"},
		"README.md names no version":                                   {"README.md", "nothing\n"},
		"docs/installation.md:1 says 1.9.0 instead":                    {"docs/installation.md", program + ":2.1.0 and " + program + ":1.9.0\n" + program + "-2.1.0-linux-\n"},
		"docs/installation.md:2 says 2.0.0 instead":                    {"docs/installation.md", program + ":2.1.0\n" + program + "-2.0.0-linux-arm64\n"},
		"CHANGELOG.md has no section [2.1.0]":                          {"CHANGELOG.md", "## [2.0.0]\n"},
		"CHANGELOG.md lists changes under [Unreleased]: move them to":  {"CHANGELOG.md", "## [Unreleased]\n\n- Less.\n\n## [2.1.0]\n"},
		"bin/" + program + " says \"" + program + " 2.1.00 (":          {"bin/" + program, "#!/bin/sh\necho " + program + " '2.1.00 (commit x)'\n"},
	} {
		t.Run(want, func(t *testing.T) {
			t.Parallel()
			top := repository(t, change.file, change.content)
			git(t, top, "tag", "v2.1.0")
			differences, err := check(t.Context(), top, "2.1.0")
			if err != nil || len(differences) != 1 || !strings.Contains(differences[0], want) {
				t.Errorf("%q, %v", differences, err)
			}
		})
	}
}

// A text that is there twice is two lines to change.
func TestEachPlaceIsNamedOnce(t *testing.T) {
	top := repository(t, "docs/installation.md", program+":2.0.0\n\nVERSION=2.1.0 and "+program+"-2.0.0\n"+program+":2.0.0 "+program+":2.0.0\n")
	git(t, top, "tag", "v2.1.0")
	differences, err := check(t.Context(), top, "2.1.0")
	want := []string{
		"docs/installation.md:1 says 2.0.0 instead of 2.1.0: " + program + ":2.0.0",
		"docs/installation.md:3 says 2.0.0 instead of 2.1.0: " + program + "-2.0.0",
		"docs/installation.md:4 says 2.0.0 instead of 2.1.0: " + program + ":2.0.0",
	}
	if err != nil || !slices.Equal(differences, want) {
		t.Errorf("%q, %v, want %q", differences, err, want)
	}
}

func TestTheTagAndTheCommitMustBeThere(t *testing.T) {
	top := repository(t, "", "")
	git(t, top, "tag", "v2.0.9")
	if err := os.WriteFile(filepath.Join(top, "new.txt"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	differences, err := check(t.Context(), top, "2.1.0")
	want := []string{"the commit has no tag v2.1.0: git tag v2.1.0", "there are changes that are not committed (git status)"}
	if err != nil || !slices.Equal(differences, want) {
		t.Errorf("%q, %v, want %q", differences, err, want)
	}
}

func TestWhatCannotBeCheckedIsAnError(t *testing.T) {
	for _, version := range []string{"", "v2.1.0", "2.1", "2.1.0-rc.1", "latest"} {
		if _, err := check(t.Context(), repository(t, "", ""), version); err == nil || !strings.Contains(err.Error(), "is not of the form 2.0.0") {
			t.Errorf("version %q: %v", version, err)
		}
	}
	if _, err := check(t.Context(), t.TempDir(), "2.1.0"); err == nil || !strings.Contains(err.Error(), "no such file") {
		t.Errorf("an empty directory: %v", err)
	}
}

// What a release would find here, but for what only a release has: the tag, the commit, and the changelog's section.
func TestThisRepositoryNamesOneVersion(t *testing.T) {
	top := filepath.Join("..", "..")
	content, err := os.ReadFile(filepath.Join(top, program+".go"))
	if err != nil {
		t.Fatal(err)
	}
	version := string(statements[0].pattern.FindSubmatch(content)[1])
	for _, s := range statements {
		if differences, err := s.check(top, version); err != nil || len(differences) > 0 {
			t.Errorf("%q, %v", differences, err)
		}
	}
}
