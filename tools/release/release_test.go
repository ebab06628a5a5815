package main

import (
	"bytes"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
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
		program + "-99.1.0-manifests.tar.gz", program + "-99.1.0.tgz", "oci/index.json", "oci/oci-layout",
	} {
		if !listed[name] {
			t.Errorf("%s is not in %q", name, slices.Sorted(maps.Keys(listed)))
		}
	}
}

// release runs make release in a clone, with the Helm that was built already if there is one.
func release(t *testing.T, top, version string) (said string, err error) {
	t.Helper()
	command := exec.CommandContext(t.Context(), "make", "release", "VERSION="+version)
	command.Dir = top
	command.Env = slices.DeleteFunc(os.Environ(), func(variable string) bool {
		return strings.HasPrefix(variable, "MAKE") || strings.HasPrefix(variable, "GOFLAGS=") || strings.HasPrefix(variable, "VERSION=")
	})
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
