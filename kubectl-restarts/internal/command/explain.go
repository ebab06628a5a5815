package command

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"

	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/kubectl-restarts/internal/cluster"
	"kubernetes-deployment-restart-controller/kubectl-restarts/internal/explain"
	"kubernetes-deployment-restart-controller/kubectl-restarts/internal/facts"
	"kubernetes-deployment-restart-controller/kubectl-restarts/internal/leader"
)

const explainHelp = `Explain why a workload restarted last, or why it did not: whether it is enabled, which configs and keys
its containers see, what the controller has recorded, and what holds a restart back.

The leader of the controller is asked what it decides and what its gate admits, if it serves its status
page and you may forward ports to its pod. Without it, the command shows what the cluster shows, with your
own permissions, and says what only the leader knows. Of a Secret it reads no data.

Of a ConfigMap or a Secret, it shows who reads it and which keys, when it was last edited and by whom, and what
each reader waits for. Of a CronJob or a Job, it says that no restart is needed, and lists what it reads.`

const explainExamples = `  # Why did web restart, or why not?
  kubectl restarts explain deployment/web

  # Who reads web-config, and what do they wait for?
  kubectl restarts explain configmap/web-config

  # What does a CronJob read, and need it restart?
  kubectl restarts explain cronjob/backup

  # In another namespace, for a program
  kubectl restarts explain -n shop sts/db -o json`

// maxConfigs is how many configs of one workload are read.
const maxConfigs = 300

func newExplain(s *session) *cobra.Command {
	var output outputFlags
	var flags leaderFlags
	command := &cobra.Command{
		Use:     "explain TYPE/NAME",
		Short:   "Explain why a workload restarted, or why it did not, or who reads a config",
		Long:    explainHelp,
		Example: explainExamples,
		Args:    cobra.RangeArgs(1, 2),
		RunE: func(command *cobra.Command, arguments []string) error {
			return s.explain(command.Context(), arguments, &output, &flags)
		},
		ValidArgsFunction: s.completeObjects,
	}
	output.addStructured(command)
	flags.add(command)
	return command
}

func (s *session) explain(ctx context.Context, arguments []string, output *outputFlags, flags *leaderFlags) error {
	if kind, name, err := typeAndName(arguments); err == nil {
		if run, isRun := runKinds[strings.TrimSuffix(strings.ToLower(kind), ".batch")]; isRun {
			return s.explainRun(ctx, run, name, output)
		}
		if config, isConfig := configKinds[strings.ToLower(kind)]; isConfig {
			return s.explainConfig(ctx, config, name, output, flags)
		}
	}
	ref, from, err := s.workloadToShow(arguments, output)
	if err != nil {
		return err
	}
	in, err := s.gather(ctx, from, ref)
	if err != nil {
		return err
	}
	alone := []facts.Workload{in.Workload}
	doubt, err := from.Enable(ctx, alone)
	if err != nil {
		return err
	}
	if doubt != "" {
		s.note(doubt)
	}
	in.Workload = alone[0]
	if in.Events, err = from.Events(ctx, ref.Namespace, string(ref.Kind), ref.Name); apierrors.IsForbidden(err) {
		s.note("you may not list Events, so they are missing")
	} else if err != nil {
		return err
	}
	explain.SortEvents(in.Events)
	if err := s.askLeader(ctx, ref, flags, in); err != nil {
		return err
	}
	report := explain.Explain(in)
	if output.isStructured() {
		return output.print(s.Out, report)
	}
	return report.Print(s.Out)
}

// explainRun says that a CronJob or a Job needs no restart, and what it reads.
func (s *session) explainRun(ctx context.Context, kind facts.RunKind, name string, output *outputFlags) error {
	namespace, from, err := s.toShow(output)
	if err != nil {
		return err
	}
	run, err := from.Run(ctx, kind, namespace, name)
	if err != nil {
		return err
	}
	report := explain.Run(&run)
	if output.isStructured() {
		return output.print(s.Out, report)
	}
	return report.Print(s.Out)
}

// gather reads a workload, its configs and the halts.
func (s *session) gather(ctx context.Context, from *cluster.Cluster, ref names.WorkloadRef) (in *explain.Input, err error) {
	in = &explain.Input{Now: time.Now()}
	if in.Workload, err = from.Workload(ctx, ref); err != nil {
		return nil, err
	}
	if in.Halts, err = from.Halts(ctx); err != nil {
		return nil, err
	}
	return in, s.readConfigs(ctx, from, in)
}

// askLeader adds what the leader answers about a workload, or why it cannot be asked.
func (s *session) askLeader(ctx context.Context, ref names.WorkloadRef, flags *leaderFlags, in *explain.Input) error {
	from, err := s.leader(flags)
	if from == nil || err != nil {
		return err
	}
	answer, name, err := from.Workload(ctx, ref)
	if unknown := (*leader.Unknown)(nil); errors.As(err, &unknown) {
		in.Unknown = &explain.Unknown{Name: name, Problem: unknown.Problem}
		return nil
	}
	if err != nil {
		in.Gaps = from.Gaps(ctx, whyNot(err), in.Now)
		in.Leads = from.Leads(in.Now)
		return ctx.Err()
	}
	in.Leader = &explain.FromLeader{Name: name, Workload: answer}
	return nil
}

// readConfigs reads the configs that the workload reads, of Secrets only the metadata. Those are missing whose names
// cannot be part of a path.
func (s *session) readConfigs(ctx context.Context, from *cluster.Cluster, in *explain.Input) error {
	refs := slices.DeleteFunc(in.Workload.Configs(), func(ref names.ConfigRef) bool {
		return ref.Kind.IsPerPod() || len(rest.IsValidPathSegmentName(ref.Source().Name)) > 0
	})
	if len(refs) > maxConfigs {
		s.note(fmt.Sprintf("%s reads %d configs; only the first %d are compared", facts.WorkloadName(in.Workload.Ref), len(refs), maxConfigs))
		in.Unreadable, refs = refs[maxConfigs:], refs[:maxConfigs]
	}
	for _, ref := range refs {
		switch config, err := from.ReducedConfig(ctx, ref.Source()); {
		case err == nil:
			in.Take(ref, &config)
		case apierrors.IsForbidden(err):
			in.Unreadable = append(in.Unreadable, ref)
		case !apierrors.IsNotFound(err):
			return err
		}
	}
	return nil
}
