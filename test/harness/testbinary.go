package harness

import (
	"flag"
	"fmt"
	"os"
	"testing"
)

// RunTests runs the tests of a binary, then takes the steps, and returns the exit
// code. So many tests run in parallel unless the command line says otherwise: they
// wait most of the time.
func (c *Cleanups) RunTests(m *testing.M, parallel string) int {
	flag.Parse()
	if !isSet("test.parallel") {
		if err := flag.Set("test.parallel", parallel); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}
	code := m.Run()
	if err := c.Run(); err != nil {
		fmt.Fprintf(os.Stderr, "clean up after the tests: %v\n", err)
		code = max(code, 1)
	}
	return code
}

func isSet(name string) (set bool) {
	flag.Visit(func(f *flag.Flag) { set = set || f.Name == name })
	return set
}
