package harness

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// A wait begins with polls that are close to one another, for what is about to be so. Each pause is
// a fifth longer than the last one, up to the longest: dozens of tests that wait side by side would
// keep the API server busy otherwise.
const (
	shortestPause = 50 * time.Millisecond
	longestPause  = 250 * time.Millisecond
)

// Eventually calls condition until it returns nil, and returns nil then. A
// condition returns an error that says what is not so yet; when limit or ctx
// ends first, that error is part of the one returned. A condition that can never
// come true any more says so with [Final] and ends the wait at once.
func Eventually(ctx context.Context, limit time.Duration, condition func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	pause := shortestPause
	var unmet error
	for {
		err := condition(ctx)
		var final finalError
		switch {
		case err == nil:
			return nil
		case errors.As(err, &final):
			return final.error
		case ctx.Err() == nil || unmet == nil:
			unmet = err // a failure because the wait ended says nothing
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("waited up to %s: %w", limit, unmet)
		case <-time.After(pause):
			pause = min(pause*6/5, longestPause)
		}
	}
}

// Final marks an error after which it is no use to wait on.
func Final(err error) error { return finalError{err} }

type finalError struct{ error }

func (e finalError) Unwrap() error { return e.error }
