package command

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/internal/custom"
	"kubernetes-deployment-restart-controller/kubectl-restarts/internal/cluster"
	"kubernetes-deployment-restart-controller/kubectl-restarts/internal/facts"
	"kubernetes-deployment-restart-controller/kubectl-restarts/internal/text"
)

var configKinds = map[string]names.ConfigKind{
	"configmap": names.ConfigMap, "configmaps": names.ConfigMap, "cm": names.ConfigMap,
	"secret": names.Secret, "secrets": names.Secret,
}

var workloadKinds = map[string]names.WorkloadKind{
	"deployment": names.Deployment, "deployments": names.Deployment, "deploy": names.Deployment,
	"statefulset": names.StatefulSet, "statefulsets": names.StatefulSet, "sts": names.StatefulSet,
	"daemonset": names.DaemonSet, "daemonsets": names.DaemonSet, "ds": names.DaemonSet,
}

var runKinds = map[string]facts.RunKind{
	"cronjob": facts.CronJob, "cronjobs": facts.CronJob, "cj": facts.CronJob,
	"job": facts.Job, "jobs": facts.Job,
}

// parseWorkload reads the name of a workload from arguments of the form TYPE/NAME or TYPE NAME.
func (s *session) parseWorkload(arguments []string, namespace string) (names.WorkloadRef, error) {
	kind, name, err := typeAndName(arguments)
	if err != nil {
		return names.WorkloadRef{}, err
	}
	known, err := s.kindOf(kind)
	switch {
	case err != nil:
		return names.WorkloadRef{}, err
	case known == "":
		return names.WorkloadRef{}, fmt.Errorf("%.40q is not a type of workload; use deployment/NAME, statefulset/NAME or daemonset/NAME, or RESOURCE.GROUP/NAME of a kind that --workload names", kind)
	}
	return names.WorkloadRef{Kind: known, Namespace: namespace, Name: name}, nil
}

// workloadToShow reads the name of a workload from such arguments, checks how to print the answer, and connects to the cluster
// that the flags name.
func (s *session) workloadToShow(arguments []string, output *outputFlags) (ref names.WorkloadRef, from *cluster.Cluster, err error) {
	if err := output.validate(); err != nil {
		return names.WorkloadRef{}, nil, err
	}
	namespace, _, err := s.namespace()
	if err != nil {
		return names.WorkloadRef{}, nil, err
	}
	if ref, err = s.parseWorkload(arguments, namespace); err != nil {
		return names.WorkloadRef{}, nil, err
	}
	from, err = s.connect()
	return ref, from, err
}

// toShow checks how to print an answer, and returns the namespace and the cluster that the flags name.
func (s *session) toShow(output *outputFlags) (namespace string, from *cluster.Cluster, err error) {
	if err := output.validate(); err != nil {
		return "", nil, err
	}
	if namespace, _, err = s.namespace(); err != nil {
		return "", nil, err
	}
	from, err = s.connect()
	return namespace, from, err
}

// parseConfig reads the name of a config from arguments of the form TYPE/NAME or TYPE NAME.
func parseConfig(arguments []string, namespace string) (names.ConfigRef, error) {
	kind, name, err := typeAndName(arguments)
	if err != nil {
		return names.ConfigRef{}, err
	}
	known, found := configKinds[strings.ToLower(kind)]
	if !found {
		return names.ConfigRef{}, fmt.Errorf("%.40q is not a type of config; use configmap/NAME or secret/NAME", kind)
	}
	return names.ConfigRef{Kind: known, Namespace: namespace, Name: name}, nil
}

func typeAndName(arguments []string) (kind, name string, err error) {
	switch len(arguments) {
	case 1:
		kind, name, _ = strings.Cut(arguments[0], "/")
	case 2:
		kind, name = arguments[0], arguments[1]
	}
	if kind == "" || name == "" || strings.Contains(name, "/") {
		return "", "", fmt.Errorf("expected TYPE/NAME or TYPE NAME, got %.100q", strings.Join(arguments, " "))
	}
	return kind, name, nil
}

// kindOf returns the kind of workload that an argument names, empty if it is none.
func (s *session) kindOf(argument string) (names.WorkloadKind, error) {
	name := strings.ToLower(argument)
	if known, found := workloadKinds[strings.TrimSuffix(name, ".apps")]; found {
		return known, nil
	}
	kinds, err := s.kinds()
	if err != nil {
		return "", err
	}
	for _, kind := range kinds {
		if string(kind.Name()) == name {
			return kind.Name(), nil
		}
	}
	if kind, found := custom.KindNamed(names.WorkloadKind(name)); found {
		s.named = append(s.named, kind)
		return kind.Name(), nil
	}
	return "", nil
}

// withUsage returns a check of the number of arguments that says which ones a command takes.
func withUsage(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(command *cobra.Command, arguments []string) error {
		if check(command, arguments) != nil {
			return fmt.Errorf("got %s; use %s", text.Count(len(arguments), "argument"), command.UseLine())
		}
		return nil
	}
}
