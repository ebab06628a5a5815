package documents

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
	for _, path := range packagesOfTheProgram(t) {
		name, isOurs := strings.CutPrefix(path, module+"/")
		top, _, _ := strings.Cut(name, "/")
		if isOurs && !slices.Contains(let, "!"+top+"/") {
			t.Errorf(".dockerignore keeps %s out of the image's build", name)
		}
	}
}

// The image has no files that describe time zones.
func TestTheProgramContainsTheTimeZones(t *testing.T) {
	if !slices.Contains(packagesOfTheProgram(t), "time/tzdata") {
		t.Error("package time/tzdata is not part of the program")
	}
}

// gomponents needs a function of html/template that escapes, and nothing that executes templates.
func TestNothingInTheProgramUsesTemplates(t *testing.T) {
	imports, err := exec.CommandContext(t.Context(), "go", "list", "-deps", "-f", `{{.ImportPath}}{{range .Imports}} {{.}}{{end}}`, ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(imports)) {
		packages := strings.Fields(line)
		if slices.Contains([]string{"html/template", "maragu.dev/gomponents"}, packages[0]) {
			continue
		}
		for _, imported := range packages[1:] {
			if imported == "html/template" || imported == "text/template" {
				t.Errorf("%s imports %s, which calls methods whose names only the running program knows: the linker then keeps all "+
					"exported methods of all types, and the program is 6 MB larger and takes some MiB more memory", packages[0], imported)
			}
		}
	}
}

func packagesOfTheProgram(t *testing.T) []string {
	t.Helper()
	packages, err := exec.CommandContext(t.Context(), "go", "list", "-deps", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.Fields(string(packages))
}
