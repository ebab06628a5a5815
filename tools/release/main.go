// Command release checks, before anything is released, that all that names the version agrees:
//
//	release -version 2.0.0
//
// It runs in the top directory of the repository and lists everything that differs, not only the first.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
)

func main() {
	version := flag.String("version", "", "the version to release, such as 2.0.0")
	flag.Parse()
	if !isReady(*version) {
		os.Exit(1)
	}
}

// isReady reports whether the version can be released, and says why if not.
func isReady(version string) bool {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	differences, err := check(ctx, ".", version)
	if err != nil {
		differences = []string{err.Error()}
	}
	for _, difference := range differences {
		fmt.Fprintln(os.Stderr, "release:", difference)
	}
	return len(differences) == 0
}
