package documents

import (
	"go/ast"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// packageRow is a row of the tables in docs/design.md that list the packages.
var packageRow = regexp.MustCompile("(?m)^`((?:catalog|controller|deployment|internal)[a-z/]*)`[^|\n]*\\|")

// TestPackagesImportOnlyWhatTheDesignListsAboveThem compares the tables of packages in docs/design.md with the source.
// What tests import does not count: it can make no program depend on anything.
func TestPackagesImportOnlyWhatTheDesignListsAboveThem(t *testing.T) {
	place := make(map[string]int) // counted from 1
	for i, row := range packageRow.FindAllStringSubmatch(readDocument(t, "docs/design.md"), -1) {
		if place[row[1]] != 0 {
			t.Errorf("docs/design.md lists %s twice", row[1])
		}
		place[row[1]] = i + 1
	}
	dirs := packagesBelow(t, "catalog", "controller", "deployment", "internal")
	for _, dir := range dirs {
		if place[dir] == 0 {
			t.Errorf("docs/design.md does not list %s", dir)
			continue
		}
		eachParsed(t, dir, func(file string, parsed *ast.File) {
			for _, spec := range parsed.Imports {
				text, _ := strconv.Unquote(spec.Path.Value)
				if imported, isOwn := strings.CutPrefix(text, module+"/"); isOwn && (place[imported] == 0 || place[imported] >= place[dir]) {
					t.Errorf("%s imports %s, which docs/design.md does not list above %s", file, imported, dir)
				}
			}
		})
	}
	for dir := range place {
		if !slices.Contains(dirs, dir) {
			t.Errorf("docs/design.md lists %s, which is no package", dir)
		}
	}
}

// packagesBelow returns the folders that are or lie below some others and have source other than tests.
func packagesBelow(t *testing.T, roots ...string) (dirs []string) {
	t.Helper()
	for _, root := range roots {
		err := filepath.WalkDir(root, func(file string, _ fs.DirEntry, err error) error {
			if strings.HasSuffix(file, ".go") && !strings.HasSuffix(file, "_test.go") {
				dirs = append(dirs, filepath.ToSlash(filepath.Dir(file)))
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	slices.Sort(dirs)
	return slices.Compact(dirs)
}
