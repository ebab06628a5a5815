package command

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"kubernetes-deployment-restart-controller/catalog/annotation"
	"kubernetes-deployment-restart-controller/kubectl-restarts/internal/release"
)

func newPromote(s *session) *cobra.Command {
	w, all := &writer{session: s}, false
	command := &cobra.Command{
		Use:   "promote deployment/NAME",
		Short: "Let a rollout go on that waits at a step (deployment engine)",
		Long: `Let the deployment engine go on with a rollout that waits at a step (see the annotation steps). It waits again at
the next step, if there is one. With --all, it waits at no step any more.`,
		Example: `  # Go on to the next step
  kubectl restarts promote deployment/web

  # Roll out the rest
  kubectl restarts promote deployment/web --all`,
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, a []string) error { return w.promote(c.Context(), a[0], all) },

		ValidArgsFunction: s.completeWorkloads,
	}
	w.dryRun.add(command)
	command.Flags().BoolVar(&all, "all", false, "End all steps, not only this one")
	return command
}

func (w *writer) promote(ctx context.Context, argument string, all bool) error {
	o, err := w.findDeployment(ctx, argument)
	if err != nil {
		return err
	}
	return w.onRollout(ctx, o, func(rollout *release.Rollout) error {
		value, what, next := rollout.Promote, "annotated, to go on from "+rollout.At, "The deployment engine takes the next step. "
		if all && rollout.ReplicaSet != "" {
			value = rollout.PromoteAll(o.meta.Annotations[annotation.PromoteAnnotation])
			what, next = "annotated, to wait at no step any more", "The deployment engine rolls out the rest. "
		}
		if value == "" {
			return fmt.Errorf("%s cannot be promoted: %s", o.name, rollout.WhyNotPromote)
		}
		if err := w.write(ctx, o, annotation.PromoteAnnotation, &value, false); err != nil {
			return err
		}
		next += seeRollout(o)
		if rollout.IsPaused {
			next = "It is paused, so it takes no step before it is resumed."
		}
		w.done(o, what, next)
		return nil
	})
}
