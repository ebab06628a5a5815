package command

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"kubernetes-deployment-restart-controller/catalog/annotation"
	"kubernetes-deployment-restart-controller/kubectl-restarts/internal/release"
)

func newRetry(s *session) *cobra.Command {
	w := &writer{session: s}
	command := &cobra.Command{
		Use:   "retry deployment/NAME",
		Short: "Try a release again that has failed and fallen back (deployment engine)",
		Long: `Let the deployment engine try a release again that has failed, so that the Deployment runs an earlier one
(see the annotation on-failure). If it fails once more, the Deployment falls back once more.`,
		Example: "  kubectl restarts retry deployment/web",
		Args:    cobra.ExactArgs(1),
		RunE:    func(c *cobra.Command, a []string) error { return w.retry(c.Context(), a[0]) },

		ValidArgsFunction: s.completeWorkloads,
	}
	w.dryRun.add(command)
	return command
}

func (w *writer) retry(ctx context.Context, argument string) error {
	o, err := w.findDeployment(ctx, argument)
	if err != nil {
		return err
	}
	isRetried, err := w.retryRelease(ctx, o)
	if err == nil && !isRetried {
		err = fmt.Errorf("%s does not say that a release has failed and fallen back, so there is nothing to try again", o.name)
	}
	return err
}

// retryRelease asks for another attempt at the release of a Deployment, if one has failed and fallen back. It reports whether it did.
func (w *writer) retryRelease(ctx context.Context, o *object) (isRetried bool, err error) {
	err = w.onRollout(ctx, o, func(rollout *release.Rollout) error {
		isRetried = rollout.Retry != ""
		if !isRetried {
			return nil
		}
		if err := w.write(ctx, o, annotation.RetryAnnotation, &rollout.Retry, false); err != nil {
			return err
		}
		next := "The deployment engine rolls it out again. " + seeRollout(o)
		if rollout.IsPaused {
			next = "It is paused, so nothing is rolled out before it is resumed."
		}
		w.done(o, "annotated, to be tried again as "+rollout.Retry, next)
		return nil
	})
	return isRetried, err
}
