package command

import (
	"context"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

// completionLimit is how long the shell waits for names.
const completionLimit = 3 * time.Second

// completeConfigs completes TYPE/NAME of a config. Without permission it offers nothing.
func (s *session) completeConfigs(command *cobra.Command, arguments []string, typed string) ([]string, cobra.ShellCompDirective) {
	kind, _, hasType := strings.Cut(typed, "/")
	switch known, isKnown := configKinds[kind]; {
	case len(arguments) > 0:
		return nil, cobra.ShellCompDirectiveNoFileComp
	case !hasType:
		return []string{"configmap/", "secret/"}, cobra.ShellCompDirectiveNoSpace | cobra.ShellCompDirectiveNoFileComp
	case isKnown:
		return s.names(command.Context(), kind+"/", known.String()+"s"), cobra.ShellCompDirectiveNoFileComp
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
