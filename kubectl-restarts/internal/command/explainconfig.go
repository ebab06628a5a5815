package command

import (
	"context"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/internal/status"
	"kubernetes-deployment-restart-controller/kubectl-restarts/internal/explain"
	"kubernetes-deployment-restart-controller/kubectl-restarts/internal/facts"
	"kubernetes-deployment-restart-controller/kubectl-restarts/internal/overview"
)

// explainConfig shows who reads a config, when it was edited, and what its readers wait for.
func (s *session) explainConfig(ctx context.Context, kind names.ConfigKind, name string, output *outputFlags, flags *leaderFlags) error {
	namespace, from, err := s.toShow(output)
	if err != nil {
		return err
	}
	in := &explain.ConfigInput{Ref: names.ConfigRef{Kind: kind, Namespace: namespace, Name: name}, Now: time.Now()}
	config, missing := from.ReducedConfig(ctx, in.Ref)
	switch {
	case missing == nil:
		in.Config = &config
	case apierrors.IsForbidden(missing):
		in.Unreadable = true
		in.Gaps = append(in.Gaps, status.Gap{Text: "You may not get " + facts.ConfigName(in.Ref) + ", so it is not known when it was edited, or whether it is on hold", Why: missing.Error()})
	case !apierrors.IsNotFound(missing):
		return missing
	}
	all := &overview.Input{Namespace: namespace, Now: in.Now}
	reading := &statusCommand{session: s, flags: *flags, noted: make(map[string]bool)} // as status does
	if err := reading.gather(ctx, from, all); err != nil {
		return err
	}
	if in.Runs, err = from.Runs(ctx, namespace); err != nil {
		return err
	}
	report := overview.Look(all)
	in.Workloads, in.Halts, in.Gaps = all.Workloads, all.Halts, slices.Concat(in.Gaps, report.Gaps)
	in.Standing = standing(report.Standings())
	explained := explain.Config(in)
	if apierrors.IsNotFound(missing) && len(explained.Readers) == 0 {
		return missing
	}
	if in.Config != nil && in.Config.Readers() != "" {
		s.note(fmt.Sprintf("%s is shared with other namespaces: their workloads are not listed here", facts.ConfigName(in.Ref)))
	}
	if output.isStructured() {
		return output.print(s.Out, explained)
	}
	return explained.Print(s.Out)
}

// standing returns how an enabled workload stands, and why.
func standing(all *overview.Standings) func(names.WorkloadRef) (state, why string) {
	return func(ref names.WorkloadRef) (state, why string) {
		standing := all.Of(ref)
		if standing.IsDryRun {
			return string(overview.Unknown), "the leader makes a dry run: nothing is restarted"
		}
		return string(standing.State), standing.Why
	}
}
