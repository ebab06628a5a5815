package documents

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
	documentedTest = regexp.MustCompile(`\b(?:Test|Benchmark|Fuzz)[A-Z][A-Za-z0-9]+`)
	testFunction   = regexp.MustCompile(`(?m)^func ((?:Test|Benchmark|Fuzz)[A-Z][A-Za-z0-9]*)\(`)
)

func readDocument(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
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
