package command

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"kubernetes-deployment-restart-controller/catalog/annotation"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/controller/gate"
	"kubernetes-deployment-restart-controller/kubectl-restarts/internal/facts"
)

func newResume(s *session) *cobra.Command {
	w := &writer{session: s}
	command := &cobra.Command{
		Use:   "resume TYPE/NAME ID",
		Short: "End a halt of a config, although its content broke a workload",
		Long: `End the halt of a config by its id: the other workloads restart for the content that has broken one.
Resume only if you know that the content is right; otherwise revert it, which ends the halt, too.
If the release of a Deployment has failed with the content, and fallen back, it is tried again.

The id is in the Event RestartsHalted of the config. If you may read the ConfigMap of halts, the
command checks that there is such a halt. Otherwise a note says that it cannot.`,
		Example: "  kubectl restarts resume configmap/web-config k3v7x2ab",
		Args:    cobra.RangeArgs(1, 2),
		RunE:    func(c *cobra.Command, a []string) error { return w.resume(c.Context(), a) },

		ValidArgsFunction: s.completeConfigs,
	}
	w.dryRun.add(command)
	return command
}

func (w *writer) resume(ctx context.Context, arguments []string) error {
	o, err := w.findConfig(ctx, arguments[0])
	if err != nil {
		return err
	}
	halts, err := w.haltsOf(ctx, o.ref())
	if err != nil {
		return err
	}
	if len(arguments) < 2 {
		return fmt.Errorf("say which halt to end, by its id; %s", listHalts(o, &halts))
	}
	id, active := arguments[1], halts.Active
	i := slices.IndexFunc(active, func(h gate.Halt) bool { return h.ID == id })
	switch {
	case i < 0 && halts.Known:
		return fmt.Errorf("no halt of %s has the id %.64q; %s", o.name, id, listHalts(o, &halts))
	case i >= 0 && gate.IsGroup(active[i].Config):
		return fmt.Errorf("the halt %s is one of all copies of %s, and ends by %s", id, o.name, facts.ResumeCommand(&active[i]))
	}
	if err := w.write(ctx, o, annotation.ResumeAnnotation, &id, true); err != nil {
		return err
	}
	if i < 0 {
		w.done(o, "annotated to resume", "If it has the halt "+id+", the workloads that this held back restart by the usual rules.")
		w.note("you cannot read the ConfigMap of halts, so nothing shows that " + o.name + " has the halt " + id +
			". One of all its copies does not end by this: somebody removes its entry from the ConfigMap of halts")
		return nil
	}
	w.done(o, "resumed", "Workloads that the halt "+id+" held back restart by the usual rules. Another failure halts again, with another id.")
	for _, failed := range active[i].Failed {
		if failed.Kind != names.Deployment {
			continue
		}
		if err := w.tryAgain(ctx, failed, &active[i]); err != nil && !apierrors.IsNotFound(err) {
			w.note(fmt.Sprintf("cannot see whether the release of %s has fallen back, or try it again: %v", failed, err))
		}
	}
	return nil
}

// tryAgain tries the release of a Deployment again that failed with the content which is resumed, if the Deployment has fallen
// back from that one, and not from a later one.
func (w *writer) tryAgain(ctx context.Context, ref names.WorkloadRef, halt *gate.Halt) error {
	present, err := w.cluster.Workload(ctx, ref)
	if err != nil || !present.IsFallenBack() || !halt.FailedWith(ref, present.Bare.String()) {
		return err
	}
	o, err := w.parseObject("deployment/"+ref.Name, ref.Namespace)
	if err == nil {
		_, err = w.retryRelease(ctx, o)
	}
	return err
}

// haltsOf returns the halts, of the active ones only those of a config that no leader ends anyway.
func (w *writer) haltsOf(ctx context.Context, ref names.ConfigRef) (facts.Halts, error) {
	halts, err := w.cluster.Halts(ctx)
	if err != nil {
		return halts, err
	}
	config, unread := w.cluster.ReducedConfig(ctx, ref)
	halts.Active = slices.DeleteFunc(slices.Clone(halts.Active), func(h gate.Halt) bool {
		isOf := h.Config.Source() == ref || facts.Concerns(&h, ref)
		return !isOf || unread == nil && facts.IsOver(&h, config.Config, true)
	})
	return halts, nil
}

func listHalts(o *object, halts *facts.Halts) string {
	if !halts.Known {
		return "it is in the Event RestartsHalted: kubectl events -n " + o.Namespace + " --for " + o.name
	}
	if len(halts.Active) == 0 {
		return o.name + " has no halt, or only one that a leader ends anyway: it is resumed, or the content has changed"
	}
	var all []string
	for i := range halts.Active {
		all = append(all, halts.Active[i].ID+": "+facts.DescribeHalt(&halts.Active[i]))
	}
	return strings.Join(all, "; ")
}
