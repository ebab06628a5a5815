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
func demo(ctx context.Context, out io.Writer, limit time.Duration) error {
	n := newNarrator(out)
	s := &stage{limit: limit}
	return s.perform(ctx, n, func() error {
		story := newStory(s)
		if err := tell(ctx, n, s, story.steps()); err != nil {
			return err
		}
		n.gap()
		n.say("every step was seen: the edit led to one restart, %.1f s after it, and to new pods another %.1f s later",
			story.restarted.Sub(story.edited).Seconds(), story.rolled.Sub(story.restarted).Seconds())
		return nil
	})
}

// perform starts the cluster and the controller, with the flags, plays, and ends everything.
func (s *stage) perform(ctx context.Context, n *narrator, play func() error, flags ...string) (err error) {
	defer func() {
		if err != nil && s.controller != nil {
			fmt.Fprintf(n.out, "\nThe end of the controller's log:\n%s\n", s.controller.Log().Tail(30))
		}
		err = errors.Join(err, s.clear())
	}()

	n.say("a local Kubernetes starts: etcd, API server, controller manager, scheduler, simulated nodes")
	n.detail("The controller manager runs without its deployment controller: this project's engine replaces it.")
	if err := s.startCluster(ctx, "", n); err != nil {
		return err
	}
	n.say("the controller starts, with %s", strings.Join(append([]string{driveDeployments}, flags...), " "))
	n.detail("It has the permissions of k8s-manifests/%s and %s, and no others.", permissions, enginePermissions)
	if err := s.startController(ctx, nil, flags...); err != nil {
		return err
	}
	return play()
}

// tell plays the steps. It returns an error if one of them does not happen, or if the
// cluster or the controller ends.
func tell(ctx context.Context, n *narrator, s *stage, steps []step) error {
	for number, step := range steps {
		if err := narrate(ctx, n, number+1, step); err != nil {
			return fmt.Errorf("step %d, %s: %w", number+1, step.title, err)
		}
		if err := s.alive(); err != nil {
			return fmt.Errorf("step %d, %s: %w", number+1, step.title, err)
		}
	}
	return nil
}

// step is a part of the story.
type step struct {
	title string
	// looksAt says where the step is seen to happen, unless play says that.
	looksAt string
	// play makes the step happen, or waits for it, and returns what it saw, unless it has
	// said that already.
	play func(context.Context) (seen string, err error)
}

func narrate(ctx context.Context, n *narrator, number int, step step) error {
	n.gap()
	n.say("%d. %s", number, step.title)
	if step.looksAt != "" {
		n.detail("looking at: %s", step.looksAt)
	}
	seen, err := step.play(ctx)
	if err != nil {
		return err
	}
	if seen != "" {
		n.say("seen")
		n.detail("%s", trimmed(seen))
	}
	return nil
}

func trimmed(text string) string { return strings.TrimSpace(text) }
