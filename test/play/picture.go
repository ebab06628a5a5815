package main

import (
	"fmt"
	"os"
	"strings"
)

// condition is how a reader of the shared ConfigMap is.
type condition int

const (
	current condition = iota // all its pods run the present content
	rolling                  // its pods are being replaced
	broken                   // its new pod crashes
	old                      // its pods run former content
	conditions
)

// signs draw the conditions, one character each.
type signs [conditions]string

var (
	pretty = signs{"●", "◐", "✗", "○"}
	plain  = signs{"*", "/", "X", "o"}
)

// signsFor returns what a file can show: only terminals are sure to show more than ASCII.
func signsFor(file *os.File) signs {
	if info, err := file.Stat(); err == nil && info.Mode()&os.ModeCharDevice != 0 {
		return pretty
	}
	return plain
}

func (s signs) legend() string {
	return fmt.Sprintf("A sign is a Deployment:  %s runs with the present content   %s rolls   %s crashes   %s runs with former content",
		s[current], s[rolling], s[broken], s[old])
}

// draw draws a fleet in one line.
func (s signs) draw(fleet []condition) string {
	var counts [conditions]int
	var picture strings.Builder
	for _, c := range fleet {
		counts[c]++
		picture.WriteString(s[c])
	}
	picture.WriteByte(' ')
	for c, what := range [conditions]string{"present content", "rolling", "crashing", "former content"} {
		if counts[c] > 0 {
			fmt.Fprintf(&picture, "  %d %s", counts[c], what)
		}
	}
	return picture.String()
}
