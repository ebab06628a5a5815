package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"time"

	"kubernetes-deployment-restart-controller/test/harness"
)

// progress prints what happens, each line with the seconds since the beginning.
type progress struct {
	out   io.Writer
	begun time.Time
}

func newProgress(out io.Writer) *progress { return &progress{out: out, begun: time.Now()} }

func (p *progress) say(format string, values ...any) {
	for line := range strings.SplitSeq(fmt.Sprintf(format, values...), "\n") {
		fmt.Fprintf(p.out, "%7.1f s  %s\n", time.Since(p.begun).Seconds(), line)
	}
}

// describeRun describes what a reader of the numbers has to know: what was measured,
// on what machine, and when.
func describeRun(ctx context.Context, quick bool) ([]string, error) {
	_, version, _, err := harness.RunController(ctx, "--version")
	if err != nil {
		return nil, err
	}
	about := []string{
		"controller: " + strings.TrimSpace(version),
		fmt.Sprintf("machine: %d x %s, %s, %s", runtime.NumCPU(), fileField("/proc/cpuinfo", "model name"),
			fileField("/proc/meminfo", "MemTotal"), runtime.Version()),
		"measured: " + time.Now().UTC().Format("2006-01-02 15:04 MST") + ", " + loadAverage(),
	}
	if quick {
		about = append(about, "a quick run: the numbers are too small to say anything about speed")
	}
	return about, nil
}

// loadAverage reports whether somebody else works on this machine.
func loadAverage() string {
	content, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "load unknown"
	}
	fields := strings.Fields(string(content))
	return "load " + strings.Join(fields[:min(3, len(fields))], " ")
}

// fileField returns the value of the first line "name : value" of a file.
func fileField(path, name string) string {
	content, err := os.ReadFile(path)
	if err != nil {
		return name + " unknown"
	}
	for line := range bytes.SplitSeq(content, []byte("\n")) {
		key, value, found := strings.Cut(string(line), ":")
		if found && strings.TrimSpace(key) == name {
			return strings.TrimSpace(value)
		}
	}
	return name + " unknown"
}
