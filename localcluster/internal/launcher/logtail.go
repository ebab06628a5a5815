package launcher

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strings"
)

const (
	tailLines = 15
	tailBytes = 64 << 10
	lineBytes = 400 // stack traces and dumped objects would bury the message
)

// logTail returns the last lines of a log, indented, for use in a message. What it cannot read it says instead.
func logTail(file string) string {
	lines, err := lastLines(file, tailLines)
	switch {
	case err != nil:
		return fmt.Sprintf("    (%v)", err)
	case len(lines) == 0:
		return "    (nothing was logged)"
	}
	return "    " + strings.Join(lines, "\n    ")
}

// lastLines returns up to count lines from the end of the file, blank ones left out and long ones shortened. It looks
// at no more than the last 64 KiB.
func lastLines(file string, count int) ([]string, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, fmt.Errorf("open log: %w", err)
	}
	defer f.Close()
	end, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return nil, fmt.Errorf("read log %s: %w", file, err)
	}
	start := max(0, end-tailBytes)
	content, err := io.ReadAll(io.NewSectionReader(f, start, end-start))
	if err != nil {
		return nil, fmt.Errorf("read log %s: %w", file, err)
	}
	if start > 0 { // the first line is cut somewhere
		_, content, _ = bytes.Cut(content, []byte("\n"))
	}
	var lines []string
	for line := range strings.Lines(string(content)) {
		if line = strings.TrimRight(line, " \t\r\n"); line != "" {
			lines = append(lines, shorten(line))
		}
	}
	return lines[max(0, len(lines)-count):], nil
}

func shorten(line string) string {
	if len(line) <= lineBytes {
		return line
	}
	return strings.ToValidUTF8(line[:lineBytes], "") + " …"
}
