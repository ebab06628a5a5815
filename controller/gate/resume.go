package gate

import (
	"fmt"
	"iter"
	"time"

	"kubernetes-deployment-restart-controller/catalog/annotation"
	"kubernetes-deployment-restart-controller/catalog/names"
)

// ResumeCommand returns the command that ends a halt of a config, or what to do instead.
func ResumeCommand(config names.ConfigRef, id string) string {
	if IsGroup(config) || config.Kind.IsPerPod() { // no annotation of these is read
		return fmt.Sprintf("removing its entry %s from the ConfigMap of halts", EntryOf(config.String()))
	}
	source := config.Source() // whose owner decides
	return fmt.Sprintf("kubectl annotate --overwrite -n %s %s %s=%s", source.Namespace, source.NameWithin(), annotation.ResumeAnnotation, id)
}

// ProblemOfResume describes why the id in an annotation of a config resumes nothing although restarts for the config are
// halted; empty if they are not, if the id is that of a halt, or if it was set before the halt began: then it is that of an earlier
// one, probably. The time is zero if it is not known. The halts are those of the config, also under its names in other
// namespaces, and those of its group.
func ProblemOfResume(ref names.ConfigRef, id string, set time.Time, halts iter.Seq[*Halt]) string {
	if id == "" {
		return ""
	}
	group := GroupOf(ref.Kind, ref.Name)
	var active *Halt
	for h := range halts {
		switch {
		case h.ID == id && h.Config != group:
			return ""
		case !set.IsZero() && set.Before(h.Since.Truncate(time.Second)): // it cannot have meant this one
		case h.isGone || h.isUnsure: // it holds nothing, and resumed, it would not hold that content if it came back
		case h.Resumed.IsZero() && (h.Config == ref || h.Config == group && (active == nil || h.ID == id)):
			active = h
		}
	}
	if active == nil {
		return ""
	}
	return fmt.Sprintf("annotation %s: %.40q ends no halt of this config. To end the halt %s: %s",
		annotation.ResumeAnnotation, id, active.ID, ResumeCommand(active.Config, active.ID))
}
