package decide

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

var update = flag.Bool("update", false, "write the decisions into the stories")

// Each story in testdata/stories is a drawing: a title, who reads what, a line with seconds after noon, and a row for each
// thing that changes. What a row has below a second happens then, from top to bottom. What is in the first column was there
// before the controller started. The Deployment web opted in at noon, unless a row says otherwise. A simulation that fails prints
// what happened as such a story.
//
//	app reads web, x:a?     the container takes its environment from the ConfigMap web, and a variable from the key a of x,
//	                        without which it starts; or mounts it, or mounts class:db
//	app sets a              the variable a to something else
//	web:a                   a key of a ConfigMap, or of secret/web: its content, - if it is removed. Keys of one column are
//	                        one edit. The API server dates it by the column, or by what follows @
//	web:b binary            a key of the binaryData
//	web                     deleted; ignored, by its annotation; marked, for Reloader's search; shared, by an annotation of
//	                        others/web, which is in the namespace others; or counts again; labeled, which changes nothing
//	files of a              the versions that the driver has mounted in the pod a; gone
//	deployment              opts-in; a change of its image, replicas or timestamp (last, of the last restart); an annotation
//	                        (only, ignore, also, search, named); evicts and rolls, the methods; stripped of its record, or
//	                        basis-stripped; undone, as by kubectl rollout undo; deleting; out, it has yet to opt in; undated,
//	                        nobody knows since when it is in; crowded, its annotations leave room for one checksum
//	edits                   joined, all that the controller remembers of a config but the last
//	record                  made, or made with a restart, by this controller; decided and answered, if that takes time;
//	                        mark, that it is contradicted; put-off, the restart; verified, the pods; replaced, all pods;
//	                        original, the record of that controller
//	other leader            another process records, restarts, or marks the record, without having seen how the difference
//	                        began: marks-unseen; this one only watches
//	leader                  stops, starts, or is replaced by one that knows nothing but what it lists; late, it listed the configs
//	                        before their last edit
//	watch of configs        is behind from here on, and shows it all here, or lists what there is; so for deployments
//
// At the bottom are the pods and what is decided about them in the end:
//
//	pod                     the only pod mounts and starts here: a decision for each letter
//	pods                    these are all
//	one pod                 it mounts, and the named containers start
//	pending pod, no pods
//	exposed                 these are all pods, also of earlier templates: have some read what the restart is to bring?
func TestDecisionsAreThoseOfTheStories(t *testing.T) {
	paths, err := filepath.Glob("testdata/stories/*.txt")
	if err != nil || len(paths) < 10 {
		t.Fatalf("%d files, error %v", len(paths), err)
	}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var played []string
		for drawn := range strings.SplitSeq(strings.TrimSpace(string(text)), "\n\n") {
			got := drawn
			if title, _, isStory := strings.Cut(drawn, "\n"); isStory && !strings.HasPrefix(title, "#") {
				t.Run(title, func(t *testing.T) {
					got = play(t, drawn)
					if diff := cmp.Diff(strings.Split(drawn, "\n"), strings.Split(got, "\n")); diff != "" && !*update {
						t.Errorf("%s (-want +got):\n%s", path, diff)
					}
				})
			}
			played = append(played, got)
		}
		if *update {
			if err := os.WriteFile(path, []byte(strings.Join(played, "\n\n")+"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// row is one line of a story, with its cells by column.
type row struct {
	line, label string
	cells       []string
}

// drawing is the table of a story. The first columns are the labels.
type drawing struct {
	at      []int // where each column begins
	seconds []float64
	rows    []*row
	verdicts
}

var words = regexp.MustCompile(`\S+`)

// play returns a story with what is decided in it.
func play(t rapid.TB, drawn string) string {
	t.Helper()
	var d drawing
	s := newStage(t)
	var told []string
	for line := range strings.SplitSeq(drawn, "\n") {
		switch {
		case len(told) == 0:
			told = append(told, line)
		case strings.HasPrefix(line, "  "): // the meaning of a letter, which is printed anew
		case strings.HasPrefix(line, "second "):
			d.addColumns(t, line)
		case d.at == nil:
			told = append(told, line)
			s.addReader(line)
		default:
			d.addRow(t, line)
		}
	}
	for column, second := range d.seconds {
		s.now = second
		d.playColumn(s, column)
		if column == 0 && !s.isAway {
			s.start()
		}
	}
	told = append(told, d.rows[0].line)
	for _, row := range d.rows[1:] {
		told = append(told, d.decided(s, row))
	}
	return strings.Join(append(told, d.legend()...), "\n")
}

func (d *drawing) addColumns(t rapid.TB, line string) {
	d.rows = append(d.rows, &row{line: line})
	for _, at := range words.FindAllStringIndex(line, -1)[1:] {
		second, err := strconv.ParseFloat(line[at[0]:at[1]], 64)
		if err != nil {
			t.Fatal(err)
		}
		d.at, d.seconds = append(d.at, at[0]), append(d.seconds, second)
	}
}

func (d *drawing) addRow(t rapid.TB, line string) {
	line, _, _ = strings.Cut(line, " ->")
	line = strings.TrimRight(line, " ")
	r := &row{line: line, label: strings.TrimSpace(line[:min(d.at[0], len(line))]), cells: make([]string, len(d.at))}
	for _, at := range words.FindAllStringIndex(line, -1) {
		column := slices.Index(d.at, at[0])
		switch {
		case column >= 0:
			r.cells[column] = line[at[0]:at[1]]
		case at[0] > d.at[0]:
			t.Fatalf("%q is below no second: %s", line[at[0]:at[1]], line)
		}
	}
	d.rows = append(d.rows, r)
}

// playColumn lets happen what a column has. The cells of one config are one write.
func (d *drawing) playColumn(s *stage, column int) {
	isWritten := map[string]bool{}
	for _, row := range d.rows[1:] {
		if row.cells[column] == "" || isPods(row.label) {
			continue
		}
		name, _, _ := strings.Cut(row.label, ":")
		if step := s.stepOf(row.label); step != nil {
			step(row.cells[column])
		} else if !isWritten[name] {
			isWritten[name] = true
			s.writeConfig(name, d.cellsOf(name, column))
		}
	}
}

// cellsOf returns what a column has of a config, by the rest of the label: a key, or nothing.
func (d *drawing) cellsOf(config string, column int) map[string]string {
	cells := map[string]string{}
	for _, row := range d.rows[1:] {
		if name, key, _ := strings.Cut(row.label, ":"); name == config && row.cells[column] != "" {
			cells[key] = row.cells[column]
		}
	}
	return cells
}

// decided returns a row of pods with the letters of the decisions, and any other row as it is.
func (d *drawing) decided(s *stage, row *row) string {
	line := []byte(row.line)
	name, _, _ := strings.Cut(row.label, " of ")
	switch name {
	default:
		return row.line
	case "pod":
		for column, cell := range row.cells {
			if cell != "" {
				letter := d.letter(s.decide(d.pods(s, row, column)...))
				line = append(line, "  "...)
				copy(line[d.at[column]:], fmt.Sprintf("%-*s", len(cell), letter))
			}
		}
		return strings.TrimRight(string(line), " ")
	case "pods", "no pods", "one pod", "pending pod":
		return fmt.Sprintf("%s -> %s", line, d.letter(s.decide(d.pods(s, row, -1)...)))
	case "exposed":
		return fmt.Sprintf("%s -> %t", line, s.story.isExposed(s.t, d.pods(s, row, -1)...))
	}
}

// verdicts are the decisions of a story, by their letters.
type verdicts struct{ letters, meanings []string }

// letter returns the letter of a decision: the first one of its outcome, with a number if there are several.
func (v *verdicts) letter(decision Decision, meaning string) string {
	if i := slices.Index(v.meanings, meaning); i >= 0 {
		return v.letters[i]
	}
	letter := map[Outcome]string{Restart: "R", RecordOnly: "r", Keep: "k"}[decision.Outcome]
	for i := 2; slices.Contains(v.letters, letter); i++ {
		letter = letter[:1] + strconv.Itoa(i)
	}
	v.letters, v.meanings = append(v.letters, letter), append(v.meanings, meaning)
	return letter
}

func (v *verdicts) legend() (lines []string) {
	for i := range v.letters {
		lines = append(lines, "  "+v.letters[i]+" = "+v.meanings[i])
	}
	return lines
}
