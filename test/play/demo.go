package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
)

// stepLimit is how long a step may take; the longest, a rollout or the controller's
// grace period, takes seconds.
const stepLimit = time.Minute

// demo plays the story. It returns an error unless it saw every step happen, each
// within the limit.
func demo(ctx context.Context, out io.Writer, limit time.Duration) (err error) {
	n := newNarrator(out)
	s := &stage{limit: limit}
	defer func() {
		if err != nil && s.controller != nil {
			fmt.Fprintf(out, "\nThe end of the controller's log:\n%s\n", s.controller.Log().Tail(30))
		}
		err = errors.Join(err, s.clear())
	}()

	n.say("a local Kubernetes starts: etcd, API server, controller manager, scheduler, simulated nodes")
	n.detail("The controller manager runs without its deployment controller: this project's engine replaces it.")
	if err := s.startCluster(ctx, "", n); err != nil {
		return err
	}
	n.say("the controller starts, with --deployment-engine=on")
	n.detail("It has the permissions of k8s-manifests/%s and %s, and no others.", permissions, enginePermissions)
	if err := s.startController(ctx, nil); err != nil {
		return err
	}
	story := newStory(s)
	for number, step := range story.steps() {
		if err := narrate(ctx, n, number+1, step); err != nil {
			return fmt.Errorf("step %d, %s: %w", number+1, step.title, err)
		}
		if err := s.alive(); err != nil {
			return fmt.Errorf("step %d, %s: %w", number+1, step.title, err)
		}
	}
	n.gap()
	n.say("every step was seen: the edit led to one restart, %.1f s after it, and to new pods another %.1f s later",
		story.restarted.Sub(story.edited).Seconds(), story.rolled.Sub(story.restarted).Seconds())
	return nil
}

// step is a part of the story.
type step struct {
	title string
	// looksAt says where the step is seen to happen.
	looksAt string
	// play makes the step happen, or waits for it, and returns what it saw.
	play func(context.Context) (seen string, err error)
}

func narrate(ctx context.Context, n *narrator, number int, step step) error {
	n.gap()
	n.say("%d. %s", number, step.title)
	n.detail("looking at: %s", step.looksAt)
	seen, err := step.play(ctx)
	if err != nil {
		return err
	}
	n.say("seen")
	n.detail("%s", trimmed(seen))
	return nil
}

func trimmed(text string) string { return strings.TrimSpace(text) }
