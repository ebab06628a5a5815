package wording

import (
	"fmt"
	"strings"

	"kubernetes-deployment-restart-controller/catalog/decide"
	"kubernetes-deployment-restart-controller/internal/brief"
)

// These are the causes of a restart for which there is no config to name.
const (
	revertedCause = "the last restart was reverted"
	returnedCause = "a config had different content for a while"
)

// Causes names the configs that cause a restart and their changed keys. For a Secret
// it gives only the number of keys, because their names may reveal something.
func Causes(decision decide.Decision) string {
	return describeCauses(decision, func(cause decide.Cause) string {
		if cause.Config.Kind.IsPerPod() {
			return fmt.Sprintf("%s %s was rotated in running pods", cause.Config.Kind, cause.Config.Name)
		}
		return fmt.Sprintf("%s %s changed (%s)", cause.Config.Kind, cause.Config.Name, describeKeys(cause))
	})
}

// longestCause is how many bytes of a pod template the cause of a restart may take.
const longestCause = 512

// CauseNote is the cause of a restart for the pod template, as short as possible, because every
// pod has it. It does not name keys of Secrets either.
func CauseNote(decision decide.Decision) string {
	return brief.Within(longestCause, describeCauses(decision, func(cause decide.Cause) string {
		return fmt.Sprintf("%s/%s: %s", cause.Config.Kind, cause.Config.Name, keysOf(cause))
	}))
}

// CausesWithWriters is like [Causes], with the field managers that made the changes,
// for people who want to know what keeps changing a config.
func CausesWithWriters(decision decide.Decision) string {
	return describeCauses(decision, func(cause decide.Cause) string {
		return fmt.Sprintf("%s %s keeps changing (%s)", cause.Config.Kind, cause.Config.Name, Edit(cause))
	})
}

// FailedCauses names the causes of a restart that failed, with the field managers that made the
// changes. It is empty if another process decided the restart.
func FailedCauses(decision decide.Decision) string {
	if decision.Outcome != decide.Restart {
		return ""
	}
	return describeCauses(decision, func(cause decide.Cause) string {
		return fmt.Sprintf("%s %s (%s)", cause.Config.Kind, cause.Config.Name, Edit(cause))
	})
}

// Doubt says that any of the causes of a restart may be at fault, empty if there is one.
func Doubt(decision decide.Decision) string {
	if len(decision.Causes) < 2 {
		return ""
	}
	return fmt.Sprintf(", and any of %d changes may be at fault", len(decision.Causes))
}

// Edit names the changed keys and, if they are known, the field managers that changed them.
func Edit(cause decide.Cause) string {
	if len(cause.Writers) == 0 {
		return describeKeys(cause)
	}
	return describeKeys(cause) + "; written by " + listed(cause.Writers, cause.MoreWriters)
}

func describeCauses(decision decide.Decision, describe func(decide.Cause) string) string {
	switch {
	case len(decision.Causes) == 0 && decision.Contradicts:
		return returnedCause
	case len(decision.Causes) == 0:
		return revertedCause
	}
	parts := make([]string, 0, len(decision.Causes)+1)
	for _, cause := range decision.Causes {
		parts = append(parts, describe(cause))
	}
	switch {
	case decision.MoreCauses > 0:
		parts = append(parts, fmt.Sprintf("and %d more", decision.MoreCauses))
	case decision.MoreCauses < 0:
		parts = append(parts, "and perhaps others")
	}
	return strings.Join(parts, "; ")
}

// listed lists names, followed by the number of further names.
func listed(names []string, more int) string {
	list := strings.Join(names, ", ")
	if more > 0 {
		list += fmt.Sprintf(" and %d more", more)
	}
	return list
}

func describeKeys(cause decide.Cause) string {
	if cause.Config.Kind.IsSecret() || len(cause.Keys) == 0 {
		return keysOf(cause)
	}
	return "keys: " + keysOf(cause)
}

// keysOf names the changed keys of a ConfigMap, or counts those of a Secret.
func keysOf(cause decide.Cause) string {
	count := len(cause.Keys) + cause.MoreKeys
	atLeast := ""
	if cause.Unnamed && cause.MoreKeys > 0 { // the catalog doesn't remember more of them
		atLeast = "at least "
	}
	switch {
	case cause.Config.Kind.IsPerPod():
		return "rotated"
	case count == 0:
		return "keys unknown"
	case cause.Config.Kind.IsSecret() && count == 1:
		return "1 key"
	case cause.Config.Kind.IsSecret():
		return fmt.Sprintf("%s%d keys", atLeast, count)
	case atLeast != "":
		return fmt.Sprintf("%s and %s%d more", strings.Join(cause.Keys, ", "), atLeast, cause.MoreKeys)
	}
	return listed(cause.Keys, cause.MoreKeys)
}
