// Command testreport reads the output of one or several runs of "go test -json" on its standard input and reports what
// happened as it happens: a line for each package, a line for each test that takes a second or more, the output of
// what fails. Its last line counts the tests:
//
//	212 passed, 0 failed, 1 skipped in 3m10s
//
// A test with subtests is not counted beside them. The exit code is 1 if anything failed or if nothing was tested.
package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"time"
)

func main() {
	begin := time.Now()
	report := newReport(os.Stdout)
	if err := readAll(os.Stdin, report); err != nil {
		fmt.Fprintln(os.Stderr, "read test events:", err)
		os.Exit(1)
	}
	if !report.finish(time.Since(begin)) {
		os.Exit(1)
	}
}

func readAll(in io.Reader, report *report) error {
	reader := bufio.NewReader(in)
	for {
		line, err := reader.ReadBytes('\n')
		if len(line) > 0 {
			report.observeLine(line)
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}
