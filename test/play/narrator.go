package main

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"time"
)

// indent is as wide as the time that begins a line.
const indent = "           "

// narrator prints what happens, each line with the seconds since the beginning.
type narrator struct {
	out   io.Writer
	begun time.Time
}

func newNarrator(out io.Writer) *narrator { return &narrator{out: out, begun: time.Now()} }

// say prints a line with its time.
func (n *narrator) say(format string, values ...any) {
	fmt.Fprintf(n.out, "%7.2f s  %s\n", time.Since(n.begun).Seconds(), fmt.Sprintf(format, values...))
}

// detail prints lines without a time, below what was said last.
func (n *narrator) detail(format string, values ...any) {
	for line := range strings.SplitSeq(fmt.Sprintf(format, values...), "\n") {
		fmt.Fprintf(n.out, "%s%s\n", indent, line)
	}
}

// gap prints an empty line.
func (n *narrator) gap() { fmt.Fprintln(n.out) }

// Write prints a line of the local cluster as a detail, without its advice on how
// to use the cluster.
func (n *narrator) Write(line []byte) (int, error) {
	text, _, _ := bytes.Cut(bytes.TrimRight(line, "\n"), []byte(";"))
	n.detail("| %s", text)
	return len(line), nil
}
