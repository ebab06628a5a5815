package main

import (
	"archive/tar"
	"bytes"
	"crypto/x509"
	"debug/elf"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	cyclonedx "github.com/CycloneDX/cyclonedx-go"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/validate"
)

var machines = map[string]elf.Machine{"amd64": elf.EM_X86_64, "arm64": elf.EM_AARCH64}

// built holds the controller's binary for each architecture, and the plugin's for the present one, which takes a minute for
// the first time.
var built string

var controller, plugin = programs[0], programs[1]

func TestMain(m *testing.M) {
	var err error
	if built, err = os.MkdirTemp("", "image-test"); err != nil {
		panic(err)
	}
	status := m.Run()
	if err := os.RemoveAll(built); err != nil {
		panic(err)
	}
	os.Exit(status)
}

var build = sync.OnceValue(func() error {
	for architecture := range machines {
		if err := goBuild(".", architecture, architecture); err != nil {
			return err
		}
	}
	return goBuild("kubectl-restarts", runtime.GOARCH, plugin.name)
})

// goBuild builds a directory of the repository.
func goBuild(directory, architecture, output string) error {
	command := exec.Command("go", "build", "-ldflags", "-s -w -X main.commit=0123abcd", "-o", filepath.Join(built, output), ".")
	command.Dir = filepath.Join("..", "..", directory)
	command.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=-trimpath -buildvcs=false", "GOOS=linux", "GOARCH="+architecture)
	if output, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("go build of %s for %s: %w: %s", directory, architecture, err, output)
	}
	return nil
}

// made runs the command and returns the directory that it wrote.
func made(t *testing.T, flags ...string) string {
	t.Helper()
	if err := build(); err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(t.TempDir(), "dist")
	arguments := append([]string{"-version", "1.2.3", "-commit", "0123abcd", "-created", "1790000000", "-out", out}, flags...)
	for architecture := range machines {
		arguments = append(arguments, architecture+"="+filepath.Join(built, architecture))
	}
	slices.Sort(arguments[len(arguments)-len(machines):])
	if err := run(io.Discard, arguments); err != nil {
		t.Fatal(err)
	}
	return out
}

func TestTheLayoutHoldsOneImageForAllPlatforms(t *testing.T) {
	out := made(t)
	all, err := layout.ImageIndexFromPath(filepath.Join(out, controller.layout))
	if err != nil {
		t.Fatal(err)
	}
	if err := validate.Index(all); err != nil {
		t.Error(err)
	}
	named := manifestOf(t, all).Manifests
	if len(named) != 1 || named[0].Annotations["org.opencontainers.image.ref.name"] != "1.2.3" {
		t.Fatalf("the layout names %+v, want version 1.2.3", named)
	}
	index, err := all.ImageIndex(named[0].Digest)
	if err != nil {
		t.Fatal(err)
	}
	var platforms []string
	for _, descriptor := range manifestOf(t, index).Manifests {
		platforms = append(platforms, descriptor.Platform.String())
		image, err := index.Image(descriptor.Digest)
		if err != nil {
			t.Fatal(err)
		}
		t.Run(descriptor.Platform.Architecture, func(t *testing.T) { checkImage(t, image, controller, descriptor.Platform.Architecture) })
	}
	if want := []string{"linux/amd64", "linux/arm64"}; !slices.Equal(platforms, want) {
		t.Errorf("it is for %v, want %v", platforms, want)
	}
}

func TestEachArchiveHoldsTheImageOfItsPlatform(t *testing.T) {
	out := made(t, "-tag", "registry.example.com/team/restarts:today")
	for architecture := range machines {
		t.Run(architecture, func(t *testing.T) {
			tag, err := name.NewTag("registry.example.com/team/restarts:today")
			if err != nil {
				t.Fatal(err)
			}
			image, err := tarball.ImageFromPath(filepath.Join(out, controller.name+"-1.2.3-linux-"+architecture+".tar"), &tag)
			if err != nil {
				t.Fatal(err)
			}
			checkImage(t, image, controller, architecture)
		})
	}
}

func TestThePluginHasAnImageOfItsOwn(t *testing.T) {
	if err := build(); err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(t.TempDir(), "dist")
	binary := runtime.GOARCH + "=" + filepath.Join(built, plugin.name)
	if err := run(io.Discard, []string{"-program", plugin.name, "-version", "1.2.3", "-commit", "0123abcd", "-created", "1790000000", "-out", out, binary}); err != nil {
		t.Fatal(err)
	}
	image, err := tarball.ImageFromPath(filepath.Join(out, plugin.name+"-1.2.3-linux-"+runtime.GOARCH+".tar"), nil)
	if err != nil {
		t.Fatal(err)
	}
	checkImage(t, image, plugin, runtime.GOARCH)
	if _, err := layout.ImageIndexFromPath(filepath.Join(out, plugin.layout)); err != nil || plugin.layout == controller.layout {
		t.Errorf("the layout %s: %v", plugin.layout, err)
	}
}

func checkImage(t *testing.T, image v1.Image, of program, architecture string) {
	t.Helper()
	if err := validate.Image(image); err != nil {
		t.Error(err)
	}
	config, err := image.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	if config.OS != "linux" || config.Architecture != architecture {
		t.Errorf("it is for %s/%s", config.OS, config.Architecture)
	}
	if config.Config.User != "65532:65532" || !slices.Equal(config.Config.Entrypoint, []string{"/" + of.name}) || len(config.Config.Cmd) != 0 || !maps.Equal(config.Config.ExposedPorts, of.ports) {
		t.Errorf("user %q runs %q %q with %v", config.Config.User, config.Config.Entrypoint, config.Config.Cmd, config.Config.ExposedPorts)
	}
	if labels, want := config.Config.Labels, map[string]string{
		"org.opencontainers.image.title":       of.name,
		"org.opencontainers.image.description": of.description,
		"org.opencontainers.image.licenses":    "Apache-2.0",
		"org.opencontainers.image.version":     "1.2.3",
		"org.opencontainers.image.revision":    "0123abcd",
		"org.opencontainers.image.created":     "2026-09-21T14:13:20Z",
	}; !maps.Equal(labels, want) {
		t.Errorf("labels %v, want %v", labels, want)
	}

	files := filesOf(t, image)
	if names, want := slices.Sorted(maps.Keys(files)), []string{certificates, of.name}; !slices.Equal(names, want) {
		t.Fatalf("the image has the files %q, want %q", names, want)
	}
	executable, err := elf.NewFile(bytes.NewReader(files[of.name]))
	if err != nil {
		t.Fatal(err)
	}
	if executable.Machine != machines[architecture] {
		t.Errorf("the program is for %s", executable.Machine)
	}
	if libraries, err := executable.ImportedLibraries(); err != nil || len(libraries) != 0 {
		t.Errorf("the program needs %q, %v: the image has no libraries", libraries, err)
	}
	if architecture == runtime.GOARCH {
		checkItRuns(t, files[of.name])
	}
}

// checkItRuns starts the program as a container would, with nothing but its file.
func checkItRuns(t *testing.T, content []byte) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "program")
	if err := os.WriteFile(path, content, 0o755); err != nil {
		t.Fatal(err)
	}
	command := exec.CommandContext(t.Context(), path, "--version")
	command.Env = []string{}
	output, err := command.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, output)
	}
	if !strings.Contains(string(output), "commit 0123abcd") {
		t.Errorf("it says %q", output)
	}
}

// filesOf returns the content of the image's files by name. It fails the test if one may not be read by everybody, or
// may be written by anybody but root.
func filesOf(t *testing.T, image v1.Image) map[string][]byte {
	t.Helper()
	reader := mutate.Extract(image)
	defer reader.Close()
	files := map[string][]byte{}
	archive := tar.NewReader(reader)
	for {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		if mode := fs.FileMode(header.Mode); mode&0o444 != 0o444 || mode&0o022 != 0 || header.Uid != 0 {
			t.Errorf("%s has the mode %s and belongs to %d", header.Name, mode, header.Uid)
		}
		if header.Typeflag == tar.TypeReg {
			if files[header.Name], err = io.ReadAll(archive); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func TestTheSameInputGivesTheSameBytes(t *testing.T) {
	first, second := contents(t, made(t)), contents(t, made(t))
	if len(first) < 8 {
		t.Errorf("only %d files were made", len(first))
	}
	if !maps.Equal(first, second) {
		t.Error("the second run has other files")
	}
}

func contents(t *testing.T, directory string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(directory, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		files[strings.TrimPrefix(path, directory)] = string(content)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func TestTheCertificatesAreThoseOfPublicAuthorities(t *testing.T) {
	rest, count := publicAuthorities(), 0
	for {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			break
		}
		count++
		if certificate, err := x509.ParseCertificate(block.Bytes); err != nil || !certificate.IsCA {
			t.Errorf("certificate %d is no authority's: %v", count, err)
		}
	}
	if count < 80 || len(bytes.TrimSpace(rest)) > 0 {
		t.Errorf("%d certificates, then %q", count, rest)
	}
}

func TestTheBillOfMaterialsNamesEachModule(t *testing.T) {
	file, err := os.Open(filepath.Join(made(t), controller.name+"-1.2.3-linux-arm64.cdx.json"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	var bill cyclonedx.BOM
	if err := cyclonedx.NewBOMDecoder(file, cyclonedx.BOMFileFormatJSON).Decode(&bill); err != nil {
		t.Fatal(err)
	}
	if self := bill.Metadata.Component; self.Name != controller.name || self.Version != "1.2.3" {
		t.Errorf("it is about %s %s", self.Name, self.Version)
	}
	var listed []string
	for _, part := range *bill.Components {
		listed = append(listed, part.PackageURL)
	}
	list := exec.CommandContext(t.Context(), "go", "list", "-deps", "-f", `{{with .Module}}{{if not .Main}}pkg:golang/{{.Path}}@{{.Version}}{{end}}{{end}}`, ".")
	list.Dir = filepath.Join("..", "..")
	list.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH=arm64")
	output, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	want := append(strings.Fields(string(output)), "pkg:golang/std@"+strings.TrimPrefix(runtime.Version(), "go"))
	if len(want) < 20 {
		t.Fatalf("go list names only %q", want)
	}
	for _, module := range want {
		if !slices.Contains(listed, module) {
			t.Errorf("%s is not listed", module)
		}
	}
}

func TestWrongArgumentsAreExplained(t *testing.T) {
	none := filepath.Join(t.TempDir(), "none")
	text := filepath.Join(t.TempDir(), "text")
	if err := os.WriteFile(text, []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	for want, arguments := range map[string][]string{
		"give -version":                             {"amd64=" + text},
		"a binary for each platform":                {"-version", "1.2.3"},
		"not of the form ARCHITECTURE=PATH":         {"-version", "1.2.3", text},
		`-program "kubectl" is not known`:           {"-version", "1.2.3", "-program", "kubectl", "amd64=" + text},
		"no such file":                              {"-version", "1.2.3", "amd64=" + none},
		"what the binary for amd64 was built":       {"-version", "1.2.3", "amd64=" + text},
		"IMAGE, -tag): repository can only contain": {"-version", "1.2.3", "-tag", "Not A Name", "amd64=" + text},
	} {
		err := run(io.Discard, append([]string{"-out", t.TempDir()}, arguments...))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: the error is %v, want %q", arguments, err, want)
		}
	}
}

func manifestOf(t *testing.T, index v1.ImageIndex) *v1.IndexManifest {
	t.Helper()
	manifest, err := index.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	return manifest
}
