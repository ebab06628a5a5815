// Command bench measures the restart controller and the deployment engine against a
// real API server and prints a table of what to reach and what came out.
//
// For the rows about restarts it starts local clusters of etcd and kube-apiserver
// only: without a controller manager there are no rollouts, so that nothing but the
// controller and the API server works. Gradual fan-outs wait for rollouts, so they have a
// whole cluster. The rows about the deployment engine have whole clusters, too, whose
// Deployments are driven by the engine and by the original in turns. The controller is a process of its own with the permissions of k8s-manifests/.
// docs/benchmarks.md describes how each row is measured.
//
// It exits with 1 if a measurement could not be made, if a restart was lost, if something
// was restarted needlessly or twice, or if too many restarts were rolling at the same time;
// never because of a slow time.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/jessevdk/go-flags"
)

// bareCommand makes this program the bare process that the latency of the
// controller is compared with.
const bareCommand = "bare"

func main() {
	os.Exit(run(os.Args[1:]))
}

// options are the command line arguments.
type options struct {
	Only  []string `long:"only" value-name:"MEASUREMENT" description:"Make only this measurement; can be given several times"`
	Quick bool     `long:"quick" description:"A smoke test: small numbers in one cluster, which say nothing about speed"`
	Out   string   `long:"out" value-name:"FILE" description:"Write the table in Markdown to this file, too"`
}

func run(arguments []string) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	if len(arguments) == 2 && arguments[0] == bareCommand {
		return finish(runBare(ctx, arguments[1], os.Stdin, os.Stdout))
	}
	var o options
	parser := flags.NewNamedParser("bench", flags.HelpFlag|flags.PassDoubleDash)
	if _, err := parser.AddGroup("Options", "", &o); err != nil {
		return finish(err)
	}
	parser.LongDescription = "The measurements are: " + measurementNames()
	rest, err := parser.ParseArgs(arguments)
	var wrong *flags.Error
	switch {
	case errors.As(err, &wrong) && wrong.Type == flags.ErrHelp:
		fmt.Println(wrong.Message)
		return 0
	case err == nil && len(rest) > 0:
		err = fmt.Errorf("unexpected argument %q", rest[0])
	}
	chosen, errChosen := chooseMeasurements(o.Only)
	if err = errors.Join(err, errChosen); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		return 2
	}
	return finish(newBench(o).run(ctx, chosen))
}

func finish(err error) int {
	if err != nil {
		fmt.Fprintf(os.Stderr, "\nFAILED: %v\n", err)
		return 1
	}
	return 0
}
