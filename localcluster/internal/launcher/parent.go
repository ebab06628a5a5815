package launcher

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"time"
)

// parentVariable is the environment variable that contains the process id of a component's `up`.
const parentVariable = "LOCALCLUSTER_PARENT"

const parentPollInterval = 200 * time.Millisecond

// ExitWithParent ends this process soon after the `up` that started it is gone, even if that was killed and could
// not notify anybody. A process that was not started by an `up` is left alone.
func ExitWithParent() {
	value, set := os.LookupEnv(parentVariable)
	if !set {
		return
	}
	parent, err := strconv.Atoi(value)
	if err != nil {
		fmt.Fprintf(os.Stderr, "localcluster: %s=%q is no process id\n", parentVariable, value)
		os.Exit(2)
	}
	go func() {
		waitForNewParent(context.Background(), parent)
		fmt.Fprintf(os.Stderr, "localcluster: process %d, which started this one, is gone\n", parent)
		os.Exit(1)
	}()
}

// waitForNewParent returns once this process is no longer a child of parent, or once ctx ends. Asking again and again
// is what works on every Unix.
func waitForNewParent(ctx context.Context, parent int) {
	ticker := time.NewTicker(parentPollInterval)
	defer ticker.Stop()
	for os.Getppid() == parent {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
	}
}
