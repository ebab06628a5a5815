package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	cyclonedx "github.com/CycloneDX/cyclonedx-go"
)

const completion = "kubectl_complete-restarts"

// packed packs this test's own binary, and returns the files that it wrote, by their names.
func packed(t *testing.T, platforms ...string) map[string][]byte {
	t.Helper()
	out := filepath.Join(t.TempDir(), "dist")
	arguments := []string{"-version", "1.2.3", "-created", "1790000000", "-out", out, "-with", filepath.Join("..", "..", "kubectl-restarts", completion), "-with", filepath.Join("..", "..", "LICENSE")}
	for _, platform := range platforms {
		arguments = append(arguments, platform+"="+built(t))
	}
	if err := run(io.Discard, arguments); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(out)
	if err != nil {
		t.Fatal(err)
	}
	files := map[string][]byte{}
	for _, entry := range entries {
		if files[entry.Name()], err = os.ReadFile(filepath.Join(out, entry.Name())); err != nil {
			t.Fatal(err)
		}
	}
	return files
}

// built returns a Go program, which is built from few packages: this one.
func built(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "program")
	if output, err := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-o", path, ".").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v: %s", err, output)
	}
	return path
}

func TestEachPlatformHasAnArchiveAndAListOfWhatIsInIt(t *testing.T) {
	files := packed(t, "linux-amd64", "darwin-arm64", "windows-amd64")
	want := []string{
		"kubectl-restarts_1.2.3_darwin_arm64.cdx.json", "kubectl-restarts_1.2.3_darwin_arm64.tar.gz",
		"kubectl-restarts_1.2.3_linux_amd64.cdx.json", "kubectl-restarts_1.2.3_linux_amd64.tar.gz",
		"kubectl-restarts_1.2.3_windows_amd64.cdx.json", "kubectl-restarts_1.2.3_windows_amd64.zip",
	}
	if names := slices.Sorted(maps.Keys(files)); !slices.Equal(names, want) {
		t.Fatalf("the files are %q", names)
	}
	const inTar = "-rwxr-xr-x kubectl-restarts, -rwxr-xr-x kubectl_complete-restarts, -rw-r--r-- LICENSE"
	if got := inTarball(t, files[want[1]]); got != inTar {
		t.Errorf("the archive has %s", got)
	}
	if got := inZip(t, files[want[5]]); got != "-rwxr-xr-x kubectl-restarts.exe, -rw-r--r-- LICENSE" {
		t.Errorf("the archive for Windows has %s", got)
	}
	var bill cyclonedx.BOM
	if err := cyclonedx.NewBOMDecoder(bytes.NewReader(files[want[0]]), cyclonedx.BOMFileFormatJSON).Decode(&bill); err != nil {
		t.Fatal(err)
	}
	if self := bill.Metadata.Component; self.Version != "1.2.3" || !strings.HasSuffix(self.Name, "/tools") {
		t.Errorf("it is about %+v", self)
	}
	if !slices.ContainsFunc(*bill.Components, func(c cyclonedx.Component) bool { return c.Name == "github.com/CycloneDX/cyclonedx-go" }) {
		t.Errorf("a module is missing: %+v", *bill.Components)
	}
}

func TestTheSameArgumentsGiveTheSameBytes(t *testing.T) {
	platforms := []string{"linux-amd64", "windows-amd64"}
	first, second := packed(t, platforms...), packed(t, platforms...)
	for name, content := range first {
		if !bytes.Equal(content, second[name]) {
			t.Errorf("%s differs", name)
		}
	}
}

func inTarball(t *testing.T, content []byte) string {
	t.Helper()
	raw, err := gzip.NewReader(bytes.NewReader(content))
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for archive := tar.NewReader(raw); ; {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return strings.Join(all, ", ")
		}
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, fmt.Sprintf("%s %s", header.FileInfo().Mode(), header.Name))
		requireCommitted(t, header.ModTime)
		if header.Uid != 0 || header.Uname != "" {
			t.Errorf("%s belongs to %d %q", header.Name, header.Uid, header.Uname)
		}
	}
}

func inZip(t *testing.T, content []byte) string {
	t.Helper()
	archive, err := zip.NewReader(bytes.NewReader(content), int64(len(content)))
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, f := range archive.File {
		all = append(all, fmt.Sprintf("%s %s", f.Mode(), f.Name))
		requireCommitted(t, f.Modified)
	}
	return strings.Join(all, ", ")
}

func requireCommitted(t *testing.T, at time.Time) {
	t.Helper()
	if at.Unix() != 1790000000 {
		t.Errorf("a file is of %s", at)
	}
}

func TestWrongArgumentsAreExplained(t *testing.T) {
	text := filepath.Join(t.TempDir(), "text")
	if err := os.WriteFile(text, []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	for want, arguments := range map[string][]string{
		"give -version":              {"linux-amd64=" + text},
		"a binary for each platform": {"-version", "1.2.3"},
		"not of the form OS-ARCH":    {"-version", "1.2.3", "linux=" + text},
		"no such file":               {"-version", "1.2.3", "linux-amd64=" + text + "2"},
		"no such file or":            {"-version", "1.2.3", "-with", text + "2", "linux-amd64=" + text},
		"what it was built from":     {"-version", "1.2.3", "linux-amd64=" + text},
		"not defined":                {"-versions", "1.2.3"},
	} {
		if err := run(io.Discard, append([]string{"-out", t.TempDir()}, arguments...)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: the error is %v, want %q", arguments, err, want)
		}
	}
}
