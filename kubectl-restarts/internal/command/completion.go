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
	return s.complete(command.Context(), arguments, typed, "configmap", "secret")
}

func (s *session) completeWorkloads(command *cobra.Command, arguments []string, typed string) ([]string, cobra.ShellCompDirective) {
	return s.complete(command.Context(), arguments, typed, "deployment", "statefulset", "daemonset")
}

func (s *session) completeObjects(command *cobra.Command, arguments []string, typed string) ([]string, cobra.ShellCompDirective) {
	return s.complete(command.Context(), arguments, typed, "deployment", "statefulset", "daemonset", "configmap", "secret")
}

func (s *session) complete(ctx context.Context, arguments []string, typed string, kinds ...string) ([]string, cobra.ShellCompDirective) {
	kind, _, hasType := strings.Cut(typed, "/")
	switch {
	case len(arguments) > 0:
		return nil, cobra.ShellCompDirectiveNoFileComp
	case !hasType:
		types := make([]string, 0, len(kinds))
		for _, kind := range kinds {
			types = append(types, kind+"/")
		}
		return types, cobra.ShellCompDirectiveNoSpace | cobra.ShellCompDirectiveNoFileComp
	case slices.Contains(kinds, kind):
		return s.names(ctx, kind+"/", kind+"s"), cobra.ShellCompDirectiveNoFileComp
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
