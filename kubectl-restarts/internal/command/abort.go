package command

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"kubernetes-deployment-restart-controller/catalog/annotation"
	"kubernetes-deployment-restart-controller/kubectl-restarts/internal/release"
)

func newAbort(s *session) *cobra.Command {
	w := &writer{session: s}
	command := &cobra.Command{
		Use:   "abort deployment/NAME",
		Short: "Give up a release that takes steps (deployment engine)",
		Long: `Let the deployment engine give up a rollout that takes steps (see the annotation steps), whether it waits at
one or not. A release falls back to the one that was complete before. A restart stays at its step.`,
		Example: "  kubectl restarts abort deployment/web",
		Args:    cobra.ExactArgs(1),
		RunE:    func(c *cobra.Command, a []string) error { return w.abort(c.Context(), a[0]) },

		ValidArgsFunction: s.completeWorkloads,
	}
	w.dryRun.add(command)
	return command
}

func (w *writer) abort(ctx context.Context, argument string) error {
	o, err := w.findDeployment(ctx, argument)
	if err != nil {
		return err
	}
	return w.onRollout(ctx, o, func(rollout *release.Rollout) error {
		if rollout.Abort == "" {
			return fmt.Errorf("%s cannot be aborted: %s", o.name, rollout.WhyNotAbort)
		}
		if err := w.write(ctx, o, annotation.AbortAnnotation, &rollout.Abort, false); err != nil {
			return err
		}
		next := fmt.Sprintf("The deployment engine falls back to the release before. To try this one again: kubectl restarts retry -n %s %s", o.Namespace, o.name)
		switch {
		case rollout.IsPaused:
			next = "It is paused, so this has no effect before it is resumed."
		case rollout.IsRestart:
			next = fmt.Sprintf("The restart has failed, and stays at its step. To go on all the same: kubectl restarts promote -n %s %s", o.Namespace, o.name)
		}
		w.done(o, "annotated, to abort "+rollout.Abort, next)
		return nil
	})
}
