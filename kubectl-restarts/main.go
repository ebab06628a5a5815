// Command kubectl-restarts is a plugin of kubectl: kubectl restarts shows which workloads the
// controller would restart for a change of a config, before anything is applied. It reads the
// cluster with the permissions of its caller and needs no controller.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"kubernetes-deployment-restart-controller/kubectl-restarts/internal/command"
)

// The version is set by the linker: see the Makefile.
var (
	version = "unknown"
	commit  = "unknown"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := command.Run(ctx, version+" (commit "+commit+")", os.Args[1:], genericiooptions.IOStreams{In: os.Stdin, Out: os.Stdout, ErrOut: os.Stderr})
	stop()
	os.Exit(code)
}
