package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// What the documents say of the code: its files, its tests and its log.

var (
	documentedFile = regexp.MustCompile("`([a-z]+\\.go)`")
	documentedTest = regexp.MustCompile(`\b(?:Test|Benchmark|Fuzz)[A-Z][A-Za-z0-9]+`)
	testFunction   = regexp.MustCompile(`(?m)^func ((?:Test|Benchmark|Fuzz)[A-Z][A-Za-z0-9]*)\(`)
)

// tabledPackages have a table of their files, each in one of two documents.
var tabledPackages = []string{
	"catalog", "custom", "podtemplate", "watch", "controller", "controller/delivery", "controller/gate", "controller/window", "apiclient",
	"fairqueue", "statuspage", "deployment", "deployment/rollout", "deployment/handover",
}

func readDocument(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestEachFileOfAPackageIsInTheTableOfItsDocument(t *testing.T) {
	documented := make(map[string]bool)
	for _, match := range documentedFile.FindAllStringSubmatch(readDocument(t, "docs/design.md")+readDocument(t, "docs/engine.md"), -1) {
		documented[match[1]] = true
	}
	existing := make(map[string]bool)
	for _, dir := range tabledPackages {
		files, err := filepath.Glob(filepath.Join(dir, "*.go"))
		if err != nil || len(files) == 0 {
			t.Fatal(dir, err)
		}
		for _, file := range files {
			name := filepath.Base(file)
			existing[name] = true
			if !documented[name] && name != "doc.go" && !strings.HasSuffix(name, "_test.go") {
				t.Errorf("%s is in no table of docs/design.md and docs/engine.md", file)
			}
		}
	}
	eachSource(t, func(path string, _ []byte) { existing[filepath.Base(path)] = true })
	for name := range documented {
		if !existing[name] {
			t.Errorf("a table names %s, which does not exist", name)
		}
	}
}

// eachSource calls a function with each Go file of the repository.
func eachSource(t *testing.T, do func(path string, text []byte)) {
	t.Helper()
	err := filepath.WalkDir(".", func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (strings.HasPrefix(entry.Name(), ".") && path != "." || entry.Name() == "bin" || entry.Name() == "dist"):
			return filepath.SkipDir
		case !strings.HasSuffix(path, ".go"):
			return nil
		}
		text, err := os.ReadFile(path)
		if err == nil {
			do(path, text)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestEachTestThatADocumentNamesExists(t *testing.T) {
	existing := make(map[string]bool)
	eachSource(t, func(_ string, text []byte) {
		for _, match := range testFunction.FindAllSubmatch(text, -1) {
			existing[string(match[1])] = true
		}
	})
	for file, d := range readDocuments(t) {
		for _, line := range d.lines {
			for _, name := range documentedTest.FindAllString(line.text, -1) {
				isPattern := slices.ContainsFunc(keysOf(existing), func(full string) bool { return strings.HasPrefix(full, name) })
				if !existing[name] && !isPattern {
					t.Errorf("%s names %s, which does not exist", file, name)
				}
			}
		}
	}
}

func keysOf(set map[string]bool) []string {
	keys := make([]string, 0, len(set))
	for key := range set {
		keys = append(keys, key)
	}
	return keys
}
