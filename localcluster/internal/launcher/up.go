package launcher

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"time"
	"unicode"
)

// up runs a cluster until it has to stop: because of a signal, by `down`, or by the end of the process that started it.
func up(arguments []string, stdout, stderr io.Writer) error {
	options, err := parseUp(arguments)
	if err != nil {
		return err
	}
	layout, err := newLayout(options.Dir)
	if err != nil {
		return err
	}
	begin := time.Now()
	report := newReport(stdout, stderr)
	lock, removed, err := layout.claim()
	if err != nil {
		return err
	}
	defer lock.Close()
	if removed {
		report.progress("removed the state of an earlier cluster: each `up` starts an empty one")
	}
	c, err := newCluster(layout, lock, options, report)
	if err != nil {
		return err
	}

	ctx, stop := context.WithCancelCause(context.Background())
	defer stop(nil)
	stopOnSignal(ctx, stop)
	stopWithParent(ctx, stop)
	shutdown, err := controlServer{cluster: c, stop: func() { stop(errors.New("asked to")) }, context: ctx}.serve(layout)
	if err != nil {
		return err
	}
	defer shutdown()
	return runCluster(ctx, c, func() {
		report.progress(fmt.Sprintf("the cluster is ready after %s; use it with: export KUBECONFIG=%s; stop it with Ctrl-C or: localcluster down --dir %s",
			seconds(time.Since(begin)), shellQuote(kubeconfigToShow(layout, options)), shellQuote(layout.Dir)))
	})
}

// runCluster starts the cluster, reports that it is ready and waits for the end of ctx. All members are gone when it
// returns.
func runCluster(ctx context.Context, c *cluster, ready func()) error {
	defer c.stop()
	if err := c.start(ctx); err != nil {
		if ctx.Err() != nil {
			return fmt.Errorf("stopped before the cluster was ready: %w", context.Cause(ctx))
		}
		return err
	}
	ready()
	<-ctx.Done()
	c.report.progress(fmt.Sprintf("stopping the cluster: %v", context.Cause(ctx)))
	return nil
}

// stopOnSignal lets the first signal stop the cluster in order. A second one ends this process at once, and the
// components notice that.
func stopOnSignal(ctx context.Context, stop context.CancelCauseFunc) {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	go func() {
		select {
		case received := <-signals:
			signal.Stop(signals)
			stop(fmt.Errorf("signal %v", received))
		case <-ctx.Done():
		}
	}()
}

// stopWithParent keeps a cluster from outliving the test or the shell that started it.
func stopWithParent(ctx context.Context, stop context.CancelCauseFunc) {
	parent := os.Getppid()
	go func() {
		waitForNewParent(ctx, parent)
		stop(fmt.Errorf("process %d, which started it, is gone", parent))
	}()
}

func kubeconfigToShow(layout Layout, options Options) string {
	if options.Kubeconfig != "" {
		return options.Kubeconfig
	}
	return layout.kubeconfig()
}

// shellQuote returns a path as one can paste it into a shell.
func shellQuote(path string) string {
	if strings.ContainsFunc(path, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("/._-+,:@%", r)
	}) {
		return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
	}
	return path
}

// newReport returns a report that writes whole lines, whichever goroutines they come from.
func newReport(stdout, stderr io.Writer) report {
	var mu sync.Mutex
	printTo := func(out io.Writer, prefix string) func(string) {
		return func(message string) {
			mu.Lock()
			defer mu.Unlock()
			fmt.Fprintln(out, prefix+message)
		}
	}
	return report{progress: printTo(stdout, ""), trouble: printTo(stderr, "localcluster: ")}
}
