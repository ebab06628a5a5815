package main

import (
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// An image is built from what .dockerignore lets through, which is listed by name.
func TestAnImageIsBuiltFromEachPackageOfTheProgram(t *testing.T) {
	encoded, err := os.ReadFile(".dockerignore")
	if err != nil {
		t.Fatal(err)
	}
	let := strings.Fields(string(encoded))
	packages, err := exec.CommandContext(t.Context(), "go", "list", "-deps", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	const module = "kubernetes-deployment-restart-controller/"
	for _, path := range strings.Fields(string(packages)) {
		name, isOurs := strings.CutPrefix(path, module)
		top, _, _ := strings.Cut(name, "/")
		if isOurs && !slices.Contains(let, "!"+top+"/") {
			t.Errorf(".dockerignore keeps %s out of the image's build", name)
		}
	}
}
