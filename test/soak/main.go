// Command soak plays for as long as it is asked to: hundreds of workloads whose configs
// are edited at random, opted in and out, deleted and made again, scaled and paused, on
// a local cluster, with both engines behind a proxy that injects faults
// (test/faultproxy), while controllers, kube-apiserver and etcd are killed and started
// again. Restarts are reverted, contents are restored, some contents break pods, people
// hold restarts, and somebody makes objects that hurt. Then it lets everything calm down and judges (test/soak/model).
//
//	soak [-seed N] [-duration 10m] [-workloads 300] [-rate 50]
//
// It exits with 0 only if nothing was wrong; else it prints the seed and the story of a
// workload that went wrong. A seed repeats the world, the edits and the dice of the
// faults, but not the order in which processes happen to run.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"time"

	"k8s.io/klog/v2"
)

const (
	defaultWorkloads = 300
	maxWorkloads     = 10_000 // with their pods, more than one machine holds
	maxRate          = 1000   // more than the API server carries out
)

func main() { os.Exit(play(os.Args[1:], os.Stdout)) }

func play(arguments []string, out io.Writer) int {
	o := options{progress: out}
	flags := flag.NewFlagSet("soak", flag.ContinueOnError)
	flags.Uint64Var(&o.seed, "seed", uint64(time.Now().UnixNano()), "of everything that is random")
	flags.DurationVar(&o.duration, "duration", time.Minute, "how long to disturb; start and end come on top")
	flags.IntVar(&o.workloads, "workloads", defaultWorkloads, "how many, and as many configs")
	flags.SetOutput(out)
	flags.Float64Var(&o.rate, "rate", 0, "edits a second; 0 for 25 for each processor")
	switch err := flags.Parse(arguments); {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil: // which was printed
		return 2
	}
	if problem := o.problem(flags.Args()); problem != "" {
		fmt.Fprintf(out, "%s (see -h)\n", problem)
		return 2
	}
	klog.SetSlogLogger(slog.New(slog.DiscardHandler)) // that requests break is part of the play
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	fmt.Fprintf(out, "soak with seed %d: %d workloads for %s\n", o.seed, o.workloads, o.duration)
	report, err := run(ctx, o)
	if report != nil {
		fmt.Fprint(out, report)
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "FAILED: %v\n", err)
		return 1
	}
	if report.failed() {
		return 1
	}
	return 0
}

// problem says what is wrong with the command line; it is empty if nothing is.
func (o *options) problem(rest []string) string {
	switch {
	case len(rest) > 0:
		return fmt.Sprintf("unexpected argument %q", rest[0])
	case o.workloads < workers || o.workloads > maxWorkloads:
		return fmt.Sprintf("-workloads must be from %d to %d, not %d", workers, maxWorkloads, o.workloads)
	case o.duration <= 0:
		return fmt.Sprintf("-duration must be more than 0, not %s", o.duration)
	case !(o.rate >= 0 && o.rate <= maxRate): // NaN included
		return fmt.Sprintf("-rate must be from 0 to %v, not %v", float64(maxRate), o.rate)
	}
	return ""
}
