package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

const program = "kubernetes-deployment-restart-controller"

var semantic = regexp.MustCompile(`^\d+\.\d+\.\d+$`)

// A statement is a place that names the version: the first group of each match in the file.
type statement struct {
	file    string // below the top directory
	pattern *regexp.Regexp
}

var (
	inText     = regexp.MustCompile(`(?:` + program + `[:-]|newTag: |VERSION=)(\d+\.\d+\.\d+)`)
	statements = []statement{
		{program + ".go", regexp.MustCompile(`(?m)^\s*version\s+= "(.*)"$`)},
		{"charts/" + program + "/Chart.yaml", regexp.MustCompile(`(?m)^version: (.*)$`)},
		{"charts/" + program + "/Chart.yaml", regexp.MustCompile(`(?m)^appVersion: (.*)$`)},
		{"charts/" + program + "/Chart.yaml", regexp.MustCompile(`(?m)^\s+image: .*:(.*)$`)},
		{"k8s-manifests/deployment.yaml", regexp.MustCompile(`(?m)^\s*image: ` + program + `:(.*)$`)},
		{"k8s-manifests/kustomization.yaml", inText},
		{"examples/gitops/wait/job.yaml", regexp.MustCompile(`(?m)^\s*image: kubectl-restarts:(.*)$`)},
		{"Dockerfile", inText},
		{"README.md", inText},
		{"docs/installation.md", inText},
	}
)

// check returns what contradicts the version in the repository at the directory top. An error is what prevents it from
// looking.
func check(ctx context.Context, top, version string) ([]string, error) {
	if !semantic.MatchString(version) {
		return nil, fmt.Errorf("-version %q is not of the form 2.0.0", version)
	}
	var differences []string
	for _, s := range statements {
		found, err := s.check(top, version)
		if err != nil {
			return nil, err
		}
		differences = append(differences, found...)
	}
	for _, look := range []func(context.Context, string, string) ([]string, error){checkPlaces, checkChangelog, checkTag, checkBinary} {
		found, err := look(ctx, top, version)
		if err != nil {
			return nil, err
		}
		differences = append(differences, found...)
	}
	return differences, nil
}

func (s statement) check(top, version string) ([]string, error) {
	content, err := os.ReadFile(filepath.Join(top, s.file))
	if err != nil {
		return nil, err
	}
	named := s.pattern.FindAllSubmatchIndex(content, -1)
	if len(named) == 0 {
		return []string{fmt.Sprintf("%s names no version where one is expected (%s)", s.file, s.pattern)}, nil
	}
	var differences []string
	for _, match := range named {
		if other := string(content[match[2]:match[3]]); other != version {
			line := 1 + bytes.Count(content[:match[2]], []byte("\n"))
			differences = append(differences, fmt.Sprintf("%s:%d says %s instead of %s: %s", s.file, line, other, version, bytes.TrimSpace(content[match[0]:match[1]])))
		}
	}
	return slices.Compact(differences), nil
}

// checkChangelog wants a section for the version, and nothing that still waits for one.
func checkChangelog(_ context.Context, top, version string) ([]string, error) {
	content, err := os.ReadFile(filepath.Join(top, "CHANGELOG.md"))
	if err != nil {
		return nil, err
	}
	var differences []string
	sections := strings.Split("\n"+string(content), "\n## [")
	if i := slices.IndexFunc(sections, func(s string) bool { return strings.HasPrefix(s, version+"]") }); i < 0 {
		differences = append(differences, fmt.Sprintf("CHANGELOG.md has no section [%s]", version))
	}
	for _, section := range sections {
		if waiting, isUnreleased := strings.CutPrefix(section, "Unreleased]"); isUnreleased && strings.TrimSpace(waiting) != "" {
			differences = append(differences, fmt.Sprintf("CHANGELOG.md lists changes under [Unreleased]: move them to [%s]", version))
		}
	}
	return differences, nil
}

// unset is what the chart says until somebody says where the repository and the image are.
var unset = []struct{ file, line, what string }{
	{"Chart.yaml", "home: https://example.com/", "where the repository is: set home to its URL, and run make docs"},
	{"values.yaml", "  repository: " + program + "\n", "where the image is: set image.repository, and run make docs"},
}

func checkPlaces(_ context.Context, top, _ string) ([]string, error) {
	var differences []string
	for _, u := range unset {
		file := "charts/" + program + "/" + u.file
		content, err := os.ReadFile(filepath.Join(top, file))
		if err != nil {
			return nil, err
		}
		if strings.Contains("\n"+string(content), "\n"+u.line) {
			differences = append(differences, file+" does not say "+u.what)
		}
	}
	return differences, nil
}

// checkTag wants the tag on the commit that is checked out, without local changes.
func checkTag(ctx context.Context, top, version string) ([]string, error) {
	tags, err := output(ctx, top, "git", "tag", "--points-at", "HEAD")
	if err != nil {
		return nil, err
	}
	changes, err := output(ctx, top, "git", "status", "--porcelain")
	if err != nil {
		return nil, err
	}
	var differences []string
	if tag := "v" + version; !slices.Contains(strings.Fields(tags), tag) {
		differences = append(differences, fmt.Sprintf("the commit has no tag %s: git tag %s", tag, tag))
	}
	if changes != "" {
		differences = append(differences, "there are changes that are not committed (git status)")
	}
	return differences, nil
}

func checkBinary(ctx context.Context, top, version string) ([]string, error) {
	path, err := filepath.Abs(filepath.Join(top, "bin", program))
	if err != nil {
		return nil, err
	}
	says, err := output(ctx, top, path, "--version")
	if err != nil {
		return nil, err
	}
	if !strings.HasPrefix(says, program+" "+version+" ") {
		return []string{fmt.Sprintf("bin/%s says %q", program, strings.TrimSpace(says))}, nil
	}
	return nil, nil
}

func output(ctx context.Context, directory, name string, arguments ...string) (string, error) {
	command := exec.CommandContext(ctx, name, arguments...)
	command.Dir = directory
	var said bytes.Buffer
	command.Stderr = &said
	content, err := command.Output()
	var failed *exec.ExitError
	if errors.As(err, &failed) {
		return "", fmt.Errorf("%s %s: %w: %s", filepath.Base(name), strings.Join(arguments, " "), err, strings.TrimSpace(said.String()))
	}
	return string(content), err
}
