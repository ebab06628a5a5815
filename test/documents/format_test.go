package documents

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

// widestLine is how many columns a line of a document may have, tables and code aside.
const widestLine = 120

var (
	documentLink = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	linkText     = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)
	notInAnchor  = regexp.MustCompile(`[^\p{L}\p{N}_ -]`)
	codeSpan     = regexp.MustCompile("`[^`]*`")
	delimiterRow = regexp.MustCompile(`^[|:\s]*-+[-|:\s]*$`)
)

// document is a Markdown file: its lines, except those of fenced code blocks, and the anchors of
// its headings.
type document struct {
	lines   []documentLine
	anchors map[string]bool
}

type documentLine struct {
	text    string
	isTable bool
	// begins means that a block begins here that does not follow on code.
	begins bool
}

// isCode reports whether the line belongs to an indented code block.
func (l documentLine) isCode() bool { return strings.HasPrefix(l.text, "    ") }

// text returns all lines of the document.
func (d *document) text() string {
	var all strings.Builder
	for _, line := range d.lines {
		all.WriteString(line.text + "\n")
	}
	return all.String()
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
	isCode, isTable, isAfterBlank, isAfterCode := false, false, true, false
	for text := range strings.Lines(content) {
		text = strings.TrimSuffix(text, "\n")
		if strings.HasPrefix(strings.TrimSpace(text), "```") {
			isCode, isAfterBlank, isAfterCode = !isCode, false, true
			continue
		}
		if isCode {
			continue
		}
		switch {
		case strings.TrimSpace(text) == "":
			isTable = false
		case strings.Contains(text, "|") && delimiterRow.MatchString(text) && len(d.lines) > 0:
			isTable = true
			d.lines[len(d.lines)-1].isTable = true // the head of the table
		}
		line := documentLine{text, isTable, isAfterBlank && !isAfterCode}
		d.lines = append(d.lines, line)
		if isAfterBlank = strings.TrimSpace(text) == ""; !isAfterBlank {
			isAfterCode = line.isCode()
		}
		if strings.HasPrefix(text, "#") {
			d.anchors[anchorOf(strings.TrimLeft(text, "# "))] = true
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
		for _, match := range documentLink.FindAllStringSubmatch(d.text(), -1) {
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
		for _, line := range d.lines {
			if !line.isTable && !line.isCode() && utf8.RuneCountInString(line.text) > widestLine {
				t.Errorf("%s: wider than %d columns: %s", file, widestLine, line.text)
			}
		}
	}
}

func TestNoTableOfADocumentIsWrappedIntoProse(t *testing.T) {
	for file, d := range readDocuments(t) {
		for _, line := range d.lines {
			if !line.isTable && !line.isCode() && strings.Contains(codeSpan.ReplaceAllString(line.text, ""), " | ") {
				t.Errorf("%s: not a row of a table: %s", file, line.text)
			}
		}
	}
}

// TestTheListOfDocumentsNamesEach also checks that no heading names the same place twice.
func TestTheListOfDocumentsNamesEach(t *testing.T) {
	all := readDocuments(t)
	listed, heading := make(map[string]bool), make(map[string]bool)
	for _, line := range all["docs/README.md"].lines {
		if strings.HasPrefix(line.text, "#") {
			clear(heading)
		}
		for _, match := range documentLink.FindAllStringSubmatch(line.text, -1) {
			if heading[match[1]] {
				t.Errorf("docs/README.md names %s twice under one heading", match[1])
			}
			heading[match[1]] = true
			name, _, _ := strings.Cut(match[1], "#")
			listed[path.Join("docs", name)] = true
		}
	}
	for file := range all {
		if path.Dir(file) == "docs" && file != "docs/README.md" && !listed[file] {
			t.Errorf("docs/README.md does not name %s", file)
		}
	}
}

// TestParagraphsBeginLikeSentences finds what is left of a paragraph that has lost its beginning. Only after code, a
// sentence may go on.
func TestParagraphsBeginLikeSentences(t *testing.T) {
	for file, d := range readDocuments(t) {
		for _, line := range d.lines {
			first, _ := utf8.DecodeRuneInString(strings.TrimSpace(line.text))
			if line.begins && !line.isTable && !line.isCode() && unicode.IsLower(first) {
				t.Errorf("%s: not the beginning of a sentence: %s", file, line.text)
			}
		}
	}
}

// TestTheReadmeIsShort keeps the first page one that people read to the end. What else there is to say belongs in docs/.
func TestTheReadmeIsShort(t *testing.T) {
	content, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	if words := len(strings.Fields(string(content))); words > 600 {
		t.Errorf("README.md has %d words, more than 600", words)
	}
}
