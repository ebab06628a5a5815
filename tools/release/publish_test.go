package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

const registry = "registry.example.com/team"

// released returns a clone in which a version lies ready in dist/, and whose tools only note how they are called.
func released(t *testing.T) (top string) {
	t.Helper()
	top = filepath.Join(t.TempDir(), "clone")
	git(t, ".", "clone", "-q", "--local", filepath.Join("..", ".."), top)
	replace(t, filepath.Join(top, "charts", program, "values.yaml"), func(content []byte) []byte {
		return []byte(strings.Replace(string(content), "  repository: "+program+"\n", "  repository: "+registry+"/"+program+"\n", 1))
	})
	for name, content := range map[string]string{
		"bin/crane":             note("crane") + `[ "$1" = push ] && echo "${3%:*}@sha256:1a"; [ "$1" = auth ] && cat >>password; true`,
		"bin/helm":              note("helm") + "echo Pushed: it >&2; echo Digest: sha256:2b >&2\n",
		"bin/cosign":            note("cosign"),
		"path/gh":               note("gh"),
		"dist/" + program:       "the program",
		"dist/CHANGES.md":       "what is new",
		"dist/oci/index.json":   "{}",
		"dist/kubectl-x.tar.gz": "the plugin",
	} {
		path := filepath.Join(top, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	sums := exec.CommandContext(t.Context(), "sh", "-c", "find * -type f | xargs sha256sum >../SHA256SUMS && mv ../SHA256SUMS .")
	sums.Dir = filepath.Join(top, "dist")
	if output, err := sums.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, output)
	}
	return top
}

func note(name string) string {
	return "#!/bin/sh\necho " + name + " \"$@\" >>calls\n"
}

// publish makes a target, and returns what it said and the calls of the tools since the last time.
func publish(t *testing.T, top string, arguments ...string) (said, calls string, err error) {
	t.Helper()
	command := exec.CommandContext(t.Context(), "make", arguments...)
	command.Dir = top
	command.Env = append(withoutMake(os.Environ()), "PATH="+filepath.Join(top, "path")+string(os.PathListSeparator)+os.Getenv("PATH"), "REGISTRY_USER=robot", "REGISTRY_PASSWORD=a $b")
	output, err := command.CombinedOutput()
	noted, readErr := os.ReadFile(filepath.Join(top, "calls"))
	if readErr != nil && !os.IsNotExist(readErr) {
		t.Fatal(readErr)
	}
	if err := os.RemoveAll(filepath.Join(top, "calls")); err != nil {
		t.Fatal(err)
	}
	return string(output), string(noted), err
}

func TestTheImagesAndTheChartArePushedAndSignedByDigest(t *testing.T) {
	top := released(t)
	said, calls, err := publish(t, top, "login", "REGISTRY="+registry)
	if err != nil || calls != "crane auth login registry.example.com --username robot --password-stdin\n" {
		t.Errorf("login: %v: %s%s", err, said, calls)
	}
	if password, err := os.ReadFile(filepath.Join(top, "password")); string(password) != "a $b\n" || strings.Contains(said, "a $b") {
		t.Errorf("the password is %q, %v: %s", password, err, said)
	}
	said, calls, err = publish(t, top, "push", "VERSION=2.1.0", "REGISTRY="+registry)
	image, charts := registry+"/"+program, registry+"/charts"
	want := "crane push dist/oci " + image + ":2.1.0\ncosign sign --yes " + image + "@sha256:1a\n" +
		"crane push dist/oci-kubectl-restarts " + registry + "/kubectl-restarts:2.1.0\ncosign sign --yes " + registry + "/kubectl-restarts@sha256:1a\n" +
		"helm push dist/" + program + "-2.1.0.tgz oci://" + charts + "\ncosign sign --yes " + charts + "/" + program + "@sha256:2b\n"
	if err != nil || calls != want {
		t.Errorf("push: %v: %s%s", err, said, calls)
	}
	said, calls, err = publish(t, top, "sign")
	if err != nil || calls != "cosign sign-blob --yes --bundle dist/SHA256SUMS.sigstore.json dist/SHA256SUMS\n" {
		t.Errorf("sign: %v: %s%s", err, said, calls)
	}
}

// Otherwise the published chart would name an image that is not there.
func TestTheImageGoesOnlyWhereTheChartSays(t *testing.T) {
	top := released(t)
	for _, arguments := range [][]string{{"push", "VERSION=2.1.0"}, {"push", "VERSION=2.1.0", "REGISTRY=registry.example.com"}, {"login"}} {
		if said, calls, err := publish(t, top, arguments...); err == nil || calls != "" || !strings.Contains(said, "so REGISTRY must be "+registry+"\n") {
			t.Errorf("%q: %v: %s%s", arguments, err, said, calls)
		}
	}
}

// A push that fails is not signed, and ends the target.
func TestWhatIsNotPushedIsNotSigned(t *testing.T) {
	for tool, signed := range map[string]int{"crane": 0, "helm": 2} {
		top := released(t)
		if err := os.WriteFile(filepath.Join(top, "bin", tool), []byte("#!/bin/sh\nexit 1\n"), 0o755); err != nil {
			t.Fatal(err)
		}
		said, calls, err := publish(t, top, "push", "VERSION=2.1.0", "REGISTRY="+registry)
		if err == nil || strings.Count(calls, "cosign sign") != signed || strings.Contains(calls, "helm") {
			t.Errorf("%s fails: %v: %s%s", tool, err, said, calls)
		}
	}
}

func TestTheReleaseOfGitHubHasAllFiles(t *testing.T) {
	top := released(t)
	if said, calls, err := publish(t, top, "github-release", "VERSION=2.1.0"); err == nil || calls != "" || !strings.Contains(said, "not signed: make sign") {
		t.Errorf("without a signature: %v: %s%s", err, said, calls)
	}
	if err := os.WriteFile(filepath.Join(top, "dist", "SHA256SUMS.sigstore.json"), []byte("{}"), 0o644); err != nil {
		t.Fatal(err)
	}
	said, calls, err := publish(t, top, "github-release", "VERSION=2.1.0")
	want := "gh release create v2.1.0 --verify-tag --title v2.1.0 --notes-file dist/CHANGES.md " +
		"dist/CHANGES.md dist/SHA256SUMS dist/SHA256SUMS.sigstore.json dist/kubectl-x.tar.gz dist/" + program + "\n"
	if err != nil || calls != want {
		t.Errorf("%v: %s%s", err, said, calls)
	}
	if err := os.WriteFile(filepath.Join(top, "dist", "kubectl-x.tar.gz"), []byte("another"), 0o644); err != nil {
		t.Fatal(err)
	}
	if said, calls, err := publish(t, top, "github-release", "VERSION=2.1.0"); err == nil || calls != "" || !strings.Contains(said, "kubectl-x.tar.gz: FAILED") {
		t.Errorf("a file that was changed: %v: %s%s", err, said, calls)
	}
}
