package command

import (
	"fmt"
	"slices"

	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/util/flowcontrol"

	"kubernetes-deployment-restart-controller/internal/custom"
	"kubernetes-deployment-restart-controller/kubectl-restarts/internal/cluster"
	"kubernetes-deployment-restart-controller/kubectl-restarts/internal/text"
)

// session is what all commands share.
type session struct {
	genericiooptions.IOStreams
	flags *genericclioptions.ConfigFlags
	// controllerNamespace and haltsConfigMap say where the controller keeps its halts.
	controllerNamespace, haltsConfigMap string
	// ask means that the leader of the controller, or whether there is one, is of interest; lease names its Lease.
	ask   bool
	lease string
	// workloads are further kinds of workloads, in the form of the controller's flag.
	workloads list
	// named is a further kind that an argument names.
	named []custom.Kind
	// pace limits the requests of a command that asks again and again, nil if it asks once.
	pace flowcontrol.RateLimiter
}

// connect returns the cluster that the flags name.
func (s *session) connect() (*cluster.Cluster, error) {
	config, err := s.flags.ToRESTConfig()
	if err != nil {
		return nil, err
	}
	config.RateLimiter = s.pace
	kinds, err := s.kinds()
	if err != nil {
		return nil, err
	}
	return cluster.Connect(config, cluster.Target{Resource: "configmaps", Namespace: s.controllerNamespace, Name: s.haltsConfigMap}, kinds)
}

// kinds returns the further kinds of workloads that flags and arguments name.
func (s *session) kinds() ([]custom.Kind, error) {
	kinds, err := custom.ParseKinds(slices.Compact(slices.Sorted(slices.Values(s.workloads)))) // completion parses flags twice
	if err != nil {
		return nil, fmt.Errorf("--workload: %w", err)
	}
	for _, named := range s.named {
		if !slices.ContainsFunc(kinds, func(k custom.Kind) bool { return k.Name() == named.Name() }) {
			kinds = append(kinds, named)
		}
	}
	return kinds, nil
}

// namespace returns the namespace to act in, and whether a flag names it.
func (s *session) namespace() (namespace string, isExplicit bool, err error) {
	return s.flags.ToRawKubeConfigLoader().Namespace()
}

// note tells the user something besides the result.
func (s *session) note(message string) { fmt.Fprintln(s.ErrOut, "note:", text.Safe(message)) }
