package main

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"
)

// widestLine is how many columns a line of a document may have, tables and code aside.
const widestLine = 120

var (
	documentLink = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	linkText     = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)
	notInAnchor  = regexp.MustCompile(`[^\p{L}\p{N}_ -]`)
)

// document is a Markdown file: its lines of prose, and the anchors of its headings.
type document struct {
	prose   []string
	anchors map[string]bool
}

// readDocuments reads all documents of the repository, by their paths.
func readDocuments(t *testing.T) map[string]document {
	t.Helper()
	all := make(map[string]document)
	err := filepath.WalkDir(".", func(file string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && (file == "bin" || file == ".git") {
			return fs.SkipDir
		}
		if path.Ext(file) == ".md" {
			content, err := os.ReadFile(file)
			if err != nil {
				return err
			}
			all[filepath.ToSlash(file)] = newDocument(string(content))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// newDocument leaves out fenced code blocks, in which neither links nor widths count.
func newDocument(content string) document {
	d := document{anchors: make(map[string]bool)}
	isCode := false
	for line := range strings.Lines(content) {
		line = strings.TrimSuffix(line, "\n")
		if strings.HasPrefix(strings.TrimSpace(line), "```") {
			isCode = !isCode
			continue
		}
		if isCode {
			continue
		}
		d.prose = append(d.prose, line)
		if strings.HasPrefix(line, "#") {
			d.anchors[anchorOf(strings.TrimLeft(line, "# "))] = true
		}
	}
	return d
}

// anchorOf returns the anchor that renderers of Markdown give to a heading.
func anchorOf(heading string) string {
	heading = strings.ToLower(linkText.ReplaceAllString(heading, "$1"))
	return strings.ReplaceAll(notInAnchor.ReplaceAllString(heading, ""), " ", "-")
}

func TestLinksInDocumentsWork(t *testing.T) {
	all := readDocuments(t)
	for file, d := range all {
		for _, match := range documentLink.FindAllStringSubmatch(strings.Join(d.prose, "\n"), -1) {
			if strings.Contains(match[1], "://") {
				continue
			}
			name, anchor, _ := strings.Cut(match[1], "#")
			target := file
			if name != "" {
				target = path.Join(path.Dir(file), name)
			}
			if _, err := os.Stat(target); err != nil {
				t.Errorf("%s: link to %s: %v", file, match[1], err)
			}
			if anchor != "" && !all[target].anchors[anchor] {
				t.Errorf("%s: %s has no heading for the link to %s", file, target, match[1])
			}
		}
	}
}

func TestLinesOfDocumentsAreNotTooWide(t *testing.T) {
	for file, d := range readDocuments(t) {
		for _, line := range d.prose {
			isTable := strings.Contains(line, "|")
			isCode := strings.HasPrefix(line, "    ")
			if !isTable && !isCode && utf8.RuneCountInString(line) > widestLine {
				t.Errorf("%s: wider than %d columns: %s", file, widestLine, line)
			}
		}
	}
}
