package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"
)

// startBare starts this program as the bare process and returns when it watches.
// It ends when stop closes its input, and also when this process is killed.
func startBare(ctx context.Context, kubeconfig string) (stop func() error, err error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("start the bare process: %w", err)
	}
	child := exec.CommandContext(ctx, self, bareCommand, kubeconfig)
	child.Stderr = os.Stderr
	input, err1 := child.StdinPipe()
	output, err2 := child.StdoutPipe()
	if err := errors.Join(err1, err2, child.Start()); err != nil {
		return nil, fmt.Errorf("start the bare process: %w", err)
	}
	line, err := bufio.NewReader(output).ReadString('\n')
	stop = func() error { return errors.Join(input.Close(), child.Wait()) }
	if strings.TrimSpace(line) != bareReady {
		return nil, errors.Join(fmt.Errorf("the bare process did not start: %q, %w", line, err), stop())
	}
	return stop, nil
}

// pause lets an amount of time pass that is part of what is measured.
func pause(ctx context.Context, length time.Duration) error {
	timer := time.NewTimer(length)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
