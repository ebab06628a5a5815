package command

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

// completionLimit is how long the shell waits for names.
const completionLimit = 3 * time.Second

// completeConfigs completes TYPE/NAME of a config, completeWorkloads that of a workload, and
// completeObjects either. Without permission they offer nothing.
func (s *session) completeConfigs(command *cobra.Command, arguments []string, typed string) ([]string, cobra.ShellCompDirective) {
	return s.complete(command.Context(), arguments, typed, configTypes)
}

func (s *session) completeWorkloads(command *cobra.Command, arguments []string, typed string) ([]string, cobra.ShellCompDirective) {
	return s.complete(command.Context(), arguments, typed, s.workloadTypes())
}

func (s *session) completeObjects(command *cobra.Command, arguments []string, typed string) ([]string, cobra.ShellCompDirective) {
	return s.complete(command.Context(), arguments, typed, slices.Concat(s.workloadTypes(), configTypes))
}

// argumentType is a type as an argument names it, and the resource of its objects.
type argumentType struct{ name, resource string }

var configTypes = []argumentType{{"configmap", "configmaps"}, {"secret", "secrets"}}

// workloadTypes are those of Kubernetes and those that --workload names.
func (s *session) workloadTypes() []argumentType {
	all := []argumentType{{"deployment", "deployments"}, {"statefulset", "statefulsets"}, {"daemonset", "daemonsets"}}
	kinds, err := s.kinds()
	if err != nil {
		return all
	}
	for _, kind := range kinds {
		all = append(all, argumentType{string(kind.Name()), string(kind.Name())})
	}
	return all
}

func (s *session) complete(ctx context.Context, arguments []string, typed string, known []argumentType) ([]string, cobra.ShellCompDirective) {
	kind, _, hasType := strings.Cut(typed, "/")
	switch {
	case len(arguments) > 0:
		return nil, cobra.ShellCompDirectiveNoFileComp
	case !hasType:
		types := make([]string, 0, len(known))
		for _, t := range known {
			types = append(types, t.name+"/")
		}
		return types, cobra.ShellCompDirectiveNoSpace | cobra.ShellCompDirectiveNoFileComp
	}
	for _, t := range known {
		if t.name == kind {
			return s.names(ctx, kind+"/", t.resource), cobra.ShellCompDirectiveNoFileComp
		}
	}
	return nil, cobra.ShellCompDirectiveNoFileComp
}

// names returns the names of the objects of a resource, with a prefix.
func (s *session) names(ctx context.Context, prefix, resource string) []string {
	ctx, cancel := context.WithTimeout(ctx, completionLimit)
	defer cancel()
	namespace, _, err := s.namespace()
	if err != nil {
		return nil
	}
	from, err := s.connect()
	if err != nil {
		return nil
	}
	names, err := from.Names(ctx, resource, namespace)
	if err != nil {
		return nil
	}
	for i := range names {
		names[i] = prefix + names[i]
	}
	return names
}
