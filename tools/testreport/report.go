package main

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// event is a line of "go test -json", as "go doc test2json" describes it.
type event struct {
	Action  string
	Package string
	Test    string
	Elapsed float64 // seconds
	Output  string
}

// testID names a test. Its parent is the test whose subtest it is.
type testID struct{ pkg, name string }

func (t testID) parent() (testID, bool) {
	i := strings.LastIndexByte(t.name, '/')
	if i < 0 {
		return testID{}, false
	}
	return testID{t.pkg, t.name[:i]}, true
}

// report keeps count of the tests and prints what is worth reading while they run.
type report struct {
	out     io.Writer
	outcome map[testID]string   // "" while it runs, then pass, fail or skip
	parents map[testID]bool     // tests with subtests
	blamed  map[testID]bool     // tests of which a subtest failed
	output  map[testID][]string // of tests that run, and of packages under an empty name
	broken  int                 // packages that failed
}

func newReport(out io.Writer) *report {
	return &report{
		out:     out,
		outcome: map[testID]string{},
		parents: map[testID]bool{},
		blamed:  map[testID]bool{},
		output:  map[testID][]string{},
	}
}

// observeLine takes the next line of input. What is no event is printed as it is.
func (r *report) observeLine(line []byte) {
	var e event
	if err := json.Unmarshal(line, &e); err != nil || e.Action == "" {
		fmt.Fprintf(r.out, "%s\n", strings.TrimRight(string(line), "\n"))
		return
	}
	r.observe(e)
}

func (r *report) observe(e event) {
	id := testID{e.Package, e.Test}
	switch e.Action {
	case "build-output":
		fmt.Fprint(r.out, e.Output)
	case "run":
		r.outcome[id] = ""
		if parent, ok := id.parent(); ok {
			r.parents[parent] = true
		}
	case "output":
		if !strings.HasPrefix(e.Output, "=== ") { // RUN, PAUSE, CONT: the order of events says as much
			r.output[id] = append(r.output[id], e.Output)
		}
	case "pass", "fail", "skip":
		if e.Test == "" {
			r.endPackage(id, e)
		} else {
			r.endTest(id, e)
		}
	}
}

func (r *report) endTest(id testID, e event) {
	r.outcome[id] = e.Action
	output := r.take(id)
	parent, sub := id.parent()
	switch {
	case e.Action == "fail":
		r.blamed[parent] = true
		fmt.Fprint(r.out, strings.Join(output, ""))
	case e.Action == "skip":
		fmt.Fprintf(r.out, "skip  %s%s\n", e.Test, reason(output))
	case !sub && e.Elapsed >= 1:
		fmt.Fprintf(r.out, "pass  %s (%.1fs)\n", e.Test, e.Elapsed)
	}
}

func (r *report) endPackage(id testID, e event) {
	output := r.take(id)
	switch e.Action {
	case "skip": // no test files
		return
	case "pass":
		fmt.Fprintf(r.out, "ok    %s (%.1fs)\n", e.Package, e.Elapsed)
		return
	}
	r.broken++
	// Tests that a panic, an os.Exit or the timeout cut off have no end of their own.
	for _, cut := range r.unfinished(e.Package) {
		fmt.Fprint(r.out, strings.Join(r.take(cut), ""))
		r.outcome[cut] = "fail"
		parent, _ := cut.parent()
		r.blamed[parent] = true
	}
	fmt.Fprint(r.out, strings.Join(output, ""))
	fmt.Fprintf(r.out, "FAIL  %s (%.1fs)\n", e.Package, e.Elapsed)
}

func (r *report) unfinished(pkg string) []testID {
	var ids []testID
	for id, outcome := range r.outcome {
		if outcome == "" && id.pkg == pkg {
			ids = append(ids, id)
		}
	}
	slices.SortFunc(ids, func(a, b testID) int { return strings.Compare(a.name, b.name) })
	return ids
}

func (r *report) take(id testID) []string {
	output := r.output[id]
	delete(r.output, id)
	return output
}

// finish prints the count and says whether all is well. A test with subtests counts only where it failed by itself.
func (r *report) finish(elapsed time.Duration) bool {
	var passed, failed, skipped int
	for id, outcome := range r.outcome {
		switch {
		case outcome == "pass" && !r.parents[id]:
			passed++
		case outcome == "skip" && !r.parents[id]:
			skipped++
		case outcome == "fail" && !r.blamed[id], outcome == "": // no end at all: go test itself was cut off
			failed++
		}
	}
	fmt.Fprintf(r.out, "%d passed, %d failed, %d skipped", passed, failed, skipped)
	if r.broken > 0 {
		fmt.Fprintf(r.out, ", %d packages failed", r.broken)
	}
	fmt.Fprintf(r.out, " in %s\n", elapsed.Round(time.Second))
	return failed == 0 && r.broken == 0 && passed > 0
}

// reason finds what a skipped test said.
func reason(output []string) string {
	for _, line := range output {
		line = strings.TrimSpace(line)
		if line != "" && !strings.HasPrefix(line, "---") {
			return ": " + line
		}
	}
	return ""
}
