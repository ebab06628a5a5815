package command

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"kubernetes-deployment-restart-controller/kubectl-restarts/internal/history"
	"kubernetes-deployment-restart-controller/kubectl-restarts/internal/text"
)

const historyHelp = `List the revisions of a Deployment, StatefulSet or DaemonSet that are left: who made each, what changed with
it, and the restarts among them with what they were for.

For ReplicaSets of the deployment engine, this was noted when they were made. Of others, it follows from a
comparison with the revision before, which need not have been the one before at that time, and nothing shows
who made them. How a rollout ended is known of Deployments that may fall back (see the annotation on-failure).`

func newHistory(s *session) *cobra.Command {
	var output outputFlags
	command := &cobra.Command{
		Use:     "history TYPE/NAME",
		Short:   "List the revisions of a workload, and what made them",
		Long:    historyHelp,
		Example: "  kubectl restarts history deployment/web",
		Args:    cobra.RangeArgs(1, 2),
		RunE: func(command *cobra.Command, arguments []string) error {
			return s.history(command.Context(), arguments, &output)
		},
		ValidArgsFunction: s.completeWorkloads,
	}
	output.add(command)
	return command
}

func (s *session) history(ctx context.Context, arguments []string, output *outputFlags) error {
	ref, from, err := s.workloadToShow(arguments, output)
	if err != nil {
		return err
	}
	w, err := from.Workload(ctx, ref)
	switch {
	case err != nil:
		return err
	case w.Unsupported != "":
		return errors.New(w.Unsupported)
	}
	sources, unread, err := from.Revisions(ctx, &w)
	if err != nil {
		return err
	}
	if unread > 0 {
		s.note(fmt.Sprintf("%s cannot be read, so %s missing", text.Count(unread, "revision"), text.Are(unread)))
	}
	revisions := history.Of(sources)
	if output.isStructured() {
		return output.print(s.Out, revisions)
	}
	return history.Print(s.Out, revisions, output.table(), time.Now())
}
