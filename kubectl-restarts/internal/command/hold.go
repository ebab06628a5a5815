package command

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"kubernetes-deployment-restart-controller/catalog/annotation"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/policy"
	"kubernetes-deployment-restart-controller/internal/brief"
	"kubernetes-deployment-restart-controller/kubectl-restarts/internal/facts"
	"kubernetes-deployment-restart-controller/kubectl-restarts/internal/text"
)

func newHold(s *session) *cobra.Command {
	w, overwrite, all := &writer{session: s}, false, allFlag(false)
	command := &cobra.Command{
		Use:   "hold (TYPE/NAME | --all-workloads) REASON",
		Short: "Hold restarts of a workload, for a config, or all of them",
		Long: `Hold the restarts of a workload, or those that would bring the new content of a config, until somebody
removes the hold. Restarts that have begun go on. The reason shows in Events and in the log.

With --all-workloads, hold all restarts of the controller in all namespaces, such as in an emergency: the
command sets an entry of the ConfigMap in which the controller keeps its halts. You need permission to get
and patch this ConfigMap.

A hold holds back restarts, not content: pods that start for other reasons read the new content.`,
		Example: `  # No restart of web during the migration
  kubectl restarts hold deployment/web 'migration under way'

  # Edits of web-config wait for approval
  kubectl restarts hold configmap/web-config 'waits for approval'

  # No restart at all, in any namespace
  kubectl restarts hold --all-workloads 'incident 42'`,
		Args: all.arguments(cobra.MinimumNArgs, 2),
		RunE: func(c *cobra.Command, a []string) error {
			if all {
				return w.holdAll(c.Context(), strings.Join(a, " "), overwrite)
			}
			return w.hold(c.Context(), a[0], strings.Join(a[1:], " "), overwrite)
		},
		ValidArgsFunction: all.complete(s.completeObjects),
	}
	w.dryRun.add(command)
	all.add(command, "Hold all restarts, of all workloads in all namespaces")
	command.Flags().BoolVar(&overwrite, "overwrite", false, "Replace the reason of a hold that is there already")
	return command
}

var errNoReason = errors.New("give a reason, for those who wonder why nothing restarts")

func (w *writer) hold(ctx context.Context, argument, reason string, overwrite bool) error {
	if strings.TrimSpace(reason) == "" {
		return errNoReason
	}
	o, err := w.find(ctx, argument)
	if err != nil {
		return err
	}
	if former, isHeld := o.meta.Annotations[annotation.HoldAnnotation]; isHeld && former != reason && !overwrite {
		return fmt.Errorf("%s is held already: %s; replace the reason with --overwrite", o.name, brief.Text(former))
	}
	if err := w.write(ctx, o, annotation.HoldAnnotation, &reason, false); err != nil {
		return err
	}
	next := "Edits of it restart no workload until you run: kubectl restarts unhold -n %s %s"
	if o.kind != "" {
		next = "No restart of it begins until you run: kubectl restarts unhold -n %s %s"
	}
	w.done(o, "held", fmt.Sprintf(next, o.Namespace, o.name))
	return nil
}

func newUnhold(s *session) *cobra.Command {
	w, all := &writer{session: s}, allFlag(false)
	command := &cobra.Command{
		Use:   "unhold (TYPE/NAME | --all-workloads)",
		Short: "Remove a hold",
		Long: `Remove the hold of a workload or a config, or with --all-workloads that of everything. Restarts that are
due then begin by the usual rules. Other holds stay.`,
		Example: `  kubectl restarts unhold deployment/web

  # Let restarts begin again after hold --all-workloads
  kubectl restarts unhold --all-workloads`,
		Args: all.arguments(cobra.ExactArgs, 1),
		RunE: func(c *cobra.Command, a []string) error {
			if all {
				return w.unholdAll(c.Context())
			}
			return w.unhold(c.Context(), a[0])
		},
		ValidArgsFunction: all.complete(s.completeObjects),
	}
	w.dryRun.add(command)
	all.add(command, "Remove the hold of all restarts")
	return command
}

func (w *writer) unhold(ctx context.Context, argument string) error {
	o, err := w.find(ctx, argument)
	if err != nil {
		return err
	}
	former, isHeld := o.meta.Annotations[annotation.HoldAnnotation]
	if !isHeld {
		return w.notHeld(ctx, o)
	}
	if err := w.removeHold(ctx, o, former); err != nil {
		return err
	}
	next := "Restarts that are due for it begin now, by the usual rules."
	others, err := w.heldBesides(ctx, o)
	if o.kind != "" {
		next = "A restart that is due begins after the grace period, by the usual rules."
	}
	if len(others) > 0 {
		next = "A restart that is due begins, by the usual rules, when nothing else holds it."
	}
	w.done(o, "not held any more", next+" The reason was: "+brief.Text(former))
	for _, other := range others[:min(len(others), maxOthers)] {
		fmt.Fprintln(w.Out, "Still "+text.Safe(other))
	}
	if more := len(others) - maxOthers; more > 0 {
		fmt.Fprintf(w.Out, "and %d more\n", more)
	}
	if err != nil {
		w.note("what else holds restarts is not known: " + err.Error())
	}
	return nil
}

// notHeld returns the error about an object that has no hold of its own, with what else holds its restarts.
func (w *writer) notHeld(ctx context.Context, o *object) error {
	others, err := w.heldBesides(ctx, o)
	switch {
	case err != nil:
		return fmt.Errorf("%s is not held; what else holds restarts is not known: %w", o.name, err)
	case len(others) > 0:
		return fmt.Errorf("%s has no hold of its own; %s", o.name, text.List(others, maxOthers))
	}
	return fmt.Errorf("%s is not held", o.name)
}

// maxOthers is how many further holds and halts are shown.
const maxOthers = 10

// heldBesides describes what else holds the restarts that the hold of an object has held.
func (w *writer) heldBesides(ctx context.Context, o *object) (others []string, err error) {
	if o.kind != "" {
		in, err := w.gather(ctx, w.cluster, names.WorkloadRef{Kind: o.kind, Namespace: o.Namespace, Name: o.Target.Name})
		if err != nil {
			return nil, err
		}
		return in.HeldBesides(), nil
	}
	ref := o.ref()
	halts, err := w.haltsOf(ctx, ref)
	if err != nil {
		return nil, err
	}
	if halts.Hold != "" {
		others = append(others, facts.DescribeHold(policy.Wish{By: policy.ByController, Text: halts.Hold}, nil))
	}
	for i := range halts.Active {
		others = append(others, "halted: "+facts.DescribeHalt(&halts.Active[i]))
	}
	workloads, _, err := w.cluster.Workloads(ctx, o.Namespace)
	if err == nil {
		_, err = w.cluster.Enable(ctx, workloads)
	}
	for i := range workloads {
		reader := &workloads[i]
		if reader.Enabled && reader.Policy != nil && reader.Policy.Hold != "" && slices.Contains(reader.Configs(), ref) {
			others = append(others, facts.DescribeHold(policy.Wish{By: policy.ByWorkload, Text: reader.Policy.Hold}, reader))
		}
	}
	return others, err
}

// removeHold removes the hold that was found. Somebody may have replaced it since, for a reason that the caller has not
// seen.
func (w *writer) removeHold(ctx context.Context, o *object, reason string) error {
	if w.dryRun == "client" {
		return nil
	}
	err := w.cluster.RemoveAnnotation(ctx, o.Target, annotation.HoldAnnotation, reason, w.dryRun == "server")
	if apierrors.IsInvalid(err) {
		return fmt.Errorf("the hold of %s (%s) was not removed: it has just changed, or the API server refuses the write; look at it and try again: %w", o.name, brief.Text(reason), err)
	}
	return explained(err, "you need permission to patch it")
}
