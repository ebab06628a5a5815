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
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	differences, err := check(ctx, ".", *version)
	if err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
	for _, difference := range differences {
		fmt.Fprintln(os.Stderr, "release:", difference)
	}
	if len(differences) > 0 {
		os.Exit(1)
	}
}
