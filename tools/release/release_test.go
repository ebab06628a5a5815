package main

import (
	"bytes"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// A release of this very commit under another version: all places that name it are changed, and nothing else.
func TestARelease(t *testing.T) {
	const version = "99.1.0"
	top := filepath.Join(t.TempDir(), "clone")
	git(t, ".", "clone", "-q", "--local", filepath.Join("..", ".."), top)
	for _, s := range statements {
		replace(t, filepath.Join(top, s.file), func(content []byte) []byte {
			return s.pattern.ReplaceAllFunc(content, func(match []byte) []byte {
				return bytes.Replace(match, s.pattern.FindSubmatch(match)[1], []byte(version), 1)
			})
		})
	}
	chart := filepath.Join(top, "charts", program, "Chart.yaml")
	replace(t, chart, func(content []byte) []byte {
		return bytes.ReplaceAll(content, []byte("https://example.com/"), []byte("https://code.example.com/"))
	})
	replace(t, filepath.Join(top, "charts", program, "values.yaml"), func(content []byte) []byte {
		return bytes.Replace(content, []byte("  repository: "+program+"\n"), []byte("  repository: registry.example.com/"+program+"\n"), 1)
	})
	replace(t, filepath.Join(top, "CHANGELOG.md"), func(content []byte) []byte {
		return bytes.Replace(content, []byte("## [Unreleased]\n"), []byte("## [Unreleased]\n\n## ["+version+"]\n"), 1)
	})
	git(t, top, "-c", "user.name=Test", "-c", "user.email=test@example.com", "commit", "-q", "-a", "-m", "release")
	if said, err := release(t, top, version); err == nil || !strings.Contains(said, "the commit has no tag v"+version) {
		t.Errorf("without a tag: %v: %s", err, said)
	}
	git(t, top, "tag", "v"+version)
	if said, err := release(t, top, version); err != nil {
		t.Fatalf("%v: %s", err, said)
	}

	listed := checksums(t, filepath.Join(top, "dist"))
	for _, name := range []string{
		program + "-99.1.0-linux-amd64", program + "-99.1.0-linux-arm64",
		program + "-99.1.0-linux-amd64.tar", program + "-99.1.0-linux-arm64.tar",
		program + "-99.1.0-linux-amd64.cdx.json", program + "-99.1.0-linux-arm64.cdx.json",
		"kubectl-restarts_99.1.0_linux_amd64.tar.gz", "kubectl-restarts_99.1.0_linux_amd64.cdx.json",
		program + "-99.1.0-manifests.tar.gz", program + "-99.1.0.tgz", "oci/index.json", "oci/oci-layout",
		"kubectl-restarts-99.1.0-linux-amd64.tar", "kubectl-restarts-99.1.0-linux-arm64.tar", "oci-kubectl-restarts/index.json",
		"restarts.yaml", "kubectl-restarts.rb", "CHANGES.md",
	} {
		if !listed[name] {
			t.Errorf("%s is not in %q", name, slices.Sorted(maps.Keys(listed)))
		}
	}
	requirePlugin(t, top, version)
	requireListings(t, filepath.Join(top, "dist"), version)
}

// requireListings compares what krew and Homebrew read with the list of the checksums.
func requireListings(t *testing.T, dist, version string) {
	t.Helper()
	archive := "kubectl-restarts_" + version + "_linux_amd64.tar.gz"
	sums, err := os.ReadFile(filepath.Join(dist, "SHA256SUMS"))
	if err != nil {
		t.Fatal(err)
	}
	before, _, _ := strings.Cut(string(sums), "  "+archive+"\n")
	sum := before[strings.LastIndexByte(before, '\n')+1:]
	for _, name := range []string{"restarts.yaml", "kubectl-restarts.rb"} {
		content, err := os.ReadFile(filepath.Join(dist, name))
		address := "https://code.example.com/" + program + "/releases/download/v" + version + "/" + archive
		if err != nil || len(sum) != 64 || !strings.Contains(string(content), sum) || !strings.Contains(string(content), address) {
			t.Errorf("%s does not name %s with the checksum %s, %v: %s", name, address, sum, err, content)
		}
	}
}

// requirePlugin unpacks the plugin and runs it.
func requirePlugin(t *testing.T, top, version string) {
	t.Helper()
	unpacked := t.TempDir()
	archive := filepath.Join(top, "dist", "kubectl-restarts_"+version+"_linux_amd64.tar.gz")
	if output, err := exec.CommandContext(t.Context(), "tar", "-xzf", archive, "-C", unpacked).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, output)
	}
	said, err := exec.CommandContext(t.Context(), filepath.Join(unpacked, "kubectl-restarts"), "--version").CombinedOutput()
	if err != nil || !strings.HasPrefix(string(said), "kubectl restarts version "+version+" (commit ") {
		t.Errorf("the plugin says %q, %v", said, err)
	}
	complete := exec.CommandContext(t.Context(), filepath.Join(unpacked, "kubectl_complete-restarts"), "expl")
	complete.Env = append(os.Environ(), "PATH="+unpacked+string(os.PathListSeparator)+os.Getenv("PATH"))
	if said, err := complete.CombinedOutput(); err != nil || !strings.HasPrefix(string(said), "explain\t") {
		t.Errorf("the completion says %q, %v", said, err)
	}
	if _, err := os.Stat(filepath.Join(unpacked, "LICENSE")); err != nil {
		t.Error(err)
	}
}

// A release has the plugin for five platforms. Only one is built by the test above, for each takes minutes.
func TestThePluginIsReleasedForEachPlatform(t *testing.T) {
	command := exec.CommandContext(t.Context(), "make", "-n", "listings")
	command.Dir = filepath.Join("..", "..")
	command.Env = withoutMake(os.Environ())
	output, err := command.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, output)
	}
	platforms := []string{"linux-amd64", "linux-arm64", "darwin-amd64", "darwin-arm64", "windows-amd64"}
	if !regexp.MustCompile(`(?m)^bin/listings -version \S+ ` + strings.Join(platforms, " ") + "$").Match(output) {
		t.Errorf("not all are listed: %s", output)
	}
	for _, platform := range platforms {
		system, architecture, _ := strings.Cut(platform, "-")
		if !strings.Contains(string(output), "GOOS="+system+" GOARCH="+architecture+" ") || !strings.Contains(string(output), platform+"=bin/kubectl-restarts-"+platform) {
			t.Errorf("%s is not built and packed: %s", platform, output)
		}
	}
}

// release runs make release in a clone, with the Helm that was built already if there is one.
func release(t *testing.T, top, version string) (said string, err error) {
	t.Helper()
	command := exec.CommandContext(t.Context(), "make", "release", "VERSION="+version, "PLUGIN_PLATFORMS=linux-amd64")
	command.Dir = top
	command.Env = withoutMake(os.Environ())
	if helm, err := os.ReadFile(os.Getenv("HELM_BINARY")); err == nil {
		if err := os.MkdirAll(filepath.Join(top, "bin"), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(top, "bin", "helm"), helm, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	output, err := command.CombinedOutput()
	return string(output), err
}

// withoutMake leaves out what the make that runs the tests has set.
func withoutMake(environment []string) []string {
	return slices.DeleteFunc(environment, func(variable string) bool {
		return strings.HasPrefix(variable, "MAKE") || strings.HasPrefix(variable, "MFLAGS=") || strings.HasPrefix(variable, "GOFLAGS=") || strings.HasPrefix(variable, "VERSION=")
	})
}

// checksums checks the list of checksums and returns the files that it names.
func checksums(t *testing.T, dist string) map[string]bool {
	t.Helper()
	check := exec.CommandContext(t.Context(), "sha256sum", "--check", "--quiet", "SHA256SUMS")
	check.Dir = dist
	if output, err := check.CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, output)
	}
	content, err := os.ReadFile(filepath.Join(dist, "SHA256SUMS"))
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for line := range strings.Lines(string(content)) {
		_, name, _ := strings.Cut(strings.TrimSpace(line), "  ")
		names[name] = true
	}
	return names
}

func replace(t *testing.T, path string, change func([]byte) []byte) {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, change(content), 0o644); err != nil {
		t.Fatal(err)
	}
}
